package chromejson

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// In Kineto's files a device's row has the device's number as pid, and the
// stream's as tid. Whose work it is stands nowhere: it is the process of the
// file, or, where a file was put together from several, the one that made the
// call of the same correlation id.

// device is a GPU or another accelerator.
type device struct {
	ordinal int64
	id      string // "GPU 0": what events name it by
	title   string
	args    string // its properties
	worked  bool   // or it has properties
	streams map[int64]string
}

const (
	maxDevices      = 1 << 10
	maxStreams      = 1 << 12
	maxHosts        = 1 << 12
	maxCorrelations = 1 << 18
)

type devices struct {
	m      *mapper
	all    map[int64]*device
	order  []*device
	hosts  []int32 // processes with host events of Kineto's
	isHost map[int32]bool
	caller []int32         // those with API calls
	calls  map[int64]int32 // correlation id → its process, noCaller if several

	pending []int // events of the batch in work that wait for their process
	early   bool  // work was given to the only process there was
	named   []naming
	rank    event.Opt[int64]
	host    string
}

// naming is a process_name of what may be a process or a device: only later
// metadata or events tell.
type naming struct {
	pid   int64
	name  string
	other event.Event // what it is if pid is a device's
}

const noCaller int32 = -2

func (d *devices) init(m *mapper) {
	d.m = m
	d.all = map[int64]*device{}
	d.isHost = map[int32]bool{}
	d.calls = map[int64]int32{}
}

func (d *devices) get(ordinal int64) *device {
	v := d.all[ordinal]
	if v == nil {
		v = &device{ordinal: ordinal, id: "GPU " + strconv.FormatInt(ordinal, 10)}
		if len(d.all) < maxDevices {
			d.all[ordinal] = v
			d.order = append(d.order, v)
		}
	}
	return v
}

// of returns the device whose row w is, or nil.
func (d *devices) of(w *who) *device {
	if !d.m.kineto || !w.isPIDNum || w.pid != event.NoID && d.isHost[w.pid] {
		return nil
	}
	return d.all[w.pidNum]
}

// undecided reports whether w may be a device's row or a process's.
func (d *devices) undecided(w *who) bool {
	return d.m.kineto && w.isPIDNum && w.pid != event.NoID && w.pidNum < maxDevices && !d.isHost[w.pid] && d.all[w.pidNum] == nil
}

// decide gives the names whose meaning was not clear.
func (d *devices) decide(b *event.Batch) {
	for i := range d.named {
		n := &d.named[i]
		if pid := kernelID(n.pid); d.all[n.pid] == nil || d.isHost[pid] {
			e := b.Add(event.KindProcess, event.NoTime)
			e.PID, e.Source = pid, n.other.Source
			e.SetStr(event.FieldName, n.name)
			continue
		}
		*b.Add(event.KindOther, event.NoTime) = n.other
	}
	d.named = nil
}

// hint learns from metadata that a pid is a device.
func (d *devices) hint(r *record, name string, w *who) {
	if name != "process_labels" || !w.isPIDNum {
		return
	}
	label, _ := d.m.argText(r, "labels")
	if n := strconv.FormatInt(w.pidNum, 10); label == "GPU "+n || label == "MTIA "+n || label == "XPU "+n {
		d.get(w.pidNum)
	}
}

// stream names a stream's row; a negative one is that of the device.
func (v *device) stream(n int64) string {
	if n < 0 {
		return v.id
	}
	s, ok := v.streams[n]
	if !ok {
		s = v.id + " stream " + strconv.FormatInt(n, 10)
		if v.streams == nil {
			v.streams = map[int64]string{}
		}
		if len(v.streams) < maxStreams {
			v.streams[n] = s
		}
	}
	return s
}

// hostEvent learns that w's process is one of the host.
func (d *devices) hostEvent(w *who, calls bool) {
	if w.pid == event.NoID {
		return
	}
	if n := len(d.hosts); n == 0 || d.hosts[n-1] != w.pid {
		if !d.isHost[w.pid] && n < maxHosts {
			d.isHost[w.pid] = true
			d.hosts = append(d.hosts, w.pid)
		}
	}
	if calls && (len(d.caller) == 0 || d.caller[len(d.caller)-1] != w.pid && !contains(d.caller, w.pid) && len(d.caller) < maxHosts) {
		d.caller = append(d.caller, w.pid)
		if len(d.caller) == 2 && d.early {
			d.m.note(&AnomalyOwnerGuessed)
		}
	}
}

func contains(s []int32, v int32) bool {
	for _, o := range s {
		if o == v {
			return true
		}
	}
	return false
}

