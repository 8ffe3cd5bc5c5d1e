package gpu

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

func TestLookupIoctl(t *testing.T) {
	for _, c := range []struct {
		driver string
		cmd    uint32
		name   string
		role   event.Role
	}{
		{"amdgpu", 0xc0186444, "AMDGPU_CS", event.RoleSubmit},
		{"amdgpu", 0xc0206449, "AMDGPU_WAIT_CS", event.RoleWait},
		{"amdgpu", 0xc0206440, "AMDGPU_GEM_CREATE", event.RoleAlloc},
		{"amdgpu", 0x40286448, "AMDGPU_GEM_VA", event.RoleMap},
		{"amdgpu", 0x40206445, "AMDGPU_INFO", event.RoleQuery},
		{"amdgpu", 0xc0106442, "AMDGPU_CTX", event.RoleOther},
		{"i915", 0x40406469, "I915_GEM_EXECBUFFER2", event.RoleSubmit},
		{"i915", 0xc0406469, "I915_GEM_EXECBUFFER2_WR", event.RoleSubmit},
		{"i915", 0xc0106464, "I915_GEM_MMAP_GTT", event.RoleMap},
		{"i915", 0xc0206464, "I915_GEM_MMAP_OFFSET", event.RoleMap},
		{"i915", 0xc010646c, "I915_GEM_WAIT", event.RoleWait},
		{"xe", 0x40386449, "XE_EXEC", event.RoleSubmit},
		{"xe", 0xc048644a, "XE_WAIT_USER_FENCE", event.RoleWait},
		{"xe", 0x40886445, "XE_VM_BIND", event.RoleMap},
		{"nouveau", 0xc0406481, "NOUVEAU_GEM_PUSHBUF", event.RoleSubmit},
		{"nouveau", 0xc0286452, "NOUVEAU_EXEC", event.RoleSubmit},
		{"virtio_gpu", 0xc0406442, "VIRTGPU_EXECBUFFER", event.RoleSubmit},
		{"virtio-pci", 0xc0406442, "VIRTGPU_EXECBUFFER", event.RoleSubmit},
		// An older, smaller struct: the number decides.
		{"virtio_gpu", 0xc0206442, "VIRTGPU_EXECBUFFER", event.RoleSubmit},
		{"panfrost", 0x40286440, "PANFROST_SUBMIT", event.RoleSubmit},
		{"panthor", 0xc0186449, "PANTHOR_GROUP_SUBMIT", event.RoleSubmit},
		{"msm", 0xc0486446, "MSM_GEM_SUBMIT", event.RoleSubmit},
		{"msm", 0x40206447, "MSM_WAIT_FENCE", event.RoleWait},
		{"v3d", 0x4018644b, "V3D_SUBMIT_CPU", event.RoleSubmit},
		{"radeon", 0xc0206466, "RADEON_CS", event.RoleSubmit},
		{"vc4", 0xc0b06440, "VC4_SUBMIT_CL", event.RoleSubmit},
		{"vmwgfx", 0x4028644c, "DRM_VMW_EXECBUF", event.RoleSubmit},
		{"mockgpu", 0xc0306440, "MOCKGPU_SUBMIT", event.RoleSubmit},
		{"mockgpu", 0xc0186441, "MOCKGPU_WAIT", event.RoleWait},
		{"mockgpu", 0xc0306442, "MOCKGPU_MAP", event.RoleMap},
		{"mockgpu", 0xc0106444, "MOCKGPU_ALLOC", event.RoleAlloc},

		// What all DRM drivers share needs no driver, and any will do.
		{"", 0xc02864c3, "SYNCOBJ_WAIT", event.RoleWait},
		{"", 0xc02064c3, "SYNCOBJ_WAIT", event.RoleWait}, // before its struct grew
		{"amdgpu", 0xc03064ca, "SYNCOBJ_TIMELINE_WAIT", event.RoleWait},
		{"a driver of tomorrow", 0xc0406400, "VERSION", event.RoleQuery},
		{"", 0xc03864bc, "MODE_ATOMIC", event.RoleOther},
		{"", 0x000064d1, "SET_CLIENT_NAME", event.RoleOther},

		{"amdkfd", 0xc0604b02, "AMDKFD_IOC_CREATE_QUEUE", event.RoleOther},
		{"kfd", 0xc0184b0c, "AMDKFD_IOC_WAIT_EVENTS", event.RoleWait},
		{"", 0xc0284b16, "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU", event.RoleAlloc},
		{"amdkfd", 0xc0404b20, "AMDKFD_IOC_SVM", event.RoleMap}, // its size varies with the attributes

		{"nvidia", 0xc020462a, "NV_ESC_RM_CONTROL", event.RoleOther},
		{"", 0xc030462b, "NV_ESC_RM_ALLOC", event.RoleAlloc},
		{"nvidia", 0xc020462b, "NV_ESC_RM_ALLOC", event.RoleAlloc},
		{"nvidia", 0xc038464e, "NV_ESC_RM_MAP_MEMORY", event.RoleMap},
		{"nvidia", 0xc01046d3, "NV_ESC_IOCTL_XFER_CMD", event.RoleOther},
		{"nvidia", 0xc0206454, "NVIDIA_SEMSURF_FENCE_CTX_CREATE", event.RoleOther}, // its render node
		{"nvidia-drm", 0xc0106456, "NVIDIA_SEMSURF_FENCE_WAIT", event.RoleWait},
		{"nvidia-modeset", 0xc0106d00, "NVKMS_IOCTL", event.RoleOther},
		{"nvidia-uvm", 0x30000001, "UVM_INITIALIZE", event.RoleOther},
		{"", 0x30000002, "UVM_DEINITIALIZE", event.RoleOther},
		{"nvidia_uvm", 51, "UVM_MIGRATE", event.RoleMap},
		{"nvidia-uvm", 33, "UVM_MAP_EXTERNAL_ALLOCATION", event.RoleMap},
	} {
		i, ok := LookupIoctl(c.driver, c.cmd)
		if !ok || i.Name != c.name || i.Role != c.role {
			t.Errorf("%q %#x: %v %v (%v), want %v %v", c.driver, c.cmd, i.Name, i.Role, ok, c.name, c.role)
		}
		if n := IoctlName(c.driver, c.cmd); n != c.name {
			t.Errorf("IoctlName(%q, %#x) = %q", c.driver, c.cmd, n)
		}
	}
}

