package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/live/bpf"
	"github.com/gpurec/gpurec/record/live/tracefs"
)

// Report says what can be recorded on this machine.
type Report struct {
	Host         Host        `json:"host"`
	Root         bool        `json:"root"`
	Capabilities []string    `json:"capabilities"` // of those that matter, the ones in effect
	Mechanisms   []Mechanism `json:"mechanisms"`
	Devices      []Device    `json:"devices"`
	Stale        []string    `json:"stale"` // trace instances of dead recorders
	Notes        []string    `json:"notes"` // what else matters
}

// Host describes the machine, as event.Host does.
type Host struct {
	Name    string `json:"name"`
	Kernel  string `json:"kernel"`
	Machine string `json:"machine"`
	BootID  string `json:"boot_id"`
	CPUs    int    `json:"cpus"`
}

// Mechanism is one way of recording.
type Mechanism struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"` // why it cannot be had
	Effect string `json:"effect,omitempty"` // what is lost without it, and what still works
	Remedy string `json:"remedy,omitempty"` // how to get it
}

// Doctor tries every mechanism and tells what it found. It leaves nothing
// behind, and takes about a second. Its lists are never nil.
func Doctor(ctx context.Context) *Report {
	r := &Report{
		Host: Host(hostFacts()), Root: os.Geteuid() == 0, Capabilities: effectiveCaps(),
		Mechanisms: []Mechanism{}, Devices: []Device{}, Stale: []string{}, Notes: []string{},
	}
	r.Devices = append(r.Devices, findDevices("/")...)
	for _, c := range bpf.Detect() {
		r.Mechanisms = append(r.Mechanisms, Mechanism{c.Name, c.OK, c.Reason, c.Effect, c.Remedy})
		if ctx.Err() != nil {
			return r
		}
	}
	r.ftrace()
	r.notes()
	return r
}

// ftrace tries an instance of its own, and looks at the events that ftrace can
// give where BPF cannot.
func (r *Report) ftrace() {
	m := Mechanism{
		Name:   "ftrace instance",
		Effect: "no events by ftrace (--event), and no scheduler or fence events where BPF cannot have them",
	}
	err := tracefs.Try()
	var ue *tracefs.UnavailableError
	switch {
	case err == nil:
		m = Mechanism{Name: m.Name, OK: true}
	case errors.As(err, &ue):
		m.Reason, m.Remedy = ue.Err.Error(), ue.Remedy
	default:
		m.Reason, m.Remedy = err.Error(), "run as root; a kernel of Linux 4.10 or newer with CONFIG_EVENT_TRACING"
	}
	r.Mechanisms = append(r.Mechanisms, m)
	if err != nil {
		return
	}
	for _, sys := range []struct{ name, what, remedy string }{
		{"gpu_scheduler", "jobs of the DRM scheduler", "load the GPU's DRM driver (modprobe amdgpu, xe, …); NVIDIA's own driver does not use the scheduler"},
		{"dma_fence", "fences", "load a DRM driver; a kernel with CONFIG_DMA_SHARED_BUFFER"},
		{"sched", "what runs on the CPUs", "a kernel with CONFIG_EVENT_TRACING"},
	} {
		events, err := tracefs.Available(sys.name + ":*")
		m := Mechanism{Name: "ftrace events " + sys.name, OK: err == nil && len(events) > 0}
		if !m.OK {
			m.Reason, m.Effect, m.Remedy = "the running kernel has none", "no "+sys.what+" by ftrace", sys.remedy
		}
		r.Mechanisms = append(r.Mechanisms, m)
	}
	if stale, err := tracefs.Stale(); err == nil {
		r.Stale = append(r.Stale, stale...)
	}
}

