package gpu

import "strings"

// interrupts are the names under which drivers register their handlers
// (request_irq): /proc/interrupts and irq_handler_entry show them. A name that
// several kinds of devices use (virtio0-control, job) is not among them.
var interrupts = map[string]string{
	"amdgpu": driverAMDGPU, "radeon": "radeon", "i915": "i915", "xe": "xe", "nvkm": "nouveau", "nouveau": "nouveau",
	"nvidia": driverNVIDIA, "nvidia-modeset": driverModeset, "v3d_core0": "v3d", "v3d_hub": "v3d", "v3d": "v3d", "vc4": "vc4",
	"panfrost-job": "panfrost", "panfrost-mmu": "panfrost", "panfrost-gpu": "panfrost",
	"panthor-job": "panthor", "panthor-mmu": "panthor", "panthor-gpu": "panthor",
	"gpu-irq": "msm", "kgsl_3d0_irq": "kgsl", "kgsl-3d0": "kgsl", "etnaviv-gpu": "etnaviv", "ivpu": "intel_vpu", driverMock: driverMock,
}

// DriverOfInterrupt returns the GPU driver that registers a handler under
// name, "" for a name of none, or of other devices too. Of a driver with
// several vectors the name may go on with a number: "amdgpu-1", "xe0".
func DriverOfInterrupt(name string) string {
	if d, ok := interrupts[name]; ok {
		return d
	}
	return interrupts[strings.TrimRight(strings.TrimRight(name, "0123456789"), "-:")]
}
