package picture

import (
	"cmp"
	"strconv"

	"github.com/gpurec/gpurec/correlate"
)

// The rows that most slices come of, without what is not drawn: a tenth to a
// third of the size, and no pointers. Times are those of the drawing, cut to
// the window; threads and strings stand as numbers.

// marks say what is known of a row, and what was done to it.
type marks uint32

const (
	hasResult marks = 1 << iota
	hasErrno
	hasStream
	hasBytes
	hasCorrelation
	hasFence
	hasHWFence
	hasPID
	hasTID
	hasDelay
	hasHWQueue
	hasDevice
	hasError
	hasStart
	hasContext
	cutStart
	cutEnd
	low32 // of the fence

	hasWait = hasDelay
	hasWake = hasHWQueue
)

func (m marks) has(x marks) bool { return m&x != 0 }

// known is mark if ok.
func known(ok bool, mark marks) marks {
	if ok {
		return mark
	}
	return 0
}

// clipped tells which ends of a row lie outside of the window.
func (c *clip) clipped(start, end correlate.OptTime) marks {
	return known(start.OK && int64(start.V) < c.from, cutStart) | known(end.OK && int64(end.V) > c.to, cutEnd)
}

// when is where a row stands in the order of drawing: parents before children.
type when struct {
	start, end int64
	id         correlate.ID
	depth      int32
	thread     uint32 // its number; 0: none
}

func (a *when) compare(b *when) int {
	switch {
	case a.start != b.start:
		return cmp.Compare(a.start, b.start)
	case a.end != b.end:
		return cmp.Compare(b.end, a.end)
	case a.depth != b.depth:
		return cmp.Compare(a.depth, b.depth)
	}
	return cmp.Compare(a.id, b.id)
}

// apiRow is a [correlate.APICall].
type apiRow struct {
	when
	result      int64
	stream      uint64
	bytes       uint64
	correlation int64
	name, api   symbol
	kernel      symbol
	grid, block uint32 // numbers of dims
	marks       marks
	ending      ending
}

// ioctlRow is a [correlate.Ioctl].
type ioctlRow struct {
	when
	device        correlate.ID
	api           correlate.ID
	cmd           uint64
	result, errno int64
	name, role    symbol
	driver, text  symbol // text is cmd as it is shown
	marks         marks
	ending        ending
}

// waitRow is a [correlate.FenceWait].
type waitRow struct {
	when
	signal       int64 // never if it is not known
	job          correlate.ID
	context, seq uint64
	wait, wake   int64
	marks        marks
	cutWake      marks // of the part from the signal on
	ending       ending
}

// activityRow is a [correlate.GPUActivity].
type activityRow struct {
	when
	device, api     correlate.ID
	context, stream uint64
	bytes           uint64
	correlation     int64
	dur             int64
	process         uint32 // its number; 0: none
	kind, name      symbol
	grid, block     uint32 // numbers of dims
	marks           marks
}

// sliceRow is a [correlate.Slice]. Its arguments are text that hardly comes
// again.
type sliceRow struct {
	when
	device   correlate.ID
	process  uint32
	track    symbol
	category symbol
	name     symbol
	marks    marks
	args     string
}

// jobRow is a [correlate.Job]: what its jobInfo does not hold.
type jobRow struct {
	at                         int64 // first time that is known
	id, process, ioctl, api    correlate.ID
	pid, tid                   int64
	context, seq               uint64
	hwContext, hwSeq           uint64
	delay, hwQueue, deviceTime int64
	err                        int64
	queued, done, finished     int64 // as the source has them
	kernel, comm, ring         symbol
	marks                      marks
}

// wokenAt is where the part of a wait from the signal on begins, or never.
func (r *waitRow) wokenAt() int64 {
	if r.signal != never && r.start < r.signal && r.signal < r.end && r.end != forever {
		return r.signal
	}
	return never
}

// ending is how a row ended, as far as that is drawn.
type ending uint8

const (
	endedPlain ending = iota
	endedLost
	endedNotProbed
	endedEvicted
	endedKilled
)

var endingNames = [...]string{"", "lost", "not_probed", "evicted", "killed"}

func (e ending) String() string { return endingNames[e] }

func endingOf(kind string) ending {
	switch kind {
	case "lost":
		return endedLost
	case "not_probed":
		return endedNotProbed
	case "evicted":
		return endedEvicted
	case "killed":
		return endedKilled
	}
	return endedPlain
}

// number is that of a thread, or 0 for none.
func (t *Thread) number() uint32 {
	if t == nil {
		return 0
	}
	return t.n
}

func (p *Process) number() uint32 {
	if p == nil {
		return 0
	}
	return p.n
}

