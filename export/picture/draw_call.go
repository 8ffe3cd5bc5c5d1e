package picture

import (
	"fmt"
	"strconv"

	"github.com/gpurec/gpurec/correlate"
)

// endOf is where a slice is drawn to: a row that was not seen to end ends with
// the trace, or with its process if that killed it. how is the argument `end`.
func (d *drawer) endOf(start, end int64, kind string, p *Process) (at int64, how string) {
	if end != forever {
		if kind == "lost" || kind == "not_probed" || kind == "evicted" {
			return end, kind
		}
		return end, ""
	}
	if kind == "killed" && p != nil && p.end != never && (p.end >= start || start == d.m.clip.from) {
		return max(min(p.end, d.m.clip.to), start), kind
	}
	return d.clip(start, end), "after_stop"
}

func procOf(t *Thread) *Process {
	if t == nil {
		return nil
	}
	return t.Process
}

// callTail writes what any slice on a thread may have to say about itself.
func (d *drawer) callTail(t *Thread, how, reason string, overlaps, noStart bool) {
	d.pen.Str(argEnd, how)
	if reason == "" && (overlaps || noStart) {
		reason = "lost"
		if overlaps {
			reason = "ambiguous"
		}
	}
	if overlaps || noStart {
		d.pen.Str(argUnmatchedReason, reason)
	}
	if t != nil && t.Process.Inferred {
		d.pen.True(argPIDInferred)
	}
}

func (d *drawer) drawAPI(r *correlate.APICall, k *key) {
	t := d.m.thread(r.ProcessID, r.PID, r.TID)
	end, how := d.endOf(k.start, k.end, r.EndKind, procOf(t))
	_, overlaps := d.beginThread(t, k.start, end)
	d.pen.Name(firstOf(r.Name, r.BaseName, "unnamed call"))
	if r.API == "" {
		d.pen.Category(catAPI)
	} else {
		d.pen.CategoryText(r.API)
	}
	d.pen.Int(argAPICallID, int64(r.ID))
	d.argDur(argResult, r.Result)
	d.pen.Str(argKernelName, r.KernelName)
	if r.Stream.OK {
		d.pen.Uint(argStream, r.Stream.V)
	}
	d.argDim(argGrid, r.GridX, r.GridY, r.GridZ)
	d.argDim(argBlock, r.BlockX, r.BlockY, r.BlockZ)
	if r.Bytes.OK {
		d.pen.Uint(argBytes, r.Bytes.V)
	}
	d.argDur(argCorrelationID, r.CorrelationID)
	d.argClip(r.StartNS, r.EndNS)
	if d.stages != nil {
		d.stages.Submits(r.API, d.submits(r.ID))
	}
	d.callTail(t, how, d.m.reason(tabAPI, r.ID), overlaps, !r.StartNS.OK)
	d.flows(slotAPI, r.ID)
	d.pen.Done()
}

// argDim writes a grid or block as "432,1,1".
func (d *drawer) argDim(a Arg, x, y, z correlate.OptUint) {
	if !x.OK {
		return
	}
	b := strconv.AppendUint(d.buf[:0], x.V, 10)
	for _, v := range []correlate.OptUint{y, z} {
		if v.OK {
			b = strconv.AppendUint(append(b, ','), v.V, 10)
		}
	}
	d.buf = b
	d.pen.Bytes(a, b)
}

func (d *drawer) drawIoctl(r *correlate.Ioctl, k *key) {
	t := d.m.thread(r.ProcessID, r.PID, r.TID)
	end, how := d.endOf(k.start, k.end, r.EndKind, procOf(t))
	on, overlaps := d.beginThread(t, k.start, end)
	if r.Name != "" {
		d.pen.Name(r.Name)
	} else {
		d.buf = appendCmd(append(d.buf[:0], "ioctl "...), r.Cmd)
		d.pen.Name(string(d.buf))
	}
	d.pen.Category(catIoctl)
	d.pen.Int(argIoctlID, int64(r.ID))
	d.pen.Str(argDevice, firstOf(d.deviceArg(r.DeviceID), r.Driver))
	d.buf = appendCmd(d.buf[:0], r.Cmd)
	d.pen.Bytes(argCmd, d.buf)
	d.pen.Str(argRole, r.Role)
	d.argDur(argResult, r.Result)
	d.argDur(argErrno, r.Errno)
	d.argClip(r.StartNS, r.EndNS)
	if d.m.apis.get(r.APICallID).ok() {
		d.pen.Int(argAPICallID, int64(r.APICallID))
	}
	d.callTail(t, how, d.m.reason(tabIoctl, r.ID), overlaps, !r.StartNS.OK)
	woken := d.m.wakeOf(r.ID)
	if woken == never {
		d.links(tabIoctl, r.ID, callLink)
	} else {
		d.links(tabIoctl, r.ID, apiLink)
	}
	d.flows(slotIoctl, r.ID)
	d.pen.Done()
	if w := woken; w != never && w < end {
		d.announce(later{key: key{start: w, end: end, class: classWake}, op: opWoken,
			wake: d.newWake(wake{thread: t, track: on, start: w, end: end, ioctl: r.ID})})
	}
}

// appendCmd adds a request number as "0xc0306440".
func appendCmd(b []byte, cmd uint64) []byte {
	const hex = "0123456789abcdef"
	b = append(b, "0x"...)
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, hex[cmd>>shift&15])
	}
	return b
}

func (d *drawer) deviceArg(id correlate.ID) string {
	if v := d.m.devices[id]; v != nil && id != 0 {
		return v.arg
	}
	return ""
}