// call notes whose call has a correlation id.
func (d *devices) call(e *event.Event) {
	id, ok := e.Int(event.FieldCorrelationID)
	if !ok || id <= 0 || e.PID == event.NoID {
		return
	}
	if o, ok := d.calls[id]; ok && o != e.PID {
		d.calls[id] = noCaller
		return
	}
	if len(d.calls) >= maxCorrelations {
		clear(d.calls)
	}
	d.calls[id] = e.PID
}

// unclear reports whether the processes seen so far do not tell yet whose
// device work is.
func (d *devices) unclear() bool { return len(d.caller) == 0 && len(d.hosts) != 1 }

// assign gives an event of a device's row its process: the only one that makes
// calls, else the only one at all, else the one whose call has its correlation id.
func (d *devices) assign(e *event.Event) {
	switch {
	case len(d.caller) == 1:
		e.PID, d.early = d.caller[0], true
	case len(d.caller) == 0 && len(d.hosts) == 1:
		e.PID, d.early = d.hosts[0], true
	case len(d.hosts) == 0:
		return
	default:
		id, ok := e.Int(event.FieldCorrelationID)
		pid, known := d.calls[id]
		if !ok || !known || pid == noCaller {
			if e.Kind == event.KindGPUActivity {
				d.m.note(&AnomalyNoOwner)
			}
			return
		}
		e.PID = pid
	}
	e.Flags |= event.FlagPIDInferred
}

// owned gives the last event of b its process, now or when one is known.
func (d *devices) owned(b *event.Batch) {
	i := len(b.Events) - 1
	e := &b.Events[i]
	e.PID, e.TID = event.NoID, event.NoID
	if d.unclear() {
		d.pending = append(d.pending, i)
		return
	}
	d.assign(e)
}

// settle gives the events that wait their process; without one they keep none.
func (d *devices) settle(b *event.Batch) {
	for _, i := range d.pending {
		d.assign(&b.Events[i])
	}
	d.pending = d.pending[:0]
}

// waiting reports whether the batch should not be given yet.
func (d *devices) waiting() bool { return len(d.pending) > 0 && d.unclear() }

// onDevice puts an event that is no work onto the device's row.
func (m *mapper) onDevice(e *event.Event, d *device, w *who) {
	e.SetStr(event.FieldTrack, d.stream(w.tidNum))
	e.PID, e.TID = event.NoID, event.NoID
}

// property takes a member of "deviceProperties".
func (d *devices) property(r *record) {
	b := d.m.lex.b
	var taken uint64
	v := (*device)(nil)
	for i, a := range r.members {
		if string(b[a.key.from:a.key.to]) == "id" && i < 64 {
			if n, ok := smallNumber(b[a.val.from:a.val.to]); ok {
				v = d.get(n)
				taken |= 1 << i
			}
		}
	}
	if v == nil {
		return
	}
	v.worked = true
	if name, ok := d.m.argText(r, "name"); ok {
		v.title = name
		for i, a := range r.members {
			if string(b[a.key.from:a.key.to]) == "name" && i < 64 {
				taken |= 1 << i
			}
		}
	}
	d.m.more = d.m.more[:0]
	v.args = strings.Clone(d.m.args(r, taken))
}

// describe appends what is known of devices, and of the process's place in a
// distributed job.
func (d *devices) describe(b *event.Batch) {
	d.decide(b)
	for _, v := range d.order {
		if !v.worked {
			continue
		}
		e := b.Add(event.KindDevice, event.NoTime)
		e.Source = "kineto:deviceProperties"
		e.SetStr(event.FieldDevice, v.id)
		e.SetStr(event.FieldName, v.title)
		e.SetInt(event.FieldOrdinal, v.ordinal)
		e.SetStr(event.FieldHost, d.host)
		e.SetStr(event.FieldDriver, driverOf(v.title))
		if d.rank.OK {
			e.SetInt(event.FieldRank, d.rank.V)
		}
		e.SetStr(event.FieldArgs, v.args)
	}
	if len(d.hosts) != 1 || d.host == "" && !d.rank.OK {
		return
	}
	e := b.Add(event.KindProcess, event.NoTime)
	e.PID, e.Source = d.hosts[0], "kineto:distributedInfo"
	e.SetStr(event.FieldHost, d.host)
	if d.rank.OK {
		e.SetInt(event.FieldRank, d.rank.V)
	}
}

// driverOf returns the kernel driver that a device's name leaves no doubt of.
func driverOf(title string) string {
	switch {
	case strings.HasPrefix(title, "NVIDIA "), strings.HasPrefix(title, "Tesla "):
		return "nvidia"
	case strings.HasPrefix(title, "AMD "):
		return "amdgpu"
	}
	return ""
}
