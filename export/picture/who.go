package picture

import (
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// Process is a process. Processes without a row go by pid.
type Process struct {
	ID       correlate.ID
	PID      int64
	PPID     int64 // 0 if it is not known
	Name     string
	Cmdline  string
	Started  event.Opt[event.Time]
	Inferred bool // PID is a thread id
	Threads  map[int64]*Thread
	// Shown is PID, or a negative number of its own where a process of another
	// machine, which comes first, has that PID.
	Shown int64

	n        uint32 // number in model.procList, from 1
	place    place
	where    string // its place, where the trace shows several
	end      int64
	first    int64 // first GPU event
	rank     int32
	track    *Track
	inflight map[*Device]*counter
	streams  map[*Device]*streams
	named    bool // its row came
}

// Label is the name as a UI shows it, before the pid.
func (p *Process) Label() string {
	name := p.Name
	if p.Inferred && name != "" {
		name += " (tid)"
	}
	if p.where != "" {
		name = strings.TrimLeft(name+" ["+p.where+"]", " ")
	}
	return name
}

// KernelThread reports whether the process is one of the kernel's.
func (p *Process) KernelThread() bool {
	return p.PPID == 2 || p.PID == 2 || kernelThread(p.Name)
}

// Thread is a thread of a process.
type Thread struct {
	Process *Process
	TID     int64
	Name    string

	n       uint32 // number in model.threads, from 1
	first   int64
	track   *Track
	overlap *lanes // of slices that do not nest
}

// Drawn reports whether the thread has events of its own.
func (t *Thread) Drawn() bool { return t.first != never }

// streams are the activities of one process on one device.
type streams struct {
	group   *Track
	streams map[uint64]*lanes
	other   *lanes // activities without a stream
}

// Device is a GPU, or the rings of which no event names the device.
type Device struct {
	Row   correlate.Device
	Known bool // it has a row

	label   string // "GPU 0"
	arg     string // argument `device`
	track   *Track
	util    *Track
	resets  *Track
	idle    *Track // of a device known only through activities
	backlog *counter
	rings   []*ring

	busyTo int64     // end of the union of running intervals so far
	busy   []float64 // running time by window, ns
}

// Track is the group of the device's tracks.
func (v *Device) Track() *Track { return v.track }

// Devices and rings with tracks of their own are bounded. Those beyond that
// share one device, and of a device one ring.
const (
	maxDevices     = 1 << 12
	maxRings       = 1 << 13
	furtherDevices = correlate.ID(-1)
	furtherRings   = "(further rings)"
)

type ring struct {
	n       uint32 // number in model.ringList, from 1
	shared  bool   // it stands for many: their jobs and gaps may overlap
	device  *Device
	name    string
	first   int64 // first time
	jobs    bool  // it has jobs, not only gaps
	track   *Track
	idle    *Track
	backlog *counter
	queued  lanes
	hidden  *counter // jobs beyond the lanes; nil if there is none
	lastRun int64    // last device start of a job that is done
	busyTo  int64    // end of the last running job
	open    bool     // a job runs at the end of the trace
}

// counter is a track and its present value.
type counter struct {
	track *Track
	value int64
	n     uint32 // in drawer.lowered; 0: it is not there
	begun bool   // a value is drawn
}

// process returns the process of a row, or nil if neither row id nor pid is known.
func (m *model) process(id correlate.ID, pid correlate.OptInt) *Process {
	k := procKey{id: id}
	if id == 0 {
		if !pid.OK {
			return nil
		}
		k.pid = pid.V
	}
	p := m.procs[k]
	if p == nil {
		p = &Process{ID: id, PID: pid.V, end: never, first: never, Inferred: id == 0 && !pid.OK, Threads: map[int64]*Thread{}}
		m.procs[k] = p
		m.procList = append(m.procList, p)
		p.n = uint32(len(m.procList))
	}
	return p
}

// thread returns the thread of a row, or nil if the row names neither thread
// nor process. A thread without a process stands under pid = tid.
func (m *model) thread(id correlate.ID, pid, tid correlate.OptInt) *Thread {
	c := &m.cache[(uint64(id)*31+uint64(tid.V))%uint64(len(m.cache))]
	if c.t == nil || c.id != id || c.pid != pid || c.tid != tid {
		*c = threadSlot{id, pid, tid, m.findThread(id, pid, tid)}
	}
	return c.t
}

// threadSlot is a lookup that is remembered.
type threadSlot struct {
	id       correlate.ID
	pid, tid correlate.OptInt
	t        *Thread
}

func (m *model) findThread(id correlate.ID, pid, tid correlate.OptInt) *Thread {
	if !tid.OK {
		tid = pid
	}
	if tid.V == 0 && pid.V == 0 {
		return nil // the idle thread of some CPU: the event is nobody's
	}
	inferred := id == 0 && !pid.OK && tid.OK
	if !pid.OK {
		pid = tid
	}
	p := m.process(id, pid)
	if p == nil || !tid.OK {
		return nil
	}
	p.Inferred = p.Inferred || inferred
	t := p.Threads[tid.V]
	if t == nil {
		m.threads = append(m.threads, nil)
		t = &Thread{Process: p, TID: tid.V, first: never, n: uint32(len(m.threads))}
		m.threads[t.n-1] = t
		p.Threads[tid.V] = t
	}
	return t
}

// touch notes an event of a thread.
func (t *Thread) touch(at int64) {
	if t == nil || at == never {
		return
	}
	if t.first == never || at < t.first {
		t.first = at
	}
	t.Process.touch(at)
}

func (p *Process) touch(at int64) {
	if p != nil && at != never && (p.first == never || at < p.first) {
		p.first = at
	}
}

// device returns the device of a row that comes, which may be the one that many
// share.
func (m *model) device(id correlate.ID) *Device {
	d := m.ownDevice(id)
	if d == nil && len(m.devices) >= maxDevices {
		m.counters.Add(&AnomalyDevicesGrouped, 1)
		id = furtherDevices
		d = m.devices[id]
	}
	if d == nil {
		d = &Device{busyTo: never}
		d.Row.ID = id
		m.devices[id] = d
	}
	return d
}

// deviceAt is device for a row that is drawn: it came before.
func (m *model) deviceAt(id correlate.ID) *Device {
	if d := m.ownDevice(id); d != nil {
		return d
	}
	return m.devices[furtherDevices]
}

// ownDevice is the device of an id, or nil if it has none for itself.
func (m *model) ownDevice(id correlate.ID) *Device {
	c := &m.lastDev[uint64(id)%uint64(len(m.lastDev))]
	if *c == nil || (*c).Row.ID != id {
		*c = m.devices[id]
	}
	return *c
}

// ring returns the ring of a row that comes, which may be one that many share.
func (m *model) ring(dev correlate.ID, name string) *ring {
	c := &m.lastRing[(addressHash(name)+uint64(dev))%uint64(len(m.lastRing))]
	if r := *c; r == nil || r.device.Row.ID != dev || r.name != name {
		*c = m.findRing(dev, name)
	}
	return *c
}

// ringAt is ring for a row that is drawn: it came before.
func (m *model) ringAt(dev correlate.ID, name string) *ring {
	if r := m.rings[ringKey{dev, name}]; r != nil {
		return r
	}
	return m.rings[ringKey{dev, furtherRings}]
}

func (m *model) findRing(dev correlate.ID, name string) *ring {
	k := ringKey{dev, name}
	r := m.rings[k]
	shared := r == nil && len(m.rings) >= maxRings
	if shared {
		m.counters.Add(&AnomalyRingsGrouped, 1)
		k.name = furtherRings
		r = m.rings[k]
	}
	if r == nil {
		d := m.device(dev)
		r = &ring{device: d, name: k.name, shared: shared, first: never, lastRun: never, busyTo: never}
		m.rings[k] = r
		m.ringList = append(m.ringList, r)
		r.n = uint32(len(m.ringList))
		d.rings = append(d.rings, r)
	}
	return r
}

// ringOf and threadOf return what a job knows by number, or nil.
func (m *model) ringOf(j *jobInfo) *ring {
	if j.ring == 0 {
		return nil
	}
	return m.ringList[j.ring-1]
}

func (m *model) threadOf(j *jobInfo) *Thread {
	if j.thread == 0 {
		return nil
	}
	return m.threads[j.thread-1]
}
