package bpf

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/gpu"
)

// deviceLookup names the driver and device of a character device number.
type deviceLookup interface {
	lookup(rdev uint32) (driver, device string)
}

type noDevices struct{}

func (noDevices) lookup(uint32) (string, string) { return "", "" }

type deviceNames struct{ driver, device string }

// sysDevices asks sysfs and /proc/devices, once for each number.
type sysDevices struct {
	root   string            // "" or the root of a test's tree
	majors map[uint32]string // /proc/devices
	known  map[uint32]deviceNames
}

func newSysDevices(root string) *sysDevices {
	return &sysDevices{root: root, majors: readMajors(root + "/proc/devices"), known: map[uint32]deviceNames{}}
}

// readMajors reads the character devices of /proc/devices: major → name.
func readMajors(path string) map[uint32]string {
	m := map[uint32]string{}
	f, err := os.Open(path)
	if err != nil {
		return m // no /proc: only fixed majors are known
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "Block") {
			break
		}
		num, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseUint(num, 10, 32); ok && err == nil {
			m[uint32(n)] = name
		}
	}
	return m
}

// gpuMajors lists the majors whose devices are GPUs: the fixed ones, and
// those that a driver got at load time.
func (d *sysDevices) gpuMajors() []uint32 {
	list := []uint32{gpu.MajorDRM, gpu.MajorNVIDIA, gpu.MajorAccel}
	for n, name := range d.majors {
		if gpu.DriverOfMajorName(name) != "" && !gpu.IsDeviceMajor(n) {
			list = append(list, n)
		}
	}
	return list
}

func (d *sysDevices) lookup(rdev uint32) (driver, device string) {
	n, ok := d.known[rdev]
	if !ok {
		n = d.find(rdev>>20, rdev&(1<<20-1))
		d.known[rdev] = n
	}
	return n.driver, n.device
}

// find resolves one device: sysfs for DRM and accel, the major's name for the rest.
func (d *sysDevices) find(major, minor uint32) deviceNames {
	var n deviceNames
	dir := d.root + "/sys/dev/char/" + strconv.Itoa(int(major)) + ":" + strconv.Itoa(int(minor)) + "/device"
	if target, err := os.Readlink(dir); err == nil {
		n.device = filepath.Base(target)
	}
	if target, err := os.Readlink(dir + "/driver"); err == nil {
		n.driver = gpu.Driver(filepath.Base(target))
	}
	path, driver := gpu.DeviceNode(major, minor)
	if n.driver == "" {
		n.driver = driver
	}
	if n.driver == "" {
		n.driver = gpu.DriverOfMajorName(d.majors[major])
	}
	if n.device == "" && major == gpu.MajorNVIDIA && minor < 254 {
		n.device = d.nvidiaAddress(minor)
	}
	if n.device == "" {
		n.device = path
	}
	return n
}

// nvidiaAddress finds the PCI address of /dev/nvidiaN.
func (d *sysDevices) nvidiaAddress(minor uint32) string {
	files, _ := filepath.Glob(d.root + "/proc/driver/nvidia/gpus/*/information")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // the GPU went away
		}
		for _, line := range strings.Split(string(data), "\n") {
			k, v, _ := strings.Cut(line, ":")
			if strings.TrimSpace(k) == "Device Minor" && strings.TrimSpace(v) == strconv.Itoa(int(minor)) {
				return filepath.Base(filepath.Dir(f))
			}
		}
	}
	return ""
}

// statusOffsets says where drivers that return 0 on failure put their status:
// request number → offset in the argument's struct (NVIDIA RM, from the open
// kernel modules 595.45.04).
func statusOffsets() map[uint32]uint32 {
	return map[uint32]uint32{
		0xc0104629: 12, // NV_ESC_RM_FREE
		0xc020462a: 28, // NV_ESC_RM_CONTROL
		0xc030462b: 40, // NV_ESC_RM_ALLOC, NVOS64
		0xc020462b: 28, // NV_ESC_RM_ALLOC, NVOS21
		0xc038464e: 40, // NV_ESC_RM_MAP_MEMORY
		0xc0404657: 56, // NV_ESC_RM_MAP_MEMORY_DMA
	}
}