func (m *model) processAt(n uint32) *Process {
	if n == 0 {
		return nil
	}
	return m.procList[n-1]
}

// dimsAt is the grid or block of a number; of 0 nothing is known.
func (m *model) dimsAt(n uint32) dims {
	if n == 0 {
		return dims{}
	}
	return m.dimsList.value(n)
}

// threadAt is the thread of a number, or nil.
func (m *model) threadAt(n uint32) *Thread {
	if n == 0 {
		return nil
	}
	return m.threads[n-1]
}

func (pic *Picture) slimAPI(r *correlate.APICall, start, end int64, t *Thread) apiRow {
	m := pic.m
	return apiRow{
		when: when{start, end, r.ID, int32(min(r.Depth, 1<<19)), t.number()},
		name: m.symbols.of(firstOf(r.Name, r.BaseName, "unnamed call")), api: m.symbols.of(r.API), kernel: m.symbols.of(r.KernelName),
		grid: m.dims(r.GridX, r.GridY, r.GridZ), block: m.dims(r.BlockX, r.BlockY, r.BlockZ),
		result: r.Result.V, stream: r.Stream.V, bytes: r.Bytes.V, correlation: r.CorrelationID.V, ending: endingOf(r.EndKind),
		marks: known(r.Result.OK, hasResult) | known(r.Stream.OK, hasStream) | known(r.Bytes.OK, hasBytes) |
			known(r.CorrelationID.OK, hasCorrelation) | known(r.StartNS.OK, hasStart) | m.clip.clipped(r.StartNS, r.EndNS),
	}
}

func (pic *Picture) slimIoctl(r *correlate.Ioctl, start, end int64, t *Thread) ioctlRow {
	m := pic.m
	return ioctlRow{
		when: when{start, end, r.ID, 0, t.number()}, device: r.DeviceID, api: r.APICallID, cmd: r.Cmd,
		name: m.symbols.of(r.Name), role: m.symbols.of(r.Role), driver: m.symbols.of(r.Driver), text: m.cmdText(r.Cmd),
		result: r.Result.V, errno: r.Errno.V, ending: endingOf(r.EndKind),
		marks: known(r.Result.OK, hasResult) | known(r.Errno.OK, hasErrno) | known(r.StartNS.OK, hasStart) | m.clip.clipped(r.StartNS, r.EndNS),
	}
}

func (pic *Picture) slimWait(r *correlate.FenceWait, start, end int64, t *Thread) waitRow {
	m := pic.m
	return waitRow{
		when: when{start, end, r.ID, 0, t.number()}, signal: timeOf(r.SignalNS), job: r.JobID, context: r.Context.V, seq: r.Seqno.V,
		wait: r.WaitNS.V, wake: r.WakeNS.V, ending: endingOf(r.EndKind),
		marks: known(r.Context.OK && r.Seqno.OK, hasFence) | known(r.WaitNS.OK, hasWait) | known(r.WakeNS.OK, hasWake) |
			known(r.StartNS.OK, hasStart) | known(r.Low32, low32) | m.clip.clipped(r.StartNS, r.EndNS),
		cutWake: m.clip.clipped(r.SignalNS, r.EndNS),
	}
}

func (pic *Picture) slimActivity(r *correlate.GPUActivity, start, end int64, p *Process) activityRow {
	m := pic.m
	return activityRow{
		when: when{start: start, end: end, id: r.ID}, device: r.DeviceID, api: r.APICallID, process: p.number(),
		context: r.Context.V, stream: r.Stream.V, bytes: r.Bytes.V, correlation: r.CorrelationID.V, dur: r.DurNS.V,
		kind: m.symbols.of(r.Kind), name: m.symbols.of(r.Name),
		grid: m.dims(r.GridX, r.GridY, r.GridZ), block: m.dims(r.BlockX, r.BlockY, r.BlockZ),
		marks: known(r.Context.OK, hasContext) | known(r.Stream.OK, hasStream) | known(r.Bytes.OK, hasBytes) |
			known(r.CorrelationID.OK, hasCorrelation) | known(r.DurNS.OK, hasDelay) | m.clip.clipped(r.StartNS, r.EndNS),
	}
}

// row is what is kept of the row.
func (r *activityRow) row(m *model) *correlate.GPUActivity {
	grid, block := m.dimsAt(r.grid), m.dimsAt(r.block)
	g, b := grid.opts(), block.opts()
	return &correlate.GPUActivity{
		ID: r.id, DeviceID: r.device, APICallID: r.api, Kind: m.symbols.text(r.kind), Name: m.symbols.text(r.name),
		Context: optUint(r.context, r.marks.has(hasContext)), Stream: optUint(r.stream, r.marks.has(hasStream)),
		Bytes: optUint(r.bytes, r.marks.has(hasBytes)), CorrelationID: correlate.OptInt{V: r.correlation, OK: r.marks.has(hasCorrelation)},
		GridX: g[0], GridY: g[1], GridZ: g[2], BlockX: b[0], BlockY: b[1], BlockZ: b[2],
	}
}

