package chromejson

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// role says what a complete event of a category is.
type role uint8

const (
	roleSlice    role = iota
	roleHost          // a slice of Kineto's, on a thread of the process
	roleCall          // an API call
	roleWork          // work of a device
	roleMTIA          // work of a device or an order in its stream, by name
	roleOnDevice      // a slice drawn on a device's row that is no work of it
)

// category is what a category means.
type category struct {
	name     string
	source   string // of calls and of work
	role     role
	api      event.API
	activity event.Activity
}

// The categories of Kineto, in lower case. Old spellings (2020, 2021) begin
// with a capital; those marked so are words that other tools use in lower case.
var kinetoCategories = []struct {
	category
	capital bool
}{
	{category{name: "cpu_op", role: roleHost}, false},
	{category{name: "operator", role: roleHost}, true},
	{category{name: "user_annotation", role: roleHost}, false},
	{category{name: "python_function", role: roleHost}, false},
	{category{name: "cuda_runtime", role: roleCall, api: event.APICUDARuntime}, false},
	{category{name: "runtime", role: roleCall, api: event.APICUDARuntime}, true},
	{category{name: "cuda_driver", role: roleCall, api: event.APICUDADriver}, false},
	{category{name: "hip_runtime", role: roleCall, api: event.APIHIP}, false},
	{category{name: "mtia_runtime", role: roleCall}, false},
	{category{name: "glow_runtime", role: roleCall}, false},
	{category{name: "xpu_runtime", role: roleCall}, false},
	{category{name: "xpu_driver", role: roleCall}, false},
	{category{name: "privateuse1_runtime", role: roleCall}, false},
	{category{name: "privateuse1_driver", role: roleCall}, false},
	{category{name: "kernel", role: roleWork, activity: event.ActivityKernel}, false},
	{category{name: "gpu_memcpy", role: roleWork, activity: event.ActivityMemcpy}, false},
	{category{name: "memcpy", role: roleWork, activity: event.ActivityMemcpy}, true},
	{category{name: "gpu_memset", role: roleWork, activity: event.ActivityMemset}, false},
	{category{name: "memset", role: roleWork, activity: event.ActivityMemset}, true},
	{category{name: "collective_comm", role: roleWork, activity: event.ActivityCollective}, false},
	{category{name: "mtia_ccp_events", role: roleMTIA}, false},
	{category{name: "gpu_user_annotation", role: roleOnDevice}, false},
	{category{name: "cuda_sync", role: roleOnDevice}, false},
	{category{name: "cuda_event", role: roleOnDevice}, false},
	{category{name: "cuda_profiler_range", role: roleOnDevice}, false},
}

func describe(name string) *category {
	low := strings.ToLower(name)
	for i := range kinetoCategories {
		k := &kinetoCategories[i]
		if k.name != low || k.capital && name[0] != low[0]-0x20 {
			continue
		}
		c := k.category
		c.name, c.source = name, "kineto:"+name
		return &c
	}
	return &category{name: name}
}

// Bounds of what is remembered.
const (
	maxCategories = 1 << 12
	maxCategory   = 512 // bytes of a name
)

// categories remembers what the categories of a file mean.
type categories struct {
	all  map[string]*category
	last [16]*category
}

func (c *categories) get(b []byte) *category {
	if len(b) == 0 {
		return &noCategory
	}
	slot := &c.last[(len(b)*5+int(b[0])+int(b[len(b)-1])*3)%len(c.last)]
	if k := *slot; k != nil && k.name == string(b) {
		return k
	}
	k := c.all[string(b)]
	if k == nil {
		k = describe(string(b))
		if len(b) > maxCategory {
			return k
		}
		if c.all == nil || len(c.all) >= maxCategories {
			c.all = map[string]*category{}
		}
		c.all[k.name] = k
	}
	*slot = k
	return k
}

var noCategory category

// family returns the API family of a call: ROCm's calls stand in the
// categories of CUDA, and some tools put driver calls among the runtime's.
func (c *category) family(name string) event.API {
	switch {
	case strings.HasPrefix(name, "hip"):
		return event.APIHIP
	case strings.HasPrefix(name, "hsa_"):
		return event.APIHSA
	case strings.HasPrefix(name, "nccl"):
		return event.APINCCL
	case len(name) > 2 && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z' && c.api == event.APICUDARuntime:
		return event.APICUDADriver
	}
	return c.api
}

// mtia returns what an event of an MTIA's command processor is.
func mtia(name string) event.Activity {
	switch {
	case strings.HasPrefix(name, "event_"):
		return event.ActivityOther
	case strings.HasPrefix(name, "dma"):
		return event.ActivityMemcpy
	}
	return event.ActivityKernel
}

// copyDirection reads the name or the kind of a copy.
func copyDirection(s string) event.Direction {
	for _, d := range [...]struct {
		text string
		dir  event.Direction
	}{
		{"HtoD", event.DirHtoD}, {"DtoH", event.DirDtoH}, {"DtoD", event.DirDtoD}, {"HtoH", event.DirHtoH}, {"PtoP", event.DirPtoP},
		{"HostToDevice", event.DirHtoD}, {"DeviceToHost", event.DirDtoH}, {"DeviceToDevice", event.DirDtoD}, {"HostToHost", event.DirHtoH},
		{"HOST_TO_DEVICE", event.DirHtoD}, {"DEVICE_TO_HOST", event.DirDtoH}, {"DEVICE_TO_DEVICE", event.DirDtoD},
	} {
		if strings.Contains(s, d.text) {
			return d.dir
		}
	}
	return event.DirUnknown
}
