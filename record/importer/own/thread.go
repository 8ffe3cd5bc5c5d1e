package own

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Call is a call: of an export, or of another writer that names its category
// as exports do. The result is the event that holds what is known at its
// entry, valid until the next one is added.
func (m *Mapper) Call(d *Drawn, api event.API, o *Open) *event.Event {
	a := d.Args
	end := a.str(argEnd)
	o.begin(d.Time)
	if end == "" && d.Beside {
		o.what = kindWhole
		o.ev.Reset(event.KindAPI, event.NoTime)
		m.whose(&o.ev, d)
		m.launch(&o.ev, d, api)
		a.setUint(&o.ev, event.FieldResult, argResult)
		return &o.ev
	}
	ev := m.event(event.KindAPIEnter, d)
	m.launch(ev, d, api)
	switch end {
	case "":
		o.what = kindPaired
		o.ev.Reset(event.KindAPIExit, event.NoTime)
		m.whose(&o.ev, d)
		o.ev.SetUint(event.FieldAPI, uint64(api))
		o.ev.SetStr(event.FieldName, d.Name)
		a.setUint(&o.ev, event.FieldResult, argResult)
	case "not_probed":
		ev.SetBool(event.FieldEntryOnly, true)
	}
	return ev
}

// launch fills in what is known at the entry of a call.
func (m *Mapper) launch(ev *event.Event, d *Drawn, api event.API) {
	a := d.Args
	ev.SetUint(event.FieldAPI, uint64(api))
	ev.SetStr(event.FieldName, d.Name)
	ev.SetStr(event.FieldKernelName, a.str(argKernelName))
	a.setUint(ev, event.FieldStream, ArgStream)
	a.setUint(ev, event.FieldBytes, argBytes)
	a.setUint(ev, event.FieldCorrelationID, argCorrelation)
	a.setDims(ev, argGrid, event.FieldGridX, event.FieldGridY, event.FieldGridZ)
	a.setDims(ev, argBlock, event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ)
}

func (m *Mapper) ioctl(d *Drawn, o *Open) {
	a := d.Args
	end := a.str(argEnd)
	if end == "" && d.Beside {
		o.what = kindWhole
		o.ev.Reset(event.KindIoctl, event.NoTime)
		m.whose(&o.ev, d)
		request(&o.ev, d)
		a.setUint(&o.ev, event.FieldResult, argResult)
		return
	}
	ev := m.event(event.KindIoctlEnter, d)
	request(ev, d)
	if end != "" {
		return
	}
	o.what = kindPaired
	o.ev.Reset(event.KindIoctlExit, event.NoTime)
	m.whose(&o.ev, d)
	if cmd, ok := ev.Uint(event.FieldCmd); ok {
		o.ev.SetUint(event.FieldCmd, cmd)
	}
	a.setUint(&o.ev, event.FieldResult, argResult)
}

// request fills in what an ioctl asks for.
func request(ev *event.Event, d *Drawn) {
	a := d.Args
	a.setHex(ev, event.FieldCmd, argCmd)
	if !strings.HasPrefix(d.Name, "ioctl 0x") {
		ev.SetStr(event.FieldName, d.Name)
	}
	if s := a.str(argDevice); strings.Contains(s, ":") {
		ev.SetStr(event.FieldDevice, s)
	} else {
		ev.SetStr(event.FieldDriver, s)
	}
	for x := event.RoleSubmit; x <= event.RoleOther; x++ {
		if x.String() == a.str(argRole) {
			ev.SetUint(event.FieldRole, uint64(x))
		}
	}
}

func (m *Mapper) wait(d *Drawn, o *Open) {
	a := d.Args
	ev := m.event(event.KindFenceWaitStart, d)
	a.setFence(ev, event.FieldFenceContext, event.FieldFenceSeqno, argFence)
	if a.is(argLow32) {
		ev.Flags |= event.FlagLow32
	}
	flags := ev.Flags
	if a.str(argEnd) != "" {
		return
	}
	o.what = kindPaired
	o.ev.Reset(event.KindFenceWaitEnd, event.NoTime)
	m.whose(&o.ev, d)
	a.setFence(&o.ev, event.FieldFenceContext, event.FieldFenceSeqno, argFence)
	o.ev.Flags = flags
}

