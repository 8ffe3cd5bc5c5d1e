package correlate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// How a device is known, in devices.rule and jobs.device_rule.
const (
	ruleSource          = "source"
	ruleInferred        = "inferred"
	ruleDeviceByContext = "inferred from the fence context"
	ruleDeviceByDriver  = "inferred from the driver of the hardware fence"
	ruleDeviceByOrigin  = "inferred from the driver whose event it is"
	ruleDeviceByRing    = "inferred from the ring, the only one of its name"
	ruleRingByQueue     = "inferred from the driver's number of the queue"
	ruleRingByTimeline  = "inferred from the fence's timeline"
)

func (x *idTracker) deviceEvent(ev *event.Event) {
	name := ev.Str(event.FieldDevice)
	d := x.byDevice[name]
	if name == "" || d == nil {
		d = x.newDevice(name, ruleSource)
		if name != "" {
			x.byDevice[name] = d
		}
	}
	d.used = x.e.tick
	setStr(&d.row.Name, ev.Str(event.FieldName))
	if s := ev.Str(event.FieldDriver); s != "" {
		x.setDriver(d, s)
	}
	setStr(&d.row.Version, ev.Str(event.FieldVersion))
	setStr(&d.row.Host, ev.Str(event.FieldHost))
	setInt(&d.row.Ordinal, optInt(ev, event.FieldOrdinal))
	setInt(&d.row.Rank, optInt(ev, event.FieldRank))
}

func (x *idTracker) newDevice(name, rule string) *device {
	x.e.seq.device++
	d := &device{row: Device{ID: x.e.seq.device, Device: name, Rule: rule}, used: x.e.tick}
	x.devices = append(x.devices, d)
	if len(x.devices) > x.e.caps.Devices {
		x.letGoDevices()
	}
	return d
}

// ofDriver are the devices of a driver that events name.
type ofDriver struct {
	one *device // if there is one only
	n   int
}

// setDriver tells a device its driver.
func (x *idTracker) setDriver(d *device, driver string) {
	if d.row.Driver == driver {
		return
	}
	x.countDriver(d, -1)
	d.row.Driver = driver
	x.countDriver(d, 1)
}

// countDriver counts a device of its driver, or no more.
func (x *idTracker) countDriver(d *device, n int) {
	if d.row.Driver == "" || d.row.Rule != ruleSource {
		return
	}
	o := x.ofDriver[d.row.Driver]
	o.n += n
	switch {
	case o.n == 0:
		delete(x.ofDriver, d.row.Driver)
		return
	case o.n == 1 && n > 0:
		o.one = d
	default:
		o.one = nil
	}
	if o.n == 1 && o.one == nil {
		for _, v := range x.devices {
			if v != d && v.row.Driver == d.row.Driver && v.row.Rule == ruleSource {
				o.one = v
			}
		}
	}
	x.ofDriver[d.row.Driver] = o
}

// firstLetGo is the index of the first device whose row is given early.
const firstLetGo = 1 << 20

// letGoDevices gives the rows of the devices that were named the longest ago,
// and those of their rings. What is the index of a device in all is not known
// then: theirs begin at firstLetGo.
func (x *idTracker) letGoDevices() {
	mark := usedUpTo(x.devices, func(d *device) (uint64, bool) { return d.used, d.used < x.e.tick })
	goes := func(d *device) bool { return d.used <= mark && d.used < x.e.tick }
	x.e.ring.giveRings(func(r *ring) bool { return r.dev != nil && goes(r.dev) })
	var gone []*device
	x.devices = slices.DeleteFunc(x.devices, func(d *device) bool {
		if goes(d) {
			gone = append(gone, d)
		}
		return goes(d)
	})
	for _, d := range gone {
		x.e.count(&anomalyDeviceLetGo)
		x.countDriver(d, -1)
		if x.byDevice[d.row.Device] == d {
			delete(x.byDevice, d.row.Device)
		}
		if x.byDriver[d.row.Driver] == d {
			delete(x.byDriver, d.row.Driver)
		}
		x.e.act.deviceGoes(d)
		d.row.Index, d.row.Unaligned = firstLetGo+x.e.seq.deviceGone, x.e.unaligned
		x.e.seq.deviceGone++
		x.e.rows.Devices = append(x.e.rows.Devices, d.row)
		x.e.n++
		x.e.flushFull()
	}
	x.e.act.devicesWent()
}

