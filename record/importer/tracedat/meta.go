package tracedat

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/importer"
)

// describe fills in what the head of the file says.
func (r *reader) describe(o importer.Options) {
	f, m := &r.f, &r.meta
	m.Format = "trace-dat"
	m.Clock = r.clock(o)
	m.Host.CPUs = int(f.opt.cpus)
	// "Linux host 6.12.1-amd64 x86_64"
	if w := strings.Fields(f.opt.uname); len(w) >= 4 {
		m.Host.Name, m.Host.Kernel, m.Host.Machine = w[1], w[2], w[len(w)-1]
	}
	fact := func(key, val string) { m.Facts = append(m.Facts, event.Fact{Key: key, Value: val}) }
	fact("trace_dat_version", strconv.Itoa(f.version))
	if f.algorithm != "" {
		fact("compression", f.algorithm)
	}
	for _, us := range f.opt.date {
		fact("realtime_offset_ns", strconv.FormatInt(us*1000, 10))
	}
	m.Facts = append(m.Facts, f.opt.facts...)
	if f.times.offset != 0 || f.times.mult != 0 || len(f.times.host) > 0 {
		r.count.Add(&AnomalyTimesCorrected, 1)
	}
}

// clock names the clock: that of the top buffer, else of the first instance
// with pages, else the file's; trace-cmd records all of a file with one.
func (r *reader) clock(o importer.Options) event.Clock {
	texts := [][]byte{r.f.opt.clock}
	for i := range r.f.buffers {
		texts = append(texts, []byte(r.f.buffers[i].clock))
	}
	for _, t := range texts {
		c, ns := ftrace.ParseClock(t)
		if c == "" {
			continue
		}
		if !ns && r.f.times.mult == 0 {
			r.count.AddAt(&ftrace.AnomalyRawClock, 1, string(c))
		}
		return c
	}
	if o.Clock != "" {
		return o.Clock
	}
	return event.ClockUnknown
}

// snapshot relates the trace clock to real time at t, if an option DATE does.
func (r *reader) snapshot(t event.Time) {
	if len(r.f.opt.date) == 0 || !t.Known() {
		return
	}
	var s event.ClockSnapshot
	switch r.meta.Clock {
	case event.ClockMonotonic:
		s.Monotonic = t
	case event.ClockMonotonicRaw:
		s.MonotonicRaw = t
	case event.ClockBoottime:
		s.Boottime = t
	default:
		return
	}
	s.Realtime = t
	for _, us := range r.f.opt.date {
		s.Realtime += event.Time(us * 1000)
	}
	r.meta.Snapshots = append(r.meta.Snapshots, s)
}
