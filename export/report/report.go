// Package report is what a person reads first: delays, backlog, idle causes,
// API time, failures and losses of a run, as text and as JSON.
package report

import (
	"cmp"
	"slices"
	"strconv"
	"syscall"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// Report is the whole report; its JSON form is stable.
type Report struct {
	Tool         string            `json:"tool"`
	Command      []string          `json:"command,omitempty"`
	ExitStatus   *int              `json:"exit_status,omitempty"` // of the command
	Clock        string            `json:"clock"`
	StartNS      *int64            `json:"start_ns"`
	EndNS        *int64            `json:"end_ns"`
	Rows         map[string]uint64 `json:"rows"`
	Rings        []Ring            `json:"rings"`
	API          []API             `json:"api_calls"`
	Ioctls       []Ioctl           `json:"ioctls"`
	FailedIoctls []FailedIoctl     `json:"failed_ioctls"`
	FenceWaits   Stats             `json:"fence_waits"`
	Activities   []Activities      `json:"gpu_activities"`
	Unmatched    []Unmatched       `json:"unmatched"`
	Losses       []Loss            `json:"losses"`
	Anomalies    []Anomaly         `json:"anomalies"`
}

// Ring is what happened on one ring. All times are nanoseconds.
type Ring struct {
	GPU         string      `json:"gpu"` // "" if unknown
	Ring        string      `json:"ring"`
	Jobs        int64       `json:"jobs"`
	Done        int64       `json:"done"`
	MaxBacklog  int64       `json:"max_backlog_jobs"`
	BusyNS      int64       `json:"busy_ns"`
	IdleNS      int64       `json:"idle_ns"`
	QueueDelay  Stats       `json:"queue_delay"`
	HWQueue     Stats       `json:"hw_queue"`
	DeviceTime  Stats       `json:"device_time"`
	IdleByCause []IdleCause `json:"idle_by_cause"`

	device correlate.ID
}

// IdleCause sums the idle gaps of one cause.
type IdleCause struct {
	Cause string `json:"cause"`
	Count int64  `json:"count"`
	SumNS int64  `json:"sum_ns"`
}

// API sums the calls of one function.
type API struct {
	API    string `json:"api"`
	Name   string `json:"name"` // base name
	Calls  uint64 `json:"calls"`
	Open   uint64 `json:"not_returned"` // calls whose return was not seen although it was watched
	Failed uint64 `json:"failed"`
	Time   Stats  `json:"time"` // of the calls whose both ends were seen
}

// Ioctl sums the ioctls of one name.
type Ioctl struct {
	Driver string `json:"driver"`
	Name   string `json:"name"`
	Role   string `json:"role"`
	Calls  uint64 `json:"calls"`
	Time   Stats  `json:"time"`
}

// FailedIoctl counts failures of one ioctl with one errno.
type FailedIoctl struct {
	Driver string `json:"driver"`
	Name   string `json:"name"`
	Errno  int64  `json:"errno"`
	Error  string `json:"error"`
	Count  uint64 `json:"count"`
}

// Activities sums the device's work of one kind.
type Activities struct {
	Kind string `json:"kind"`
	Time Stats  `json:"time"`
}

// Unmatched counts the rows of a table that lack a partner for one reason.
type Unmatched struct {
	Table  string `json:"table"`
	Link   string `json:"link"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Loss is a stretch of missing events.
type Loss struct {
	Stream string  `json:"stream"`
	CPU    *int64  `json:"cpu"`
	Count  *uint64 `json:"count"`
	Remedy string  `json:"remedy"`
}

// Anomaly is a counted anomaly.
type Anomaly struct {
	Name     string `json:"name"`
	Severity string `json:"severity"`
	Count    uint64 `json:"count"`
	Remedy   string `json:"remedy"`
	Sample   string `json:"sample,omitempty"`
}

// Builder gathers a report from rows. It is an [export.Sink] without output:
// Report gives the result after End.
type Builder struct {
	tool      string
	rings     map[ringKey]*ringAcc
	api       map[apiKey]*apiAcc
	ioctls    map[ioctlKey]*ioctlAcc
	failed    map[failKey]uint64
	waits     dist
	acts      map[string]*dist
	unmatched map[Unmatched]uint64
	devices   map[correlate.ID]*correlate.Device
	rep       Report
}

type ringKey struct {
	device correlate.ID
	ring   string
}

type ringAcc struct {
	Ring
	queue, hw, dev dist
	idle           map[string]*IdleCause
}

type apiKey struct{ api, name string }

type apiAcc struct {
	API
	time dist
}

type ioctlKey struct{ driver, name, role string }

type ioctlAcc struct {
	Ioctl
	time dist
}

type failKey struct {
	driver, name string
	errno        int64
}

// NewBuilder returns an empty builder; tool names the program in the report.
func NewBuilder(tool string) *Builder {
	return &Builder{
		tool:      tool,
		rings:     map[ringKey]*ringAcc{},
		api:       map[apiKey]*apiAcc{},
		ioctls:    map[ioctlKey]*ioctlAcc{},
		failed:    map[failKey]uint64{},
		acts:      map[string]*dist{},
		unmatched: map[Unmatched]uint64{},
		devices:   map[correlate.ID]*correlate.Device{},
		// Lists without elements are [] in JSON, never null.
		rep: Report{
			Rings: []Ring{}, API: []API{}, Ioctls: []Ioctl{}, FailedIoctls: []FailedIoctl{}, Activities: []Activities{},
			Unmatched: []Unmatched{}, Losses: []Loss{}, Anomalies: []Anomaly{},
		},
	}
}

// Begin does nothing: what a report says of the run is known at its end.
func (b *Builder) Begin(*event.Meta) error { return nil }

// Abort does nothing.
func (b *Builder) Abort() {}

// Write adds rows.
func (b *Builder) Write(r *correlate.Rows) error {
	b.addJobs(r)
	for i := range r.APICalls {
		if r.APICalls[i].SameAsID == 0 { // else another source told it too
			b.addAPI(&r.APICalls[i])
		}
	}
	for i := range r.Ioctls {
		b.addIoctl(&r.Ioctls[i])
	}
	for i := range r.FenceWaits {
		if d := r.FenceWaits[i].WaitNS; d.OK {
			b.waits.add(d.V)
		}
	}
	for i := range r.GPUActivities {
		a := &r.GPUActivities[i]
		d := b.acts[a.Kind]
		if d == nil {
			d = &dist{}
			b.acts[a.Kind] = d
		}
		if a.DurNS.OK {
			d.add(a.DurNS.V)
		}
	}
	for i := range r.Unmatched {
		u := &r.Unmatched[i]
		b.unmatched[Unmatched{Table: u.SrcTable, Link: u.Link, Reason: u.Reason}]++
	}
	b.addTail(r)
	return nil
}

func (b *Builder) ring(device correlate.ID, ring string) *ringAcc {
	k := ringKey{device, ring}
	a := b.rings[k]
	if a == nil {
		a = &ringAcc{idle: map[string]*IdleCause{}}
		a.Ring.Ring, a.device = ring, device
		b.rings[k] = a
	}
	return a
}

func (b *Builder) addJobs(r *correlate.Rows) {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		a := b.ring(j.DeviceID, j.Ring)
		addOpt(&a.queue, j.QueueDelayNS)
		addOpt(&a.hw, j.HWQueueNS)
		addOpt(&a.dev, j.DeviceTimeNS)
	}
	for i := range r.Rings {
		s := &r.Rings[i]
		a := b.ring(s.DeviceID, s.Ring)
		a.Jobs, a.Done, a.MaxBacklog = s.Jobs, s.Done, s.MaxBacklog
		a.BusyNS, a.IdleNS = s.BusyNS.V, s.IdleNS.V
	}
	for i := range r.IdleGaps {
		g := &r.IdleGaps[i]
		a := b.ring(g.DeviceID, g.Ring)
		c := a.idle[g.Cause]
		if c == nil {
			c = &IdleCause{Cause: g.Cause}
			a.idle[g.Cause] = c
		}
		c.Count++
		c.SumNS += int64(g.EndNS.V - g.StartNS.V)
	}
}

func addOpt(d *dist, v correlate.OptDur) {
	if v.OK {
		d.add(v.V)
	}
}

func (b *Builder) addAPI(c *correlate.APICall) {
	k := apiKey{c.API, c.BaseName}
	a := b.api[k]
	if a == nil {
		a = &apiAcc{API: API{API: c.API, Name: c.BaseName}}
		b.api[k] = a
	}
	a.Calls++
	if c.Result.OK && c.Result.V != 0 && !notReady(c) {
		a.Failed++
	}
	switch c.EndKind {
	case "returned", "not_probed":
	default:
		a.Open++
	}
	addOpt(&a.time, c.DurNS)
}

// notReady reports a query that says "not yet": CUDA_ERROR_NOT_READY and
// cudaErrorNotReady are 600, hipErrorNotReady too.
func notReady(c *correlate.APICall) bool { return c.Result.V == 600 }

func (b *Builder) addIoctl(c *correlate.Ioctl) {
	k := ioctlKey{c.Driver, c.Name, c.Role}
	a := b.ioctls[k]
	if a == nil {
		a = &ioctlAcc{Ioctl: Ioctl{Driver: c.Driver, Name: c.Name, Role: c.Role}}
		b.ioctls[k] = a
	}
	a.Calls++
	addOpt(&a.time, c.DurNS)
	if c.Errno.OK && c.Errno.V != 0 {
		b.failed[failKey{c.Driver, c.Name, c.Errno.V}]++
	}
}

// addTail takes the rows that come at the end of a run.
func (b *Builder) addTail(r *correlate.Rows) {
	for i := range r.Devices {
		d := r.Devices[i]
		b.devices[d.ID] = &d
	}
	for i := range r.Losses {
		l := &r.Losses[i]
		b.rep.Losses = append(b.rep.Losses, Loss{l.Stream, ptr(l.CPU), ptr(l.Count), l.Remedy})
	}
	for i := range r.Anomalies {
		a := &r.Anomalies[i]
		b.rep.Anomalies = append(b.rep.Anomalies, Anomaly{a.Name, a.Severity, a.Count, a.Remedy, a.Sample})
	}
}

func ptr[T any](o event.Opt[T]) *T {
	if !o.OK {
		return nil
	}
	return &o.V
}

// End completes the report.
func (b *Builder) End(sum *correlate.Summary) error {
	r := &b.rep
	r.Tool, r.Clock, r.Rows = b.tool, string(sum.Meta.Clock), sum.Rows
	r.Command, r.ExitStatus = sum.Meta.Command, ptr(sum.Meta.ExitStatus)
	if sum.Start.Known() {
		s, e := int64(sum.Start), int64(sum.End)
		r.StartNS, r.EndNS = &s, &e
	}
	b.endRings()
	b.endCalls()
	r.FenceWaits = b.waits.stats()
	for k, d := range b.acts {
		r.Activities = append(r.Activities, Activities{k, d.stats()})
	}
	slices.SortFunc(r.Activities, func(x, y Activities) int {
		return cmp.Or(cmp.Compare(y.Time.SumNS, x.Time.SumNS), cmp.Compare(x.Kind, y.Kind))
	})
	for u, n := range b.unmatched {
		u.Count = n
		r.Unmatched = append(r.Unmatched, u)
	}
	slices.SortFunc(r.Unmatched, func(x, y Unmatched) int {
		return cmp.Or(cmp.Compare(x.Table, y.Table), cmp.Compare(x.Link, y.Link), cmp.Compare(x.Reason, y.Reason))
	})
	return nil
}

func (b *Builder) endRings() {
	for _, a := range b.rings {
		x := a.Ring
		if d := b.devices[a.device]; d != nil {
			x.GPU = strconv.FormatInt(d.Index, 10)
			if n := cmp.Or(d.Name, d.Device, d.Driver); n != "" {
				x.GPU += " (" + n + ")"
			}
		}
		x.QueueDelay, x.HWQueue, x.DeviceTime = a.queue.stats(), a.hw.stats(), a.dev.stats()
		x.IdleByCause = []IdleCause{}
		for _, c := range a.idle {
			x.IdleByCause = append(x.IdleByCause, *c)
		}
		slices.SortFunc(x.IdleByCause, func(p, q IdleCause) int {
			return cmp.Or(cmp.Compare(q.SumNS, p.SumNS), cmp.Compare(p.Cause, q.Cause))
		})
		b.rep.Rings = append(b.rep.Rings, x)
	}
	slices.SortFunc(b.rep.Rings, func(x, y Ring) int {
		return cmp.Or(cmp.Compare(x.device, y.device), cmp.Compare(x.Ring, y.Ring))
	})
}

func (b *Builder) endCalls() {
	r := &b.rep
	for _, a := range b.api {
		a.Time = a.time.stats()
		r.API = append(r.API, a.API)
	}
	slices.SortFunc(r.API, func(x, y API) int {
		return cmp.Or(cmp.Compare(y.Time.SumNS, x.Time.SumNS), cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Name, y.Name), cmp.Compare(x.API, y.API))
	})
	for _, a := range b.ioctls {
		a.Time = a.time.stats()
		r.Ioctls = append(r.Ioctls, a.Ioctl)
	}
	slices.SortFunc(r.Ioctls, func(x, y Ioctl) int {
		return cmp.Or(cmp.Compare(y.Time.SumNS, x.Time.SumNS), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Driver, y.Driver), cmp.Compare(x.Role, y.Role))
	})
	for k, n := range b.failed {
		r.FailedIoctls = append(r.FailedIoctls, FailedIoctl{k.driver, k.name, k.errno, syscall.Errno(k.errno).Error(), n})
	}
	slices.SortFunc(r.FailedIoctls, func(x, y FailedIoctl) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Errno, y.Errno), cmp.Compare(x.Driver, y.Driver))
	})
}

// Report returns the result; call it after End.
func (b *Builder) Report() *Report { return &b.rep }
