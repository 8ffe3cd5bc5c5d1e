package nsys

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Event classes of calls (ENUM_NSYS_EVENT_CLASS).
const (
	classCUDARuntime = 0
	classCUDADriver  = 1
	classVulkan      = 53
)

// api makes a call of a row. A call that had not returned when the recording
// ended has no end.
func (r *reader) api(c *cursor) {
	k := event.KindAPI
	if c.rows.Null(colEnd) {
		k = event.KindAPIEnter
	}
	e := r.event(c, k)
	r.thread(e, c, apiTID)
	name := r.ref(c, apiName)
	e.SetStr(event.FieldName, name)
	class, ok := c.rows.Int(apiClass)
	e.SetUint(event.FieldAPI, uint64(family(name, class, ok)))
	if v, ok := c.rows.Int(apiCorrelation); ok && v != 0 {
		e.SetInt(event.FieldCorrelationID, v)
	}
	if v, ok := c.rows.Int(apiResult); ok && k == event.KindAPI {
		e.SetInt(event.FieldResult, v)
	}
}

// family tells the API of a call: by its class, else by its name.
func family(name string, class int64, ok bool) event.API {
	if ok {
		switch class {
		case classCUDARuntime:
			return event.APICUDARuntime
		case classCUDADriver:
			return event.APICUDADriver
		case classVulkan:
			return event.APIVulkan
		}
	}
	for _, p := range []struct {
		prefix string
		api    event.API
	}{
		{"cuda", event.APICUDARuntime}, {"__cuda", event.APICUDARuntime}, {"cu", event.APICUDADriver}, {"nccl", event.APINCCL},
		{"vk", event.APIVulkan}, {"cl", event.APIOpenCL}, {"hip", event.APIHIP}, {"ze", event.APILevelZero},
	} {
		if strings.HasPrefix(name, p.prefix) {
			return p.api
		}
	}
	return event.APIUnknown
}

// thread sets whose event it is from a column with a global thread id.
func (r *reader) thread(e *event.Event, c *cursor, at int) {
	if v, ok := c.rows.Int(at); ok {
		r.ids(e, v)
	}
}

// ref is the string that a column refers to, "" if it is NULL.
func (r *reader) ref(c *cursor, at int) string {
	if v, ok := c.rows.Int(at); ok {
		return r.strings.get(v)
	}
	return ""
}

// callSlice makes a range of its thread of calls that are in no API family of
// the event model: system calls and locks (OSRT), libraries, MPI.
func callSlice(category string) func(*reader, *cursor) {
	return func(r *reader, c *cursor) {
		k := event.KindSlice
		if c.rows.Null(colEnd) {
			k = event.KindSliceBegin
		}
		e := r.event(c, k)
		e.SetStr(event.FieldCategory, category)
		r.obj.Reset()
		for i, n := range c.t.cols {
			at := colFirst + i
			v, ok := c.rows.Int(at)
			if !ok {
				continue
			}
			switch n {
			case "nameId":
				e.SetStr(event.FieldName, r.strings.get(v))
			case "correlationId":
				if v != 0 {
					e.SetInt(event.FieldCorrelationID, v)
				}
			}
		}
		r.columns(c, e, func(n string) bool { return n == "nameId" || n == "correlationId" || n == "eventClass" })
		e.SetStr(event.FieldArgs, r.obj.String())
	}
}

const (
	overTID = colFirst + iota
	overCorrelation
	overName
	overType
)

var overheadCols = []string{"globalTid", "correlationId", "nameId", "overheadType"}

// overhead is time that the profiler or the driver took from a thread.
func (r *reader) overhead(c *cursor) {
	e := r.event(c, event.KindSlice)
	r.thread(e, c, overTID)
	e.SetStr(event.FieldCategory, "overhead")
	name := r.ref(c, overName)
	label := r.label("ENUM_CUPTI_OVERHEAD_TYPE", c, overType)
	if name == "" {
		name, label = label, ""
	}
	e.SetStr(event.FieldName, name)
	if v, ok := c.rows.Int(overCorrelation); ok && v != 0 {
		e.SetInt(event.FieldCorrelationID, v)
	}
	if label != "" {
		r.obj.Reset()
		r.obj.Str("overhead_type", label)
		e.SetStr(event.FieldArgs, r.obj.String())
	}
}
