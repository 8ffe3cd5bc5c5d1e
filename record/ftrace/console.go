package ftrace

import (
	"bytes"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// consoleTracepoint is the kernel's own messages, of which those of GPUs and
// their troubles are kept as log lines, all others as they are.
func consoleTracepoint() tracepoint {
	return tracepoint{system: "printk", name: "console", kind: event.KindLogLine, text: textConsole, fix: fixConsole,
		binds: []bind{{key: "msg", field: event.FieldName, conv: convStr}}}
}

func textConsole(m *TextMapper, e *event.Event, p []byte) bool {
	e.SetStr(event.FieldName, m.Strings.Get(bytes.TrimRight(p, "\n ")))
	fixConsole(e, nil)
	return true
}

func fixConsole(e *event.Event, _ *scratch) {
	msg := strings.TrimRight(e.Str(event.FieldName), "\n ")
	if xid(e, msg) || gpuTrouble(msg) {
		e.SetStr(event.FieldName, msg)
		if !e.Has(event.FieldDevice) {
			e.SetStr(event.FieldDevice, pciAddress(msg))
		}
		return
	}
	var o object
	o.str("msg", msg)
	becomeOther(e)
	e.SetStr(event.FieldName, "printk:console")
	e.SetStr(event.FieldArgs, string(o.bytes()))
}

// xid reads "NVRM: Xid (PCI:0000:41:00): 79, …", in which the address has no
// function, and may be followed by the instance of a GPU.
func xid(e *event.Event, msg string) bool {
	_, rest, ok := strings.Cut(msg, "NVRM: Xid (PCI:")
	dev, rest, ok2 := strings.Cut(rest, "): ")
	code, ok3 := parseNumber([]byte(rest), false)
	if !ok || !ok2 || !ok3 {
		return false
	}
	dev, _, _ = strings.Cut(dev, " ")
	e.SetStr(event.FieldDevice, dev)
	e.SetUint(event.FieldCode, code)
	return true
}

var (
	gpuWords     = []string{"amdgpu", "radeon", "i915", "xe ", "nouveau", "NVRM", "nvidia", "msm", "v3d", "panfrost", "panthor", "lima", "etnaviv", "[drm"}
	troubleWords = []string{"timeout", "timed out", "reset", "hang", "fault", "GPU Recovery", "soft recovered", "Fence fallback timer", "Process information", "wedged"}
)

// gpuTrouble reports whether a message is a GPU driver's on something that went wrong.
func gpuTrouble(msg string) bool { return hasAny(msg, gpuWords) && hasAny(msg, troubleWords) }

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// pciAddress finds "0000:03:00.0" in a message, "" if it names none.
func pciAddress(s string) string {
	const n = len("0000:03:00.0")
	for i := 0; i+n <= len(s); i++ {
		if s[i+4] != ':' || s[i+7] != ':' || s[i+10] != '.' {
			continue
		}
		digits := s[i:i+4] + s[i+5:i+7] + s[i+8:i+10] + s[i+11:i+12]
		if v, k := parseHex([]byte(digits)); k == len(digits) && v>>36 == 0 {
			return s[i : i+n]
		}
	}
	return ""
}
