package gpu

import (
	"strconv"
	"strings"
)

// Canonical driver names: those of fdinfo's drm-driver key where there is one.
const (
	driverAMDGPU    = "amdgpu"
	driverKFD       = "amdkfd"
	driverNVIDIA    = "nvidia" // resource manager: /dev/nvidiaN, /dev/nvidiactl
	driverNVIDIADRM = "nvidia-drm"
	driverModeset   = "nvidia-modeset"
	driverUVM       = "nvidia-uvm"
	driverMock      = "mockgpu" // the test lab's own driver
)

// Majors of character devices. Others (KFD, UVM, nvidia-caps) are dynamic:
// /proc/devices names them, see [DriverOfMajorName].
const (
	MajorDRM    = 226 // every DRM driver: sysfs tells which
	MajorNVIDIA = 195
	MajorAccel  = 261 // DRM's compute accelerators: sysfs tells which
)

// driverAliases are other names under which a driver appears: its module, its
// bus driver in sysfs, its DRM driver in fdinfo.
var driverAliases = map[string]string{
	"kfd":             driverKFD,
	"nvidia_drm":      driverNVIDIADRM,
	"nvidia_modeset":  driverModeset,
	"nvidia_uvm":      driverUVM,
	"nvidia-frontend": driverNVIDIA,
	"nvidiactl":       driverNVIDIA,
	"virtio-gpu":      "virtio_gpu",
	"virtio-pci":      "virtio_gpu", // the bus driver of a virtio GPU's render node
	"ivpu":            "intel_vpu",
	"intel-vpu":       "intel_vpu",
	"pvr":             "powervr",
	"msm_dpu":         "msm",
	"msm-kms":         "msm",
	"adreno":          "msm",
	"vc4-drm":         "vc4",
	"vc4_drm":         "vc4",
	"v3d_drm":         "v3d",
	"tegra-drm":       "tegra",
	"etnaviv-gpu":     "etnaviv",
	"exynos-drm":      "exynos",
	"omapdss":         "omapdrm",
	"armada-drm":      "armada",
}

// Driver returns the canonical name of a driver: "nvidia_uvm" is "nvidia-uvm",
// "virtio-pci" as the driver of a render node is "virtio_gpu". Unknown names
// are returned as they are.
func Driver(name string) string {
	if c, ok := driverAliases[name]; ok {
		return c
	}
	return name
}

// DriverAliases returns the other names of canonical drivers. The map is the caller's.
func DriverAliases() map[string]string {
	m := make(map[string]string, len(driverAliases))
	for k, v := range driverAliases {
		m[k] = v
	}
	return m
}

// DriverOfMajorName returns the driver that a major's name in /proc/devices
// means, "" if that name does not tell ("drm", "accel": sysfs does) or is of no GPU.
func DriverOfMajorName(name string) string {
	switch name {
	case "kfd", driverUVM, driverNVIDIA, driverModeset:
		return Driver(name)
	case "nvidia-frontend", "nvidiactl":
		return driverNVIDIA
	}
	return ""
}

// IsDeviceMajor reports whether every device of a fixed major is a GPU or accelerator.
func IsDeviceMajor(major uint32) bool {
	return major == MajorDRM || major == MajorNVIDIA || major == MajorAccel
}

// DeviceNode returns the usual path of a device with a fixed major, "" for
// others, and its driver where the numbers tell it.
func DeviceNode(major, minor uint32) (path, driver string) {
	n := strconv.FormatUint(uint64(minor), 10)
	switch major {
	case MajorDRM:
		switch {
		case minor < 64:
			return "/dev/dri/card" + n, ""
		case minor < 128:
			return "/dev/dri/controlD" + n, ""
		case minor < 192:
			return "/dev/dri/renderD" + n, ""
		}
		// From 6.13 on minors above 255 go to any type.
		return "/dev/dri/" + n, ""
	case MajorAccel:
		return "/dev/accel/accel" + n, ""
	case MajorNVIDIA:
		switch {
		case minor == 255:
			return "/dev/nvidiactl", driverNVIDIA
		case minor == 254:
			return "/dev/nvidia-modeset", driverModeset
		}
		return "/dev/nvidia" + n, driverNVIDIA
	}
	return "", ""
}

// NodeDriver returns the driver of a device path where the path alone tells
// it ("/dev/kfd", "/dev/nvidia0"), and whether the path is a GPU's at all:
// that of "/dev/dri/renderD128" is known to sysfs only.
func NodeDriver(path string) (driver string, gpu bool) {
	base, ok := strings.CutPrefix(path, "/dev/")
	if !ok {
		return "", false
	}
	switch {
	case strings.HasPrefix(base, "dri/"), strings.HasPrefix(base, "accel/"):
		return "", true
	case base == "kfd":
		return driverKFD, true
	case base == "nvidiactl":
		return driverNVIDIA, true
	case base == "nvidia-modeset":
		return driverModeset, true
	case base == "nvidia-uvm", base == "nvidia-uvm-tools":
		return driverUVM, true
	}
	if n, ok := strings.CutPrefix(base, "nvidia"); ok && n != "" && strings.Trim(n, "0123456789") == "" {
		return driverNVIDIA, true
	}
	return "", false
}
