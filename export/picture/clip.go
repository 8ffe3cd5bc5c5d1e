package picture

import "github.com/gpurec/gpurec/correlate"

// clip is the window that is drawn: what overlaps an edge is cut there.
type clip struct {
	from, to int64
}

// span cuts a span. An end that was not seen stays so: it is the end of what
// is drawn in any case.
func (c *clip) span(s, e int64, ok bool) (int64, int64, bool) {
	if !ok {
		return s, e, ok
	}
	s = c.time(s)
	if e != forever {
		e = max(c.time(e), s)
	}
	return s, e, true
}

func (c *clip) time(t int64) int64 { return min(max(t, c.from), c.to) }

// known is time for one that may not be known.
func (c *clip) known(t int64) int64 {
	if t == never {
		return t
	}
	return c.time(t)
}

func (c *clip) api(r *correlate.APICall) (s, e int64, ok bool) {
	return c.span(rowSpan(r.StartNS, r.EndNS, r.EndKind))
}

func (c *clip) ioctl(r *correlate.Ioctl) (s, e int64, ok bool) {
	return c.span(rowSpan(r.StartNS, r.EndNS, r.EndKind))
}

func (c *clip) wait(r *correlate.FenceWait) (s, e int64, ok bool) {
	return c.span(rowSpan(r.StartNS, r.EndNS, r.EndKind))
}

func (c *clip) activity(r *correlate.GPUActivity) (s, e int64, ok bool) {
	return c.span(rowSpan(r.StartNS, r.EndNS, "lost"))
}

func (c *clip) slice(r *correlate.Slice) (s, e int64, ok bool) {
	return c.span(rowSpan(r.StartNS, r.EndNS, ""))
}

func (c *clip) loss(r *correlate.Loss) (s, e int64, ok bool) {
	return c.span(rowSpan(r.StartNS, r.EndNS, "lost"))
}

func (c *clip) gap(r *correlate.IdleGap) (s, e int64, ok bool) {
	return c.span(rowSpan(r.StartNS, r.EndNS, "lost"))
}

// job is the first time that is known of a job.
func (c *clip) job(r *correlate.Job) (s int64, ok bool) {
	s = forever
	for _, t := range []correlate.OptTime{r.QueuedNS, r.DeviceStartNS, r.RunNS} {
		if v := timeOf(t); v != never {
			s, ok = min(s, v), true
		}
	}
	if ok {
		s = c.time(s)
	}
	return s, ok
}

// jobTimes cuts the times of a job. What comes after the window is not seen, as
// if the recording had ended there.
func (c *clip) jobTimes(j *jobInfo) {
	late := false
	for _, t := range []*int64{&j.run, &j.start, &j.done, &j.finished} {
		if *t != never && *t > c.to {
			*t, late = never, true
		}
	}
	if late && j.done == never && j.finished == never {
		j.flags = j.flags&^jobLost | jobOpen
	}
	for _, t := range []*int64{&j.queued, &j.run, &j.start, &j.done, &j.finished} {
		*t = c.known(*t)
	}
}

// argClip says which ends of a slice were cut.
func (d *drawer) argClip(start, end correlate.OptTime) {
	d.argCut(d.m.clip.clipped(start, end))
}

func (d *drawer) argCut(m marks) {
	switch m & (cutStart | cutEnd) {
	case cutStart | cutEnd:
		d.pen.Str(argClipped, "both")
	case cutStart:
		d.pen.Str(argClipped, "start")
	case cutEnd:
		d.pen.Str(argClipped, "end")
	}
}
