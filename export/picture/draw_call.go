package picture

import (
	"github.com/gpurec/gpurec/correlate"
)

// endOf is where a slice is drawn to: a row that was not seen to end ends with
// the trace, or with its process if that killed it. how is the argument `end`.
func (d *drawer) endOf(start, end int64, kind ending, p *Process) (at int64, how string) {
	if end != forever {
		if kind == endedKilled {
			return end, ""
		}
		return end, kind.String()
	}
	if kind == endedKilled && p != nil && p.end != never && (p.end >= start || start == d.m.clip.from) {
		return max(min(p.end, d.m.clip.to), start), kind.String()
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

func (d *drawer) drawAPI(r *apiRow, _ *key) {
	t := d.m.threadAt(r.thread)
	end, how := d.endOf(r.start, r.end, r.ending, procOf(t))
	_, overlaps := d.beginThread(t, r.start, end)
	s := &d.m.symbols
	d.pen.Name(s.text(r.name))
	if r.api == 0 {
		d.pen.Category(catAPI)
	} else {
		d.pen.CategoryText(s.text(r.api))
	}
	d.pen.Int(argAPICallID, int64(r.id))
	d.argIf(argResult, r.marks.has(hasResult), r.result)
	d.argSymbol(argKernelName, r.kernel)
	if r.marks.has(hasStream) {
		d.pen.Uint(argStream, r.stream)
	}
	d.argDims(argGrid, r.grid)
	d.argDims(argBlock, r.block)
	if r.marks.has(hasBytes) {
		d.pen.Uint(argBytes, r.bytes)
	}
	d.argIf(argCorrelationID, r.marks.has(hasCorrelation), r.correlation)
	d.argCut(r.marks)
	if d.stages != nil {
		d.stages.Submits(s.text(r.api), d.submits(r.id))
	}
	d.alsoIn(tabAPI, r.id)
	d.callTail(t, how, d.m.reason(tabAPI, r.id), overlaps, !r.marks.has(hasStart))
	d.flows(d.m.linksOf(tabAPI, r.id), slotAPI)
	d.pen.Done()
}

// argIf writes a number that may not be known.
func (d *drawer) argIf(a Arg, ok bool, v int64) {
	if ok {
		d.pen.Int(a, v)
	}
}

func (d *drawer) argSymbol(a Arg, n symbol) {
	if n != 0 {
		d.pen.Str(a, d.m.symbols.text(n))
	}
}

// argDims writes a grid or block.
func (d *drawer) argDims(a Arg, n uint32) {
	if n != 0 {
		d.argSymbol(a, d.m.dimsAt(n).text)
	}
}

func (d *drawer) drawIoctl(r *ioctlRow, _ *key) {
	t := d.m.threadAt(r.thread)
	end, how := d.endOf(r.start, r.end, r.ending, procOf(t))
	on, overlaps := d.beginThread(t, r.start, end)
	if r.name != 0 {
		d.pen.Name(d.m.symbols.text(r.name))
	} else {
		d.buf = appendCmd(append(d.buf[:0], "ioctl "...), r.cmd)
		d.pen.Name(string(d.buf))
	}
	d.pen.Category(catIoctl)
	d.pen.Int(argIoctlID, int64(r.id))
	if dev := d.deviceArg(r.device); dev != "" {
		d.pen.Str(argDevice, dev)
	} else {
		d.argSymbol(argDevice, r.driver)
	}
	d.argSymbol(argCmd, r.text)
	d.argSymbol(argRole, r.role)
	d.argIf(argResult, r.marks.has(hasResult), r.result)
	d.argIf(argErrno, r.marks.has(hasErrno), r.errno)
	d.argCut(r.marks)
	if api := d.m.drawnAs(tabAPI, r.api); d.m.apis.get(api).ok() {
		d.pen.Int(argAPICallID, int64(api))
	}
	d.callTail(t, how, d.m.reason(tabIoctl, r.id), overlaps, !r.marks.has(hasStart))
	woken := d.m.wakeOf(r.id)
	links := d.m.linksOf(tabIoctl, r.id)
	if woken == never {
		d.links(links.to, callLink)
	} else {
		d.links(links.to, apiLink)
	}
	d.flows(links, slotIoctl)
	d.pen.Done()
	if w := woken; w != never && w < end {
		d.announceWake(wake{thread: t, track: on, start: w, end: end, ioctl: r.id})
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
	if id == 0 {
		return ""
	}
	c := &d.devArgs[uint64(id)%uint64(len(d.devArgs))]
	if c.id != id {
		*c = devArg{id: id}
		if v := d.m.devices[id]; v != nil {
			c.arg = v.arg
		}
	}
	return c.arg
}

// devArg is how a device is named, found before.
type devArg struct {
	id  correlate.ID
	arg string
}

// wake is a `woken` to come.
type wake struct {
	thread     *Thread
	track      *Track // of the wait
	start, end int64
	ioctl      correlate.ID // of an ioctl that waits by itself; else 0
	r          waitRow
}

func (d *drawer) drawWait(r *waitRow, _ *key) {
	t := d.m.threadAt(r.thread)
	end, how := d.endOf(r.start, r.end, r.ending, procOf(t))
	on, overlaps := d.beginThread(t, r.start, end)
	b := append(d.buf[:0], "wait fence"...)
	if r.marks.has(hasFence) {
		b = AppendPair(append(b, ' '), r.context, r.seq)
	}
	d.buf = b
	d.pen.NameOnce(b)
	d.pen.Category(catFenceWait)
	d.waitArgs(r)
	d.argIf(argWaitNS, r.marks.has(hasWait), r.wait)
	d.argIf(argWakeNS, r.marks.has(hasWake), r.wake)
	d.argCut(r.marks)
	if r.signal != never && r.signal <= r.start {
		d.pen.True(argAlreadySignalled)
	}
	reason := d.m.reason(tabWait, r.id)
	d.callTail(t, how, reason, overlaps, !r.marks.has(hasStart))
	if !overlaps && r.marks.has(hasStart) && r.job == 0 {
		d.pen.Str(argUnmatchedReason, reason)
	}
	at := r.wokenAt()
	woken := at != never && at < end
	if !woken {
		links := d.m.linksOf(tabWait, r.id)
		d.links(links.to, waitLink)
		d.flows(links, slotWait)
	}
	d.pen.Done()
	if woken {
		d.announceWake(wake{thread: t, track: on, start: at, end: end, r: *r})
	}
}

// waitArgs writes what a wait and its wake both have.
func (d *drawer) waitArgs(r *waitRow) {
	d.pen.Int(argFenceWaitID, int64(r.id))
	if r.marks.has(hasFence) {
		d.pen.Pair(argFence, r.context, r.seq)
	}
	if r.marks.has(low32) {
		d.pen.True(argLow32)
	}
	if r.job == 0 {
		return
	}
	d.pen.Int(argJobID, int64(r.job))
	if j := d.m.jobs.get(r.job); j.flags&jobPut != 0 {
		if j.flags&jobSched != 0 {
			d.pen.Uint(argSchedJobID, j.sched)
		}
		d.pen.Str(argRing, d.m.ringOf(&j).name)
	}
}

func (d *drawer) announceWake(k wake) {
	p, i := d.wakes.take()
	*p = k
	d.announce(later{key: key{start: k.start, end: k.end, class: classWake}, op: opWoken, ref: i})
}

func (d *drawer) drawWoken(k *wake) {
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
		links := d.m.linksOf(tabIoctl, k.ioctl)
		d.links(links.to, waitLink)
		d.flows(links, slotIoctlWoken)
	} else {
		r := &k.r
		d.waitArgs(r)
		d.argIf(argWakeNS, r.marks.has(hasWake), r.wake)
		d.argCut(r.cutWake)
		links := d.m.linksOf(tabWait, r.id)
		d.links(links.to, waitLink)
		d.flows(links, slotWoken)
	}
	d.pen.Done()
}

func (d *drawer) drawSlice(r *sliceRow, _ *key) {
	t := d.m.threadAt(r.thread)
	end := d.clip(r.start, r.end)
	overlaps := false
	if r.track == 0 {
		_, overlaps = d.beginThread(t, r.start, end)
	} else {
		l := d.named(d.m.processAt(r.process), r.device, d.m.symbols.text(r.track))
		d.begin(l.track(l.take(r.start, end)), r.start, end)
	}
	d.pen.Name(d.m.symbols.text(r.name))
	d.pen.CategoryText(d.m.symbols.text(r.category))
	d.pen.Int(argSliceID, int64(r.id))
	d.pen.Text(argArgs, r.args)
	d.argCut(r.marks)
	how := ""
	if r.end == forever {
		how = "after_stop"
	}
	d.callTail(t, how, "", overlaps, !r.marks.has(hasStart))
	d.pen.Done()
}

// namedTrack is a track that the source names, below its process or device.
type namedTrack struct {
	process *Process
	device  correlate.ID
	name    string
}

// named returns the lanes of a track that the source names.
func (d *drawer) named(p *Process, dev correlate.ID, name string) *lanes {
	k, parent := namedTrack{name: name}, (*Track)(nil)
	if p != nil {
		k.process, parent = p, p.track
	} else if v := d.m.devices[dev]; v != nil && dev != 0 {
		k.device, parent = dev, v.track
	}
	l := d.tracks[k]
	if l == nil {
		l = &lanes{parent: parent, name: name, rank: 50}
		d.tracks[k] = l
	}
	return l
}