func TestUnknownIoctl(t *testing.T) {
	for _, c := range []struct {
		driver string
		cmd    uint32
		name   string
	}{
		{"", 0xc0306440, "ioctl 0xc0306440"},        // driver-private, driver unknown
		{"strange", 0xc0306440, "ioctl 0xc0306440"}, // driver without a table
		{"amdgpu", 0xc010649f, "ioctl 0xc010649f"},
		{"", 0x5401, "ioctl 0x00005401"},        // TCGETS
		{"tty", 0xc0604b02, "ioctl 0xc0604b02"}, // 'K' of another driver
		{"", 0x00004b3a, "ioctl 0x00004b3a"},    // KDSETMODE: 'K' too, without direction
		{"", 0x00004600, "ioctl 0x00004600"},    // FBIOGET_VSCREENINFO: 'F'
		{"", 33, "ioctl 0x00000021"},            // UVM's small numbers mean nothing elsewhere
		{"nvidia", 33, "ioctl 0x00000021"},
		{"nvidia-uvm", 1, "ioctl 0x00000001"}, // not UVM_INITIALIZE
		{"nvidia-uvm", 0x30000019, "ioctl 0x30000019"},
		{"amdgpu", 0xc0186d00, "ioctl 0xc0186d00"},
	} {
		if i, ok := LookupIoctl(c.driver, c.cmd); ok {
			t.Errorf("%q %#x is known as %v", c.driver, c.cmd, i.Name)
		}
		if n := IoctlName(c.driver, c.cmd); n != c.name {
			t.Errorf("IoctlName(%q, %#x) = %q, want %q", c.driver, c.cmd, n, c.name)
		}
	}
}