func (r *Report) notes() {
	note := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	if !r.Root {
		note("not root: capabilities bpf and perfmon give API calls and the scheduler, dac_read_search tracepoint ids, dac_override ftrace: setcap cap_bpf,cap_perfmon,cap_dac_read_search+ep on the gpurec binary, or sudo gpurec record")
	}
	if !ownPIDs() {
		note("this is a pid namespace of its own (a container): only record -a works here; run gpurec on the host or in a container with --pid=host")
	}
	if len(r.Devices) == 0 {
		note("no GPU found in /sys/class/drm, /sys/class/accel, /sys/bus/pci and /proc/driver/nvidia: calls of GPU libraries can be recorded all the same")
	}
	for _, d := range r.Devices {
		switch d.Driver {
		case "nvidia":
			note("%s: NVIDIA's driver has no scheduler tracepoints: recorded are API calls, ioctls and waits; take device times from Nsight Systems or Kineto (gpurec import)", d.ID)
		case "":
			note("%s: no driver is bound to this GPU", d.ID)
		}
	}
	r.moduleNotes(note)
	if len(r.Stale) > 0 {
		note("%d trace instances of dead recorders are left: gpurec doctor --clean removes them", len(r.Stale))
	}
}

// moduleNotes tells of modules whose tracepoints BPF cannot read for want of BTF.
func (r *Report) moduleNotes(note func(string, ...any)) {
	for _, mod := range []string{"gpu_sched", "amdgpu", "xe", "i915", "nouveau", "nvidia"} {
		if _, err := os.Stat("/sys/module/" + mod + "/refcnt"); err != nil {
			continue // not loaded, or built in
		}
		if _, err := os.Stat("/sys/kernel/btf/" + mod); err != nil {
			note("module %s has no BTF (/sys/kernel/btf/%s): its tracepoints are read through ftrace; rebuild it with CONFIG_DEBUG_INFO_BTF_MODULES", mod, mod)
		}
	}
}

// The capabilities that recording can make use of (linux/capability.h).
var usefulCaps = []struct {
	name string
	bit  uint
}{
	{"dac_override", unix.CAP_DAC_OVERRIDE}, {"dac_read_search", unix.CAP_DAC_READ_SEARCH},
	{"sys_admin", unix.CAP_SYS_ADMIN}, {"sys_ptrace", unix.CAP_SYS_PTRACE},
	{"perfmon", unix.CAP_PERFMON}, {"bpf", unix.CAP_BPF},
}

func effectiveCaps() []string {
	out := []string{}
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(b)) {
		hex, ok := strings.CutPrefix(line, "CapEff:")
		if !ok {
			continue // another line
		}
		mask, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		if err != nil {
			return out
		}
		for _, c := range usefulCaps {
			if mask&(1<<c.bit) != 0 {
				out = append(out, c.name)
			}
		}
	}
	return out
}

// String is the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, Linux %s %s, %d CPUs\n", r.Host.Name, r.Host.Kernel, r.Host.Machine, r.Host.CPUs)
	fmt.Fprintf(&b, "capabilities: %s\n\n", orNone(strings.Join(r.Capabilities, " ")))
	for _, m := range r.Mechanisms {
		if m.OK {
			fmt.Fprintf(&b, "  yes  %s\n", m.Name)
			continue
		}
		fmt.Fprintf(&b, "  no   %s: %s\n", m.Name, m.Reason)
		if m.Effect != "" {
			fmt.Fprintf(&b, "         without it: %s\n", m.Effect)
		}
		if m.Remedy != "" {
			fmt.Fprintf(&b, "         to get it: %s\n", m.Remedy)
		}
	}
	b.WriteString("\nGPUs:\n")
	for _, d := range r.Devices {
		fmt.Fprintf(&b, "  %s  %s  driver %s %s  %s\n", d.ID, d.Name, orNone(d.Driver), d.Version, strings.Join(d.Nodes, " "))
	}
	if len(r.Devices) == 0 {
		b.WriteString("  none\n")
	}
	for _, s := range r.Stale {
		fmt.Fprintf(&b, "left by a dead recorder: trace instance %s\n", s)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// Clean removes what dead recorders left behind and returns what it removed.
func Clean() ([]string, error) { return tracefs.Clean(5 * time.Second) }
