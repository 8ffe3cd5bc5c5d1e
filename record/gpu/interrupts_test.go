package gpu

import "testing"

func TestDriverOfInterrupt(t *testing.T) {
	for name, want := range map[string]string{
		"amdgpu": "amdgpu", "amdgpu-3": "amdgpu", "xe": "xe", "xe0": "xe", "i915": "i915", "v3d_core0": "v3d", "panthor-job": "panthor",
		"nvkm": "nouveau", "nvidia": "nvidia", "nvme0q1": "", "virtio0-control": "", "": "", "7": "", "eth0": "", "job": "",
	} {
		if got := DriverOfInterrupt(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
