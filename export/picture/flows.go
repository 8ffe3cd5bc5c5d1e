package picture

import "github.com/gpurec/gpurec/correlate"

// end is one end of a flow: a slice that is drawn, and when it starts.
type end struct {
	slot  slot
	id    correlate.ID
	start int64
	ok    bool
}

// planWakes finds, for ioctls that wait for jobs without a dma_fence_wait, when
// the last of the jobs finished: the start of their `woken`.
func (d *drawer) planWakes() {
	m := d.m
	if !m.ioctlsWait {
		return
	}
	for i := range m.links.n {
		l := m.links.value(i + 1)
		if l.srcT != tabJob || l.dstT != tabIoctl {
			continue
		}
		j, s := m.jobs.get(l.src), m.ioctls.get(l.dst)
		if j.flags&jobPut == 0 || !s.ok() || s.end() == forever {
			continue
		}
		sig := j.finished
		if sig == never {
			sig = j.done
		}
		if s.start < sig && sig < s.end() {
			// 0 is no wake: times are kept one higher.
			w := m.ioctlWake.put(l.dst)
			*w = max(*w, sig+1)
		}
	}
}

// wakeOf is the start of an ioctl's `woken`, or never.
func (m *model) wakeOf(id correlate.ID) int64 {
	if !m.ioctlsWait {
		return never
	}
	if w := m.ioctlWake.get(id); w != 0 {
		return w - 1
	}
	return never
}

// mayFlow reports whether an arrow may come of a link.
func (m *model) mayFlow(l *link) bool {
	switch l.srcT {
	case tabAPI:
		return l.dstT == tabIoctl || l.dstT == tabActivity
	case tabIoctl:
		return l.dstT == tabJob
	case tabJob:
		m.ioctlsWait = m.ioctlsWait || l.dstT == tabIoctl
		return l.dstT == tabWait || l.dstT == tabIoctl ||
			l.dstT == tabJob && l.src == l.dst && m.words[l.rule] == ruleJobRun
	}
	return false
}

// planFlows decides which links are arrows: those whose two slices are drawn.
func (d *drawer) planFlows() {
	m := d.m
	for i := range m.links.n {
		l := m.links.value(i + 1)
		if !m.mayFlow(&l) {
			continue
		}
		from, to, ok := m.flowEnds(&l)
		switch {
		case ok:
			m.flows++
			p := m.links.at(i + 1)
			p.from, p.to, p.flow = from.slot, to.slot, m.flows
		case from.ok && to.ok && to.slot != slotWait: // a wait may begin before its job and never end
			m.counters.Add(&AnomalyBackwards, 1)
		}
	}
}

// flowEnds resolves a link to slices. ok is false if one is not drawn, or the
// arrow would point back in time: Perfetto directs it by the starts, and readers
// of JSON by what comes first.
func (m *model) flowEnds(l *link) (from, to end, ok bool) {
	switch {
	case l.srcT == tabAPI && l.dstT == tabIoctl:
		from, to = m.spanEnd(slotAPI, &m.apis, l.src), m.spanEnd(slotIoctl, &m.ioctls, l.dst)
	case l.srcT == tabAPI && l.dstT == tabActivity:
		from, to = m.spanEnd(slotAPI, &m.apis, l.src), m.spanEnd(slotActivity, &m.activities, l.dst)
	case l.srcT == tabIoctl && l.dstT == tabJob:
		from, to = m.spanEnd(slotIoctl, &m.ioctls, l.src), m.jobHead(l.dst)
	case l.srcT == tabJob && l.dstT == tabJob && l.src == l.dst && m.words[l.rule] == ruleJobRun:
		from, to = m.jobEnd(slotQueued, l.src), m.jobEnd(slotRunning, l.dst)
	case l.srcT == tabJob && l.dstT == tabWait:
		from, to = m.jobTail(l.src), m.waitEnd(l.dst)
	case l.srcT == tabJob && l.dstT == tabIoctl:
		from, to = m.jobTail(l.src), m.ioctlWaitEnd(l.dst)
	}
	ok = from.ok && to.ok && (from.start < to.start || from.start == to.start && m.comesFirst(from, to))
	return from, to, ok
}

// slotClass is the class of a slice in the order of drawing.
var slotClass = [numSlots]uint8{
	slotAPI: classCall, slotIoctl: classCall, slotIoctlWoken: classWake, slotQueued: classQueued,
	slotRunning: classRunning, slotWait: classWait, slotWoken: classWake, slotActivity: classRunning,
}

// comesFirst reports whether, of two slices that start at once, a is drawn first.
func (m *model) comesFirst(a, b end) bool {
	if x, y := slotClass[a.slot], slotClass[b.slot]; x != y {
		return x < y
	}
	return a.slot == slotAPI && b.slot == slotIoctl && m.apis.get(a.id).end() >= m.ioctls.get(b.id).end()
}

// The rules by which a job's own events are joined.
const (
	ruleJobRun   = "job-run"
	ruleJobDone  = "job-done"
	ruleJobFence = "job-fence"
)

func (m *model) spanEnd(s slot, t *table[span], id correlate.ID) end {
	p := t.get(id)
	if !p.ok() {
		return end{}
	}
	return end{s, id, p.start, true}
}

func (m *model) jobEnd(s slot, id correlate.ID) end {
	j := m.jobs.get(id)
	switch {
	case s == slotQueued && j.flags&jobQueued != 0:
		return end{s, id, j.queued, true}
	case s == slotRunning && j.flags&jobRunning != 0:
		return end{s, id, j.start, true}
	}
	return end{}
}

// jobHead is a job's first slice, jobTail its last.
func (m *model) jobHead(id correlate.ID) end {
	if e := m.jobEnd(slotQueued, id); e.ok {
		return e
	}
	return m.jobEnd(slotRunning, id)
}

func (m *model) jobTail(id correlate.ID) end {
	if e := m.jobEnd(slotRunning, id); e.ok {
		return e
	}
	return m.jobEnd(slotQueued, id)
}

func (m *model) waitEnd(id correlate.ID) end {
	w := m.waits.get(id)
	switch {
	case !w.ok:
		return end{}
	case w.woken != 0:
		return end{slotWoken, id, w.wokenAt(), true}
	}
	return end{slotWait, id, w.start, true}
}

func (m *model) ioctlWaitEnd(id correlate.ID) end {
	if w := m.wakeOf(id); w != never {
		return end{slotIoctlWoken, id, w, true}
	}
	return m.spanEnd(slotIoctl, &m.ioctls, id)
}

// flows writes the ends of arrows that a slice of a row is.
func (d *drawer) flows(r *rowLinks, s slot) {
	for i := range r.to {
		if l := &r.to[i]; l.flow != 0 && l.slot == s {
			d.pen.Flow(Flow{ID: uint64(l.flow), Rule: d.m.wordOf(l.rule), Into: true})
		}
	}
	for i := range r.from {
		if l := &r.from[i]; l.slot == s {
			d.pen.Flow(Flow{ID: uint64(l.flow), Rule: d.m.wordOf(l.rule)})
		}
	}
}
