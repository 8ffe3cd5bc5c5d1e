package gpu

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gpurec/gpurec/record/event"
)

// Ioctl describes an ioctl.
type Ioctl struct {
	// Name is as in the headers, without "DRM_IOCTL_": "AMDGPU_CS",
	// "SYNCOBJ_WAIT", "DRM_VMW_EXECBUF", "AMDKFD_IOC_CREATE_QUEUE",
	// "NV_ESC_RM_CONTROL", "UVM_MIGRATE".
	Name   string
	Driver string // canonical, see [Driver]; "" for what every DRM driver has
	Magic  byte   // 'd' DRM, 'K' KFD, 'F' NVIDIA RM, 'm' nvidia-modeset, 0 UVM
	NR     uint8
	Role   event.Role
	Cmd    uint32 // as the headers of the table have it; releases differ in the size bits
}

// The parts of a request number on x86-64 and arm64 (asm-generic/ioctl.h).

func cmdNR(cmd uint32) uint8    { return uint8(cmd) }
func cmdMagic(cmd uint32) byte  { return byte(cmd >> 8) }
func cmdSize(cmd uint32) uint32 { return cmd >> 16 & 0x3fff }
func cmdDir(cmd uint32) uint32  { return cmd >> 30 }

const (
	magicDRM     = 'd'
	magicKFD     = 'K'
	magicNVIDIA  = 'F'
	magicModeset = 'm'

	// drm.h: numbers from DRM_COMMAND_BASE up to DRM_COMMAND_END belong to the driver.
	drmDriverFirst, drmDriverEnd = 0x40, 0xa0
)

// LookupIoctl finds an ioctl by its number and the driver of its device in any
// spelling of [Driver], "" if unknown. Numbers are matched without the size
// and direction bits, which change between releases; where a driver gave one
// number two names, the exact request number decides.
//
// Without a driver only numbers that mean one thing are found: those that all
// DRM drivers share, KFD's, NVIDIA RM's and UVM's two of 32 bits. The same
// driver-private number is a submission for one driver and a query for the next.
func LookupIoctl(driver string, cmd uint32) (Ioctl, bool) {
	d := Driver(driver)
	k := ioctlKey{d, cmdMagic(cmd), cmdNR(cmd)}
	switch {
	case isUVM(d, cmd):
		k = ioctlKey{driverUVM, 0, uint8(cmd)}
		if cmd >= uvmBig {
			k.nr = uint8(cmd - uvmBig)
			k.magic = uvmBigMagic
		}
	case k.magic == 0 || k.magic == uvmBigMagic:
		return Ioctl{}, false // nothing else in the table is such a number
	case k.magic == magicDRM && (k.nr < drmDriverFirst || k.nr >= drmDriverEnd):
		k.driver = ""
	case k.magic == magicDRM && d == driverNVIDIA:
		k.driver = driverNVIDIADRM // sysfs names the PCI driver
	case k.magic == magicKFD && cmdDir(cmd) != 0 && (d == "" || d == driverAMDGPU):
		k.driver = driverKFD
	case k.magic == magicNVIDIA && cmdDir(cmd) != 0 && d == "":
		k.driver = driverNVIDIA
	case k.magic == magicModeset && d == driverNVIDIA:
		k.driver = driverModeset
	}
	l, ioctls := ioctlIndex()[k], ioctls()
	if len(l) == 0 {
		return Ioctl{}, false
	}
	for _, i := range l {
		if ioctls[i].Cmd == cmd {
			return ioctls[i], true
		}
	}
	return ioctls[l[0]], true
}

// UVM's request numbers are plain numbers, no _IOC: those of one byte mean
// something only on its device, the two of 32 bits anywhere.
const (
	uvmBig      = 0x30000000
	uvmBigMagic = 1 // an index key only: no device uses this magic in the table
)

func isUVM(driver string, cmd uint32) bool {
	switch driver {
	case driverUVM:
		return cmd <= 0xff || cmd == uvmBig+1 || cmd == uvmBig+2
	case "", driverNVIDIA:
		return cmd == uvmBig+1 || cmd == uvmBig+2
	}
	return false
}

// IoctlName returns the ioctl's name, or "ioctl 0xc0306440" if it is not known.
func IoctlName(driver string, cmd uint32) string {
	if i, ok := LookupIoctl(driver, cmd); ok {
		return i.Name
	}
	return fmt.Sprintf("ioctl %#08x", cmd)
}

// Ioctls returns the whole table. The result is shared and must not be changed.
func Ioctls() []Ioctl { return ioctls() }

// ioctlRow is the source form of an Ioctl.
type ioctlRow struct {
	driver, name string
	cmd          uint32
}

type ioctlKey struct {
	driver string
	magic  byte
	nr     uint8
}

var ioctls = sync.OnceValue(func() []Ioctl {
	roles := make(map[string]event.Role)
	for _, r := range ioctlRoles {
		for _, n := range strings.Fields(r.names) {
			roles[n] = r.role
		}
	}
	var l []Ioctl
	for _, rows := range [][]ioctlRow{headerIoctls, laterIoctls, labIoctls, nvidiaIoctls} {
		for _, r := range rows {
			i := Ioctl{Name: strings.TrimPrefix(r.name, "DRM_IOCTL_"), Driver: r.driver, Magic: cmdMagic(r.cmd), NR: cmdNR(r.cmd), Cmd: r.cmd}
			if r.driver == driverUVM {
				i.Magic = 0
			}
			i.Role = event.RoleOther
			if role, ok := roles[i.Name]; ok {
				i.Role = role
			}
			l = append(l, i)
		}
	}
	return l
})

// ioctlIndex gives positions in ioctls: several where a number has several names.
var ioctlIndex = sync.OnceValue(func() map[ioctlKey][]int {
	ioctls := ioctls()
	m := make(map[ioctlKey][]int, len(ioctls))
	for i, x := range ioctls {
		k := ioctlKey{x.Driver, x.Magic, x.NR}
		if x.Driver == driverUVM && x.Cmd >= uvmBig {
			k.magic = uvmBigMagic
		}
		m[k] = append(m[k], i)
	}
	return m
})