// woken begins when the fence of a wait signalled. The job of the wait names
// the fence whole where the wait has its low halves alone.
func (m *Mapper) woken(d *Drawn) {
	a := d.Args
	f := job{low32: a.is(argLow32)}
	f.context, f.seqno, f.hasFence = a.fence(argFence)
	if row, ok := a.num(argJob); ok && f.hasFence {
		j, ok := m.jobs.get(row)
		if ok && j.hasFence && uint32(j.context) == uint32(f.context) && uint32(j.seqno) == uint32(f.seqno) {
			f = j
		}
	}
	m.signal(&f, d.Time)
}

// signal tells that a job's fence signalled, once.
func (m *Mapper) signal(j *job, at event.Time) {
	k := event.FenceKey{Context: j.context, Seqno: j.seqno}
	if !j.hasFence {
		m.Derived()
		return
	}
	if _, told := m.signalled[k]; told || len(m.signalled) >= maxSignalled {
		return // several waited for it
	}
	if m.signalled == nil {
		m.signalled = map[event.FenceKey]struct{}{}
	}
	m.signalled[k] = struct{}{}
	ev := m.Add(event.KindFenceSignal, at)
	ev.Source = m.Source
	ev.SetUint(event.FieldFenceContext, j.context)
	ev.SetUint(event.FieldFenceSeqno, j.seqno)
	if j.low32 {
		ev.Flags |= event.FlagLow32
	}
}

// whole keeps activities and ranges, which are given at their end.
func (m *Mapper) whole(d *Drawn, o *Open) bool {
	a := d.Args
	switch {
	case !a.Known():
		return false
	case a.is(argActivity):
		m.activity(d, &o.ev)
	case a.is(argSlice):
		if a.str(argEnd) != "" { // it had not ended
			ev := m.event(event.KindSliceBegin, d)
			m.slice(ev, d)
			return true
		}
		o.ev.Reset(event.KindSlice, event.NoTime)
		m.slice(&o.ev, d)
	default:
		return false
	}
	o.what = kindWhole
	m.whose(&o.ev, d)
	if d.Ours && !a.is(argActivity) {
		o.ev.PID, o.ev.TID = event.NoID, event.NoID
	}
	return true
}

func (m *Mapper) slice(ev *event.Event, d *Drawn) {
	ev.SetStr(event.FieldName, d.Name)
	if d.Category != "slice" {
		ev.SetStr(event.FieldCategory, d.Category)
	}
	ev.SetStr(event.FieldTrack, d.Track)
	ev.SetStr(event.FieldArgs, d.Args.str(argArgs))
}

// activity fills in work on a device.
func (m *Mapper) activity(d *Drawn, ev *event.Event) {
	a := d.Args
	ev.Reset(event.KindGPUActivity, event.NoTime)
	for x := event.ActivityOther; x <= event.ActivityCollective; x++ {
		if x.String() == a.str(argKind) {
			ev.SetUint(event.FieldActivity, uint64(x))
		}
	}
	name := a.str(argKernelName)
	if name == "" {
		name = d.Name
	}
	ev.SetStr(event.FieldName, name)
	if v, ok := a.num(argDevice); ok {
		ev.SetStr(event.FieldDevice, m.Device(int64(v)))
	}
	a.setUint(ev, event.FieldStream, ArgStream)
	a.setUint(ev, event.FieldContext, argContext)
	a.setUint(ev, event.FieldBytes, argBytes)
	a.setUint(ev, event.FieldCorrelationID, argCorrelation)
	a.setDims(ev, argGrid, event.FieldGridX, event.FieldGridY, event.FieldGridZ)
	a.setDims(ev, argBlock, event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ)
}

// TrimLane takes off the number that tells lanes of one name apart.
func TrimLane(s string) string {
	i := strings.LastIndex(s, " (")
	if i < 0 || !strings.HasSuffix(s, ")") {
		return s
	}
	if _, err := strconv.Atoi(s[i+2 : len(s)-1]); err != nil {
		return s
	}
	return s[:i]
}
