package perfetto

import (
	"fmt"
	"strconv"

	"github.com/gpurec/gpurec/correlate"
)

// endOf is where a slice is drawn to: a row that was not seen to end ends with
// the trace, or with its process if that killed it. how is the argument `end`.
func (d *drawer) endOf(start, end int64, kind string, p *proc) (at int64, how string) {
	if end != forever {
		if kind == "lost" || kind == "not_probed" || kind == "evicted" {
			return end, kind
		}
		return end, ""
	}
	if kind == "killed" && p != nil && p.end != never && p.end >= start {
		return p.end, kind
	}
	return d.clip(start, end), "after_stop"
}

func procOf(t *thread) *proc {
	if t == nil {
		return nil
	}
	return t.proc
}

// callTail writes what any slice on a thread may have to say about itself.
func (d *drawer) callTail(t *thread, how, reason string, overlaps, noStart bool) {
	d.w.argStr(argEnd, how)
	if reason == "" && (overlaps || noStart) {
		reason = "lost"
		if overlaps {
			reason = "ambiguous"
		}
	}
	if overlaps || noStart {
		d.w.argStr(argUnmatchedReason, reason)
	}
	if t != nil && t.proc.inferred {
		d.w.argTrue(argPIDInferred)
	}
}

func (d *drawer) drawAPI(r *correlate.APICall, k *key) {
	t := d.m.thread(r.ProcessID, r.PID, r.TID)
	end, how := d.endOf(k.start, k.end, r.EndKind, procOf(t))
	_, overlaps := d.beginThread(t, k.start, end)
	d.w.name(firstOf(r.Name, r.BaseName, "unnamed call"))
	if r.API == "" {
		d.w.category(catAPI)
	} else {
		d.w.categoryOf(r.API)
	}
	d.w.argInt(argAPICallID, int64(r.ID))
	d.argDur(argResult, r.Result)
	d.w.argStr(argKernelName, r.KernelName)
	if r.Stream.OK {
		d.w.argUint(argStream, r.Stream.V)
	}
	d.argDim(argGrid, r.GridX, r.GridY, r.GridZ)
	d.argDim(argBlock, r.BlockX, r.BlockY, r.BlockZ)
	if r.Bytes.OK {
		d.w.argUint(argBytes, r.Bytes.V)
	}
	d.argDur(argCorrelationID, r.CorrelationID)
	d.callTail(t, how, d.m.reason(tabAPI, r.ID), overlaps, !r.StartNS.OK)
	d.flows(slotAPI, r.ID)
	d.w.end()
}

// argDim writes a grid or block as "432,1,1".
func (d *drawer) argDim(a arg, x, y, z correlate.OptUint) {
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
	d.w.argBytes(a, b)
}

func (d *drawer) drawIoctl(r *correlate.Ioctl, k *key) {
	t := d.m.thread(r.ProcessID, r.PID, r.TID)
	end, how := d.endOf(k.start, k.end, r.EndKind, procOf(t))
	on, overlaps := d.beginThread(t, k.start, end)
	if r.Name != "" {
		d.w.name(r.Name)
	} else {
		d.buf = appendCmd(append(d.buf[:0], "ioctl "...), r.Cmd)
		d.w.name(string(d.buf))
	}
	d.w.category(catIoctl)
	d.w.argInt(argIoctlID, int64(r.ID))
	d.w.argStr(argDevice, firstOf(d.deviceArg(r.DeviceID), r.Driver))
	d.buf = appendCmd(d.buf[:0], r.Cmd)
	d.w.argBytes(argCmd, d.buf)
	d.w.argStr(argRole, r.Role)
	d.argDur(argResult, r.Result)
	d.argDur(argErrno, r.Errno)
	if r.APICallID != 0 {
		d.w.argInt(argAPICallID, int64(r.APICallID))
	}
	d.callTail(t, how, d.m.reason(tabIoctl, r.ID), overlaps, !r.StartNS.OK)
	woken := d.m.wakeOf(r.ID)
	if woken == never {
		d.links(tabIoctl, r.ID, callLink)
	} else {
		d.links(tabIoctl, r.ID, apiLink)
	}
	d.flows(slotIoctl, r.ID)
	d.w.end()
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
	thread     *thread
	track      *track // of the wait
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
		b = appendPair(append(b, ' '), r.Context.V, r.Seqno.V)
	}
	d.buf = b
	d.w.nameOnce(b)
	d.w.category(catFenceWait)
	d.waitArgs(r)
	d.argDur(argWaitNS, r.WaitNS)
	d.argDur(argWakeNS, r.WakeNS)
	if sig := timeOf(r.SignalNS); sig != never && sig <= k.start {
		d.w.argTrue(argAlreadySignalled)
	}
	reason := d.m.reason(tabWait, r.ID)
	d.callTail(t, how, reason, overlaps, !r.StartNS.OK)
	if !overlaps && r.StartNS.OK && r.JobID == 0 {
		d.w.argStr(argUnmatchedReason, reason)
	}
	woken := info != nil && info.woken != never && info.woken < end
	if !woken {
		d.links(tabWait, r.ID, waitLink)
		d.flows(slotWait, r.ID)
	}
	d.w.end()
	if woken {
		d.announce(later{key: key{start: info.woken, end: end, class: classWake}, op: opWoken,
			wake: d.newWake(wake{thread: t, track: on, start: info.woken, end: end, r: *r})})
	}
}

// waitArgs writes what a wait and its wake both have.
func (d *drawer) waitArgs(r *correlate.FenceWait) {
	d.w.argInt(argFenceWaitID, int64(r.ID))
	d.argFence(argFence, r.Context, r.Seqno)
	if r.JobID == 0 {
		return
	}
	d.w.argInt(argJobID, int64(r.JobID))
	if j := d.m.jobs.get(r.JobID); j != nil && j.flags&jobPut != 0 {
		if j.flags&jobSched != 0 {
			d.w.argUint(argSchedJobID, j.sched)
		}
		d.w.argStr(argRing, j.ring.name)
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
	d.w.name("woken")
	d.w.category(catFenceWake)
	if k.ioctl != 0 {
		d.w.argInt(argIoctlID, int64(k.ioctl))
		d.w.argInt(argWakeNS, k.end-k.start)
		d.links(tabIoctl, k.ioctl, waitLink)
		d.flows(slotIoctlWoken, k.ioctl)
		d.w.end()
		return
	}
	d.waitArgs(&k.r)
	d.argDur(argWakeNS, k.r.WakeNS)
	d.links(tabWait, k.r.ID, waitLink)
	d.flows(slotWoken, k.r.ID)
	d.w.end()
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
	d.w.name(firstOf(r.Name, "unnamed"))
	d.w.categoryOf(firstOf(r.Category, "slice"))
	d.w.argInt(argSliceID, int64(r.ID))
	d.w.argText(argArgs, r.Args)
	how := ""
	if k.end == forever {
		how = "after_stop"
	}
	d.callTail(t, how, "", overlaps, !r.StartNS.OK)
	d.w.end()
}

// named returns the lanes of a track that the source names.
func (d *drawer) named(id correlate.ID, pid correlate.OptInt, dev correlate.ID, name string) *lanes {
	parent, where := (*track)(nil), ""
	if p := d.m.proc(id, pid); p != nil {
		parent, where = p.track, fmt.Sprintf("process/%d/%d", p.id, p.pid)
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