func optUint(v uint64, ok bool) correlate.OptUint { return correlate.OptUint{V: v, OK: ok} }

func (pic *Picture) slimSlice(r *correlate.Slice, start, end int64, t *Thread, p *Process) sliceRow {
	m := pic.m
	return sliceRow{
		when: when{start, end, r.ID, int32(min(r.Depth, 1<<19)), t.number()}, device: r.DeviceID, process: p.number(),
		track: m.symbols.of(r.Track), category: m.symbols.of(firstOf(r.Category, "slice")), name: m.symbols.of(firstOf(r.Name, "unnamed")),
		args: r.Args, marks: known(r.StartNS.OK, hasStart) | m.clip.clipped(r.StartNS, r.EndNS),
	}
}

func (pic *Picture) slimJob(r *correlate.Job, at int64) jobRow {
	m := pic.m
	s := jobRow{
		at: at, id: r.ID, process: r.ProcessID, ioctl: r.IoctlID, api: r.APICallID, pid: r.PID.V, tid: r.TID.V,
		context: r.FenceContext.V, seq: r.FenceSeqno.V, hwContext: r.HWFenceContext.V, hwSeq: r.HWFenceSeqno.V,
		delay: r.QueueDelayNS.V, hwQueue: r.HWQueueNS.V, deviceTime: r.DeviceTimeNS.V, err: r.Error.V,
		queued: int64(r.QueuedNS.V), done: int64(r.DoneNS.V), finished: int64(r.FinishedNS.V),
		kernel: m.symbols.of(r.KernelName), comm: m.symbols.of(r.Comm), ring: m.symbols.of(r.Ring),
		marks: known(r.PID.OK, hasPID) | known(r.TID.OK, hasTID) | known(r.FenceContext.OK && r.FenceSeqno.OK, hasFence) |
			known(r.HWFenceContext.OK && r.HWFenceSeqno.OK, hasHWFence) | known(r.QueueDelayNS.OK, hasDelay) |
			known(r.HWQueueNS.OK, hasHWQueue) | known(r.DeviceTimeNS.OK, hasDevice) | known(r.Error.OK && r.Error.V != 0, hasError) | known(r.Low32, low32),
	}
	for _, x := range [...]correlate.OptTime{r.QueuedNS, r.RunNS, r.DeviceStartNS, r.DoneNS} {
		if v := timeOf(x); v != never {
			s.marks |= known(v < m.clip.from, cutStart) | known(v > m.clip.to, cutEnd)
		}
	}
	return s
}

// dims is a grid or a block, and its text, "432,1,1".
type dims struct {
	v     [3]uint64
	known [3]bool
	text  symbol
}

// dimsSlot is one that is remembered.
type dimsSlot struct {
	d dims
	n uint32
}

// dims returns the number of a grid or block, or 0 if x is not known.
func (m *model) dims(x, y, z correlate.OptUint) uint32 {
	if !x.OK {
		return 0
	}
	c := &m.sizes[(x.V*31+y.V*7+z.V)%uint64(len(m.sizes))]
	d := dims{v: [3]uint64{x.V, y.V, z.V}, known: [3]bool{x.OK, y.OK, z.OK}, text: c.d.text}
	if c.n == 0 || c.d != d {
		b := strconv.AppendUint(m.buf[:0], x.V, 10)
		for _, v := range [...]correlate.OptUint{y, z} {
			if v.OK {
				b = strconv.AppendUint(append(b, ','), v.V, 10)
			}
		}
		m.buf = b
		d.text = m.symbols.of(string(b))
		*c = dimsSlot{d, m.dimsList.add(d)}
	}
	return c.n
}

// opts is a grid or block as rows have it.
func (d *dims) opts() (o [3]correlate.OptUint) {
	for i := range o {
		o[i] = correlate.OptUint{V: d.v[i], OK: d.known[i]}
	}
	return o
}

// cmdSlot is a request number whose text is remembered.
type cmdSlot struct {
	cmd  uint64
	text symbol
}

// cmdText returns a request number as "0xc0306440".
func (m *model) cmdText(cmd uint64) symbol {
	c := &m.cmds[(cmd^cmd>>8)%uint64(len(m.cmds))]
	if c.text == 0 || c.cmd != cmd {
		m.buf = appendCmd(m.buf[:0], cmd)
		*c = cmdSlot{cmd, m.symbols.of(string(m.buf))}
	}
	return c.text
}
