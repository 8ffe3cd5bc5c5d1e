package report

import (
	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// maxKeys bounds the names, threads and the like of which a report keeps a
// line; what is beyond them is summed up under an empty name.
const maxKeys = 1 << 16

// Lines of rings, and of who submits to them, are long: fewer are kept.
const (
	maxRings   = 1 << 13
	maxSubmits = 1 << 14
)

// Builder gathers a report from rows. It is an [export.Sink] without output:
// Report gives the result after End.
type Builder struct {
	rep    Report
	dists  dists
	coarse bool // every time so far is a multiple of 1000 ns
	timed  bool // there is one

	rings              map[ringKey]*ringAcc
	submits            map[submitKey]*intervals
	times              int // that submits keep
	submitList         []*intervals
	devs               map[workKey]*deviceAcc
	procs              map[procWorkKey]*workSum
	kernels            map[kernelKey]*dist
	acts               map[string]*dist
	launch             *dist
	api                map[apiKey]*apiAcc
	apiProcs           map[correlate.ID]*APIProcess
	blocking           map[blockKey]*BlockingThread
	ioctls             map[ioctlKey]*ioctlAcc
	failed             map[failKey]*FailedIoctl
	irqs               map[irqKey]*irqAcc
	steps              int // of backlogs, that wait
	waits              *dist
	wake               *dist
	timeouts           timeoutAcc
	resets             map[resetKey]*Resets
	memory             memoryAcc
	unmatched          map[Unmatched]uint64
	lostRows           uint64
	lossStart, lossEnd *int64
	logLines           []logLine
	nLogLines          uint64
	seen               seen
	devices            map[correlate.ID]*correlate.Device
	processes          map[correlate.ID]*correlate.Process
}

// seen says which kinds of rows a log has, for what could not be known.
type seen struct {
	jobs, run, done, threads      bool
	enqueues                      uint64 // calls that put work on a device, at the root
	apiFamilies                   map[string]bool
	slowEnqueues                  uint64
	slowEnqueueNS, longestEnqueue int64
	longestEnqueueRow             row
	longestEnqueueName            string
	longestEnqueueProc            correlate.ID
	failedCalls                   uint64
	firstFailed                   row
	firstFailedName               string
	firstFailedResult             int64
	firstFailedProc               correlate.ID
}

type logLine struct {
	at   correlate.OptTime
	text string
}

// NewBuilder returns an empty builder; tool names the program in the report.
func NewBuilder(tool string) *Builder {
	b := &Builder{
		coarse:    true,
		rings:     map[ringKey]*ringAcc{},
		submits:   map[submitKey]*intervals{},
		devs:      map[workKey]*deviceAcc{},
		procs:     map[procWorkKey]*workSum{},
		kernels:   map[kernelKey]*dist{},
		acts:      map[string]*dist{},
		api:       map[apiKey]*apiAcc{},
		apiProcs:  map[correlate.ID]*APIProcess{},
		blocking:  map[blockKey]*BlockingThread{},
		ioctls:    map[ioctlKey]*ioctlAcc{},
		failed:    map[failKey]*FailedIoctl{},
		irqs:      map[irqKey]*irqAcc{},
		resets:    map[resetKey]*Resets{},
		unmatched: map[Unmatched]uint64{},
		devices:   map[correlate.ID]*correlate.Device{},
		processes: map[correlate.ID]*correlate.Process{},
		// Lists without elements are [] in JSON, never null.
		rep: Report{
			Tool: tool, Findings: []Finding{}, NotKnown: []NotKnown{}, Rings: []Ring{}, Submissions: []Submission{},
			Devices: []DeviceWork{}, Processes: []ProcessWork{}, Kernels: []Kernel{}, Activities: []Activities{},
			API: []API{}, APIProcesses: []APIProcess{}, Blocking: []BlockingThread{}, Ioctls: []Ioctl{},
			FailedIoctls: []FailedIoctl{}, Interrupts: []Interrupts{}, Resets: []Resets{}, Memory: []Memory{},
			Unmatched: []Unmatched{}, Losses: []Loss{}, Anomalies: []Anomaly{},
		},
	}
	b.launch, b.waits, b.wake = b.dists.get(), b.dists.get(), b.dists.get()
	b.memory.init()
	b.seen.apiFamilies = map[string]bool{}
	return b
}

// Begin does nothing: what a report says of the run is known at its end.
func (b *Builder) Begin(*event.Meta) error { return nil }

// Abort does nothing.
func (b *Builder) Abort() error { return nil }

// Report returns the result; call it after End.
func (b *Builder) Report() *Report { return &b.rep }

// Write adds rows.
func (b *Builder) Write(r *correlate.Rows) error {
	for i := range r.Jobs {
		b.addJob(&r.Jobs[i])
	}
	for i := range r.Rings {
		b.addRing(&r.Rings[i])
	}
	for i := range r.IdleGaps {
		b.addGap(&r.IdleGaps[i])
	}
	for i := range r.APICalls {
		if r.APICalls[i].SameAsID == 0 { // else another source told it too
			b.addAPI(&r.APICalls[i])
		}
	}
	for i := range r.Ioctls {
		b.addIoctl(&r.Ioctls[i])
	}
	for i := range r.IRQs {
		b.addIRQ(&r.IRQs[i])
	}
	for i := range r.FenceWaits {
		b.addWait(&r.FenceWaits[i])
	}
	for i := range r.GPUActivities {
		if r.GPUActivities[i].SameAsID == 0 {
			b.addActivity(&r.GPUActivities[i])
		}
	}
	for i := range r.MemMaps {
		b.memory.addMap(&r.MemMaps[i])
	}
	for i := range r.Resets {
		b.addReset(&r.Resets[i])
	}
	for i := range r.Unmatched {
		u := &r.Unmatched[i]
		b.unmatched[Unmatched{Table: u.SrcTable, Link: u.Link, Reason: u.Reason}]++
		if u.LossID != 0 {
			b.lostRows++
		}
	}
	b.addTimes(r)
	b.addTail(r)
	return nil
}

// see notes a time's resolution.
func (b *Builder) see(t correlate.OptTime) {
	if t.OK {
		b.timed = true
		b.coarse = b.coarse && t.V%1000 == 0
	}
}

// addTimes notes the resolution of the times of rows that are not read otherwise.
func (b *Builder) addTimes(r *correlate.Rows) {
	b.seen.threads = b.seen.threads || len(r.Sched) > 0
	if b.timed && !b.coarse {
		return
	}
	for i := range r.Slices {
		b.see(r.Slices[i].StartNS)
		b.see(r.Slices[i].EndNS)
	}
	for i := range r.Sched {
		b.see(r.Sched[i].StartNS)
		b.see(r.Sched[i].EndNS)
	}
	for i := range r.Marks {
		b.see(r.Marks[i].TSNS)
	}
	for i := range r.Counters {
		b.see(r.Counters[i].TSNS)
	}
	for i := range r.MemMaps {
		b.see(r.MemMaps[i].TSNS)
	}
}

// maxLogLines bounds the kernel messages kept for their text.
const maxLogLines = 16

// addTail takes the rows that come at the end of a run, and kernel messages.
func (b *Builder) addTail(r *correlate.Rows) {
	for i := range r.LogLines {
		if b.nLogLines++; len(b.logLines) < maxLogLines {
			b.logLines = append(b.logLines, logLine{r.LogLines[i].TSNS, r.LogLines[i].Text})
		}
	}
	for i := range r.Devices {
		d := r.Devices[i]
		b.devices[d.ID] = &d
	}
	for i := range r.Processes {
		p := r.Processes[i]
		b.processes[p.ID] = &p
	}
	for i := range r.Losses {
		l := &r.Losses[i]
		b.lossStart, b.lossEnd = earlier(b.lossStart, l.StartNS), later(b.lossEnd, l.EndNS)
		t := &b.rep.Lost
		t.Gaps++
		if t.Events += l.Count.V; !l.Count.OK {
			t.Unknown++
		}
		if len(b.rep.Losses) < maxKeys {
			b.rep.Losses = append(b.rep.Losses, Loss{l.Stream, ptr(l.CPU), ptr(l.Count), l.Remedy})
		}
	}
	for i := range r.Anomalies {
		a := &r.Anomalies[i]
		b.rep.Anomalies = append(b.rep.Anomalies, Anomaly{a.Name, a.Severity, a.Count, a.Doc, a.Remedy, a.Sample})
	}
}

// End completes the report.
func (b *Builder) End(sum *correlate.Summary) error {
	r := &b.rep
	r.Clock, r.Rows = string(sum.Meta.Clock), sum.Rows
	r.Command, r.ExitStatus = sum.Meta.Command, ptr(sum.Meta.ExitStatus)
	if sum.Start.Known() {
		s, e := int64(sum.Start), int64(sum.End)
		r.StartNS, r.EndNS = &s, &e
	}
	r.ResolutionNS = 1
	if b.timed && b.coarse {
		r.ResolutionNS = 1000
	}
	b.endRings()
	b.endSubmissions()
	b.endWork()
	b.endCalls()
	b.endIoctls()
	b.endIRQs()
	b.endRest()
	b.findings()
	b.notKnown()
	return nil
}

func ptr[T any](o event.Opt[T]) *T {
	if !o.OK {
		return nil
	}
	return &o.V
}

// timePtr returns a time as a number, nil if it is not known.
func timePtr(t correlate.OptTime) *int64 {
	if !t.OK {
		return nil
	}
	v := int64(t.V)
	return &v
}

func idPtr(id correlate.ID) *int64 {
	if id == 0 {
		return nil
	}
	v := int64(id)
	return &v
}

func optNS(ns int64) correlate.OptTime { return event.OptTime(event.Time(ns)) }

// ratio returns part / whole, nil if there is no whole.
func ratio(part, whole int64) *float64 {
	if whole <= 0 {
		return nil
	}
	v := float64(part) / float64(whole)
	return &v
}

// get returns the value of a key; beyond maxKeys keys, that of other, which is counted.
func get[K comparable, V any](capped *uint64, m map[K]*V, k, other K, make func(K) *V) *V {
	return getOf(maxKeys, capped, m, k, other, make)
}

// getOf is get with at most most keys.
func getOf[K comparable, V any](most int, capped *uint64, m map[K]*V, k, other K, make func(K) *V) *V {
	if v := m[k]; v != nil {
		return v
	}
	if len(m) >= most {
		*capped++
		k = other
		if v := m[k]; v != nil {
			return v
		}
	}
	v := make(k)
	m[k] = v
	return v
}

// span returns how long the run is, 0 if that is not known.
func (r *Report) span() int64 {
	if r.StartNS == nil || *r.EndNS <= *r.StartNS {
		return 0
	}
	return max(*r.EndNS-*r.StartNS, 0) // extremes overflow
}
