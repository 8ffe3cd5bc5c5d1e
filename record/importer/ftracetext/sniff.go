package ftracetext

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// sniff reports whether head begins a file of ftrace text: the kernel's
// header, trace-cmd's first lines, an event with its head among the first
// lines, a systrace in HTML, or GPU events without any head.
func sniff(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if isHTML(b) {
		return bytes.Contains(b, []byte("<title>Android System Trace</title>")) ||
			bytes.Contains(b, []byte(`class="trace-data"`)) || bytes.Contains(b, []byte("linuxPerfData"))
	}
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
		return false
	}
	r := reader{lastAt: -1}
	r.loss.count = &event.Counters{}
	var h head
	for n := 0; n < 200 && len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if bytes.IndexByte(line, 0) >= 0 {
			return false // binary; zeros further on are what a crash left of a text
		}
		if parseHead(line, &h) {
			return true
		}
		switch r.classify(line) {
		case lineUnread:
			return false
		case lineComment:
			if bytes.HasPrefix(line, []byte("# tracer: ")) {
				return true
			}
		case lineBare:
			return gpuEvent(trimLeft(line))
		}
	}
	return false
}

// gpuEvent reports whether a line without a head is worth claiming a file for.
func gpuEvent(line []byte) bool {
	for _, p := range []string{"drm_", "dma_fence_", "amdgpu_", "amd_sched_", "xe_", "i915_", "msm_gpu_", "v3d_", "virtio_gpu_", "sched_", "gpu_"} {
		if bytes.HasPrefix(line, []byte(p)) {
			return true
		}
	}
	return false
}
