package picture

import (
	"math"
	"strings"
	"unsafe"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// What is held besides the sorted rows, because order alone does not bring it
// together. In memory: processes, threads, devices and rings. In pages, of which
// few are in memory: per API call, ioctl, wait and activity its times (16
// bytes); per job 80 bytes; per link 24 bytes and per flow 32.

const never = math.MinInt64 // no time

// farthest is how far from 0 a time may lie: formats count from 0 or from the
// first time, in 63 bits.
const farthest = 1<<62 - 1

func timeOf(t correlate.OptTime) int64 {
	if !t.OK || !t.V.Known() || isFar(int64(t.V)) {
		return never
	}
	return int64(t.V)
}

func isFar(t int64) bool { return t > farthest || t < -farthest }

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

// Flags of a job.
const (
	jobPut     uint8 = 1 << iota // its row came
	jobLost                      // its running interval cannot be drawn
	jobHidden                    // beyond the lanes
	jobRunning                   // job.running is drawn
	jobQueued                    // job.queued is drawn
	jobOpen                      // it ends with the trace
	jobSched                     // sched is known
	jobKernel                    // the driver's own
)

// jobInfo is what other rows need of a job.
type jobInfo struct {
	queued, run, start, done, finished int64 // times as in the row; never if unknown
	end                                int64 // end of what is drawn last
	sched                              uint64
	ring                               uint32 // number of its ring, from 1
	thread                             uint32 // number of its thread, from 1; 0: none
	deps                               uint32 // number of the last dependency
	lane                               uint8
	flags                              uint8
}

// queuedEnd is where job.queued ends.
func (j *jobInfo) queuedEnd() int64 {
	if j.flags&jobRunning != 0 {
		return j.start
	}
	return j.end
}

type dep struct {
	on       correlate.ID
	at       int64
	ctx, seq uint64 // the fence, if it is known
	next     uint32 // number of the one before, of the same job
	known    bool
}

// span is when another row is drawn: from start on, for size-1. A row that is
// not drawn is zero, one that does not end has the greatest size.
type span struct {
	start int64
	size  uint64
}

func spanOf(start, end int64) span {
	if end == forever {
		return span{start, math.MaxUint64}
	}
	return span{start, uint64(end-start) + 1}
}

func (s span) ok() bool { return s.size != 0 }

func (s span) end() int64 {
	if s.size == math.MaxUint64 {
		return forever
	}
	return s.start + int64(s.size-1)
}

// waitInfo is a fence wait: woken is the start of its `woken`, as far behind
// start, or 0 if it has none.
type waitInfo struct {
	start, woken int64
	ok           bool
}

// wokenAt is the start of `woken`, or never.
func (w waitInfo) wokenAt() int64 {
	if w.woken == 0 {
		return never
	}
	return w.start + w.woken
}

// slot is a kind of slice that flows touch.
type slot uint8

const (
	slotAPI slot = iota
	slotIoctl
	slotIoctlWoken
	slotQueued
	slotRunning
	slotWait
	slotWoken
	slotActivity
	numSlots
)

// model is what is known of the trace.
type model struct {
	procs    map[procKey]*Process
	procList []*Process // in order of coming
	threads  []*Thread  // in order of coming
	cache    [256]threadSlot
	devices  map[correlate.ID]*Device
	rings    map[ringKey]*ring
	ringList []*ring   // in order of coming
	lastRing [64]*ring // found before
	lastDev  [16]*Device

	pages      pages
	jobs       table[jobInfo]
	deps       list[dep]
	apis       table[span]
	ioctls     table[span]
	ioctlWake  table[int64]
	waits      table[waitInfo]
	activities table[span]

	links      list[link]
	linkEnds   [numTabs]table[ends]
	rowLinks   rowLinks // reused
	flows      uint32
	ioctlsWait bool // some ioctl waits for a job
	words      []string
	wordIDs    map[string]uint8
	wordCache  [64]recentWord
	reasons    [numTabs]table[uint8] // unmatched_reason, index in words

	symbols  symbols
	dimsList list[dims]
	sizes    [256]dimsSlot
	cmds     [64]cmdSlot
	buf      []byte

	clip     clip
	min, max int64 // of the times of all rows
	counters event.Counters
}

// see widens the range of the trace.
func (m *model) see(start, end int64) {
	if m.min == never || start < m.min {
		m.min = start
	}
	if end == forever {
		end = start
	}
	m.max = max(m.max, end)
}

type procKey struct {
	id  correlate.ID
	pid int64
}

type ringKey struct {
	device correlate.ID
	name   string
}

func newModel(budget int64, dir string) *model {
	m := &model{
		pages: pages{budget: budget, dir: dir, least: leastPages},
		procs: map[procKey]*Process{}, devices: map[correlate.ID]*Device{}, rings: map[ringKey]*ring{},
		clip: clip{math.MinInt64, math.MaxInt64},
		min:  never, max: never, words: []string{""}, wordIDs: map[string]uint8{"": 0},
	}
	m.jobs.init(&m.pages)
	m.deps.init(&m.pages)
	m.apis.init(&m.pages)
	m.ioctls.init(&m.pages)
	m.ioctlWake.init(&m.pages)
	m.waits.init(&m.pages)
	m.activities.init(&m.pages)
	m.links.init(&m.pages)
	for i := range m.linkEnds {
		m.linkEnds[i].init(&m.pages)
		m.reasons[i].init(&m.pages)
	}
	m.symbols.init(&m.pages)
	m.dimsList.init(&m.pages)
	return m
}

// word interns rules, confidences and reasons: a closed set of names.
func (m *model) word(s string) uint8 {
	if s == "" {
		return 0
	}
	c := &m.wordCache[addressHash(s)%uint64(len(m.wordCache))]
	if len(c.text) == len(s) && unsafe.StringData(c.text) == unsafe.StringData(s) {
		return c.n
	}
	i, ok := m.wordIDs[s]
	if !ok {
		if len(m.words) > math.MaxUint8 {
			return 0
		}
		i = uint8(len(m.words))
		m.words = append(m.words, s)
		m.wordIDs[s] = i
	}
	*c = recentWord{s, i}
	return i
}

// recentWord is a word as rows hold it, known by its address.
type recentWord struct {
	text string
	n    uint8
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

func (m *model) device(id correlate.ID) *Device {
	c := &m.lastDev[uint64(id)%uint64(len(m.lastDev))]
	if *c != nil && (*c).Row.ID == id {
		return *c
	}
	d := m.devices[id]
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
	*c = d
	return d
}

func (m *model) ring(dev correlate.ID, name string) *ring {
	c := &m.lastRing[(addressHash(name)+uint64(dev))%uint64(len(m.lastRing))]
	if r := *c; r == nil || r.device.Row.ID != dev || r.name != name {
		*c = m.findRing(dev, name)
	}
	return *c
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

// wordOf is a word by its number.
func (m *model) wordOf(n uint8) Word { return Word{n, m.words[n]} }

// reason returns why a row lacks a partner, or "".
func (m *model) reason(t tableCode, id correlate.ID) string {
	return m.words[m.reasons[t].get(id)]
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