// TestIoctlTable holds what every row must be.
func TestIoctlTable(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range Ioctls() {
		id := i.Driver + " " + i.Name
		if seen[id] {
			t.Errorf("%s stands twice", id)
		}
		seen[id] = true
		if Driver(i.Driver) != i.Driver {
			t.Errorf("%s: driver is an alias of %s", id, Driver(i.Driver))
		}
		if i.Name == "" || strings.HasPrefix(i.Name, "DRM_IOCTL_") || i.Role == event.RoleUnknown {
			t.Errorf("%s: name or role %v", id, i.Role)
		}
		private := i.Magic == 'd' && i.NR >= 0x40 && i.NR < 0xa0
		if i.Magic == 'd' && private != (i.Driver != "") {
			t.Errorf("%s: number %#x of driver %q", id, i.NR, i.Driver)
		}
		if got, ok := LookupIoctl(i.Driver, i.Cmd); !ok || got.NR != i.NR || got.Magic != i.Magic || got.Driver != i.Driver {
			t.Errorf("%s: found again as %+v", id, got)
		}
	}
	for _, r := range ioctlRoles {
		for _, n := range strings.Fields(r.names) {
			found := false
			for _, i := range Ioctls() {
				found = found || i.Name == n
			}
			if !found {
				t.Errorf("role %v names %s, which is no ioctl", r.role, n)
			}
		}
	}
}

// drivers of the sections of the list of known ioctls.
var sectionDrivers = map[string]string{
	"drm.h": "", "drm_mode.h": "", "virtgpu_drm.h": "virtio_gpu", "ivpu_accel.h": "intel_vpu", "qaic_accel.h": "qaic",
	"pvr_drm.h": "powervr", "../kfd_ioctl.h": "amdkfd",
}

// TestIoctlFacts compares the table with an independently computed list.
func TestIoctlFacts(t *testing.T) {
	f, err := os.Open(sharedFile(t, "facts/ioctls.txt"))
	if err != nil {
		t.Skip("no list of ioctls beside the checkout: ", err)
	}
	defer f.Close()
	var driver string
	var equal, sameNumber int
	for s := bufio.NewScanner(f); s.Scan(); {
		if h, ok := strings.CutPrefix(s.Text(), "## "); ok {
			if driver, ok = sectionDrivers[h]; !ok {
				driver = strings.TrimSuffix(h, "_drm.h")
			}
			continue
		}
		w := strings.Fields(s.Text())
		if len(w) < 2 || w[0] == "DRM_IOCTL_BASE" {
			continue
		}
		cmd, err := strconv.ParseUint(w[1], 0, 32)
		if err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		i, ok := LookupIoctl(driver, uint32(cmd))
		if want := strings.TrimPrefix(w[0], "DRM_IOCTL_"); !ok || i.Name != want {
			t.Errorf("%s %#x: %q, want %s", driver, cmd, i.Name, want)
			continue
		}
		if i.Cmd == uint32(cmd) {
			equal++
		} else {
			sameNumber++
			t.Logf("%s: here %#x, there %#x", w[0], i.Cmd, cmd)
		}
	}
	t.Logf("%d ioctls equal, %d with another size or direction", equal, sameNumber)
	if equal < 300 {
		t.Errorf("only %d ioctls of the list are equal", equal)
	}
}

// sharedFile returns the path of a file in ../shared beside the checkout.
func sharedFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", name)
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