// wake is a `woken` to come.
type wake struct {
	thread     *Thread
	track      *Track // of the wait
	start, end int64
	ioctl      correlate.ID // of an ioctl that waits by itself; else 0
	r          correlate.FenceWait
}

func (d *drawer) drawWait(r *correlate.FenceWait, k *key) {
	t := d.m.thread(r.ProcessID, r.PID, r.TID)
	end, how := d.endOf(k.start, k.end, r.EndKind, procOf(t))
	info := d.m.waits.get(r.ID)
	on, overlaps := d.beginThread(t, k.start, end)
	b := append(d.buf[:0], "wait fence"...)
	if r.Context.OK && r.Seqno.OK {
		b = AppendPair(append(b, ' '), r.Context.V, r.Seqno.V)
	}
	d.buf = b
	d.pen.NameOnce(b)
	d.pen.Category(catFenceWait)
	d.waitArgs(r)
	d.argDur(argWaitNS, r.WaitNS)
	d.argDur(argWakeNS, r.WakeNS)
	d.argClip(r.StartNS, r.EndNS)
	if sig := timeOf(r.SignalNS); sig != never && sig <= k.start {
		d.pen.True(argAlreadySignalled)
	}
	reason := d.m.reason(tabWait, r.ID)
	d.callTail(t, how, reason, overlaps, !r.StartNS.OK)
	if !overlaps && r.StartNS.OK && r.JobID == 0 {
		d.pen.Str(argUnmatchedReason, reason)
	}
	at := info.wokenAt()
	woken := at != never && at < end
	if !woken {
		d.links(tabWait, r.ID, waitLink)
		d.flows(slotWait, r.ID)
	}
	d.pen.Done()
	if woken {
		d.announce(later{key: key{start: at, end: end, class: classWake}, op: opWoken,
			wake: d.newWake(wake{thread: t, track: on, start: at, end: end, r: *r})})
	}
}

// waitArgs writes what a wait and its wake both have.
func (d *drawer) waitArgs(r *correlate.FenceWait) {
	d.pen.Int(argFenceWaitID, int64(r.ID))
	d.argFence(argFence, r.Context, r.Seqno)
	if r.JobID == 0 {
		return
	}
	d.pen.Int(argJobID, int64(r.JobID))
	if j := d.m.jobs.get(r.JobID); j.flags&jobPut != 0 {
		if j.flags&jobSched != 0 {
			d.pen.Uint(argSchedJobID, j.sched)
		}
		d.pen.Str(argRing, d.m.ringOf(&j).name)
	}
}

func (d *drawer) newWake(k wake) *wake {
	if n := len(d.wakes); n > 0 {
		p := d.wakes[n-1]
		d.wakes = d.wakes[:n-1]
		*p = k
		return p
	}
	return &k
}

func (d *drawer) drawWoken(k *wake) {
	defer func() { d.wakes = append(d.wakes, k) }()
	on := k.track
	if !on.nests(k.end) && k.thread != nil {
		on = d.beside(k.thread, k.start, k.end)
	}
	d.begin(on, k.start, k.end)
	d.pen.Name("woken")
	d.pen.Category(catFenceWake)
	if k.ioctl != 0 {
		d.pen.Int(argIoctlID, int64(k.ioctl))
		d.pen.Int(argWakeNS, k.end-k.start)
		d.links(tabIoctl, k.ioctl, waitLink)
		d.flows(slotIoctlWoken, k.ioctl)
		d.pen.Done()
		return
	}
	d.waitArgs(&k.r)
	d.argDur(argWakeNS, k.r.WakeNS)
	d.argClip(k.r.SignalNS, k.r.EndNS)
	d.links(tabWait, k.r.ID, waitLink)
	d.flows(slotWoken, k.r.ID)
	d.pen.Done()
}

func (d *drawer) drawSlice(r *correlate.Slice, k *key) {
	t := d.m.thread(r.ProcessID, r.PID, r.TID)
	end := d.clip(k.start, k.end)
	overlaps := false
	if r.Track == "" {
		_, overlaps = d.beginThread(t, k.start, end)
	} else {
		l := d.named(r.ProcessID, r.PID, r.DeviceID, r.Track)
		d.begin(l.track(l.take(k.start, end)), k.start, end)
		t = nil
	}
	d.pen.Name(firstOf(r.Name, "unnamed"))
	d.pen.CategoryText(firstOf(r.Category, "slice"))
	d.pen.Int(argSliceID, int64(r.ID))
	d.pen.Text(argArgs, r.Args)
	d.argClip(r.StartNS, r.EndNS)
	how := ""
	if k.end == forever {
		how = "after_stop"
	}
	d.callTail(t, how, "", overlaps, !r.StartNS.OK)
	d.pen.Done()
}

// named returns the lanes of a track that the source names.
func (d *drawer) named(id correlate.ID, pid correlate.OptInt, dev correlate.ID, name string) *lanes {
	parent, where := (*Track)(nil), ""
	if p := d.m.process(id, pid); p != nil {
		parent, where = p.track, fmt.Sprintf("process/%d/%d", p.ID, p.PID)
	} else if v := d.m.devices[dev]; v != nil && dev != 0 {
		parent, where = v.track, fmt.Sprintf("gpu/%d", dev)
	}
	path := where + "/" + name
	l := d.tracks[path]
	if l == nil {
		l = &lanes{parent: parent, name: name, rank: 50}
		d.tracks[path] = l
	}
	return l
}