// device returns the device of a name that an event gives, nil for "".
func (x *idTracker) device(name, driver string) *device {
	if name == "" {
		return nil
	}
	d := x.byDevice[name]
	if d == nil {
		d = x.newDevice(name, ruleSource)
		x.byDevice[name] = d
	}
	d.used = x.e.tick
	if d.row.Driver == "" && driver != "" && driver != driverSched {
		x.setDriver(d, driver)
	}
	return d
}

func (x *idTracker) deviceID(name, driver string) ID {
	if d := x.device(name, driver); d != nil {
		return d.row.ID
	}
	return 0
}

// driverDevice returns the device that a driver's hardware fences show where
// no event names one: the only named device of that driver if there is one,
// else a device inferred from the driver. With several named devices of the
// driver there is no telling: nil.
func (x *idTracker) driverDevice(driver string) *device {
	if driver == "" || driver == driverSched {
		return nil
	}
	if d := x.byDriver[driver]; d != nil {
		d.used = x.e.tick
		return d
	}
	if o := x.ofDriver[driver]; o.n > 0 {
		return o.one
	}
	d := x.newDevice("", ruleInferred)
	d.row.Driver, d.row.Name = driver, driver
	x.byDriver[driver] = d
	return d
}

// onlyDevice returns the device of a driver if one alone is known by now.
func (x *idTracker) onlyDevice(driver string) *device {
	var found *device
	for _, d := range x.devices {
		if d.row.Driver == driver {
			if found != nil {
				return nil
			}
			found = d
		}
	}
	return found
}

// finishDevices numbers the devices: by PCI address or name, else by host,
// rank, ordinal, else in the order in which they were seen.
func (e *engine) finishDevices() {
	var all []*device
	for _, d := range e.all {
		for _, v := range d.ids.devices {
			v.row.Unaligned = d.unaligned
		}
		all = append(all, d.ids.devices...)
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *device) int {
		if c := cmp.Compare(noName(a), noName(b)); c != 0 {
			return c
		}
		return cmp.Or(
			strings.Compare(a.row.Host, b.row.Host),
			cmp.Compare(a.row.Rank.V, b.row.Rank.V),
			strings.Compare(pciAddress(a.row.Device), pciAddress(b.row.Device)),
			cmp.Compare(a.row.Ordinal.V, b.row.Ordinal.V),
			strings.Compare(a.row.Device, b.row.Device))
	})
	number(order)
	slices.SortFunc(all, func(a, b *device) int { return cmp.Compare(a.row.ID, b.row.ID) })
	for _, d := range all {
		e.rows.Devices = append(e.rows.Devices, d.row)
	}
	e.n += len(all)
}

// mostOrdinal bounds the numbers that a source's own may be to be kept: exports
// have tables by them.
const mostOrdinal = 64

// number gives devices in order their indices. They are the numbers that the
// source gives if all have different ones and no address: whoever made the
// trace knows its GPUs by these.
func number(order []*device) {
	theirs := map[int64]bool{}
	for i, d := range order {
		d.row.Index = int64(i)
		if o := d.row.Ordinal; o.OK && o.V >= 0 && o.V < mostOrdinal && pciAddress(d.row.Device) == "" {
			theirs[o.V] = true
		}
	}
	if len(theirs) < len(order) {
		return
	}
	for _, d := range order {
		d.row.Index = d.row.Ordinal.V
	}
}

// Identity is what a device is known by besides its index: an address, a name
// that a merge gave it, a UUID; "" if that is but a source's number for it,
// which would read like a second index.
func (d *Device) Identity() string {
	s := strings.TrimLeft(strings.ToLower(d.Device), "abcdefghijklmnopqrstuvwxyz")
	if s = strings.TrimLeft(s, " :#"); s == "" || strings.Trim(s, "0123456789") == "" {
		return ""
	}
	return d.Device
}

func noName(d *device) int {
	if d.row.Device == "" {
		return 1
	}
	return 0
}

// pciAddress returns s if it looks like dddd:bb:dd.f, else "".
func pciAddress(s string) string {
	if len(s) == 12 && s[4] == ':' && s[7] == ':' && s[10] == '.' {
		return s
	}
	return ""
}