func TestStatusOffset(t *testing.T) {
	for _, c := range []struct {
		driver string
		cmd    uint32
		off    int
		ok     bool
	}{
		{"nvidia", 0xc0104629, 12, true},
		{"nvidia", 0xc020462a, 28, true},
		{"nvidia", 0xc030462b, 40, true},
		{"nvidia", 0xc020462b, 28, true},
		{"nvidia", 0xc028462a, 0, false}, // a size of another release
		{"nvidia-uvm", 0x30000001, 8, true},
		{"nvidia-uvm", 51, 72, true},
		{"nvidia-uvm", 77, 0, false},
		{"amdgpu", 0xc0186444, 0, false},
		{"", 12345, 0, false},
	} {
		if off, ok := StatusOffset(c.driver, c.cmd); off != c.off || ok != c.ok {
			t.Errorf("%s %#x: %d %v, want %d %v", c.driver, c.cmd, off, ok, c.off, c.ok)
		}
	}
}

func TestDevices(t *testing.T) {
	for _, c := range []struct {
		major, minor uint32
		path, driver string
	}{
		{226, 0, "/dev/dri/card0", ""},
		{226, 128, "/dev/dri/renderD128", ""},
		{195, 0, "/dev/nvidia0", "nvidia"},
		{195, 247, "/dev/nvidia247", "nvidia"},
		{195, 254, "/dev/nvidia-modeset", "nvidia-modeset"},
		{195, 255, "/dev/nvidiactl", "nvidia"},
		{261, 0, "/dev/accel/accel0", ""},
		{1, 3, "", ""},
	} {
		path, driver := DeviceNode(c.major, c.minor)
		if path != c.path || driver != c.driver {
			t.Errorf("%d:%d: %q %q, want %q %q", c.major, c.minor, path, driver, c.path, c.driver)
		}
		d, gpu := NodeDriver(path)
		if gpu != (c.path != "") || d != c.driver {
			t.Errorf("NodeDriver(%q) = %q %v", path, d, gpu)
		}
		if IsDeviceMajor(c.major) != gpu {
			t.Errorf("IsDeviceMajor(%d)", c.major)
		}
	}
	for path, want := range map[string]string{"/dev/kfd": "amdkfd", "/dev/nvidia-uvm": "nvidia-uvm", "/dev/nvidia-uvm-tools": "nvidia-uvm"} {
		if d, gpu := NodeDriver(path); d != want || !gpu {
			t.Errorf("NodeDriver(%q) = %q %v", path, d, gpu)
		}
	}
	for _, path := range []string{"/dev/null", "/dev/nvidia", "/dev/nvidia-caps/nvidia-cap1", "/tmp/dri/card0", "socket:[1]", ""} {
		if d, gpu := NodeDriver(path); gpu || d != "" {
			t.Errorf("NodeDriver(%q) = %q %v", path, d, gpu)
		}
	}
	for name, want := range map[string]string{"kfd": "amdkfd", "nvidia-uvm": "nvidia-uvm", "nvidia": "nvidia", "nvidia-frontend": "nvidia", "drm": "", "tty": ""} {
		if d := DriverOfMajorName(name); d != want {
			t.Errorf("DriverOfMajorName(%q) = %q", name, d)
		}
	}
	for alias, canon := range DriverAliases() {
		if alias == canon || Driver(alias) != canon || Driver(canon) != canon {
			t.Errorf("alias %q of %q: Driver gives %q, %q", alias, canon, Driver(alias), Driver(canon))
		}
	}
}

func TestXid(t *testing.T) {
	for _, code := range []uint32{13, 31, 32, 43, 44, 45, 48, 58, 59, 61, 62, 63, 64, 69, 74, 79, 90, 92, 94, 95, 109, 110, 119, 120, 121,
		136, 137, 140, 143, 144, 145, 146, 147, 148, 149, 150, 151, 154, 155, 156, 157, 158, 160, 161, 167, 171, 172, 173} {
		if s, ok := Xid(code); !ok || s == "" {
			t.Errorf("Xid %d has no text", code)
		}
	}
	if s, _ := Xid(79); s != "GPU has fallen off the bus" {
		t.Errorf("Xid 79: %q", s)
	}
	if s, ok := Xid(1); ok {
		t.Errorf("Xid 1: %q", s)
	}
}

func BenchmarkLookupIoctl(b *testing.B) {
	for b.Loop() {
		LookupIoctl("amdgpu", 0xc0186444)
	}
}
