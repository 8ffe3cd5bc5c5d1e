package report

import (
	"fmt"
	"slices"
	"strings"
)

// tables returns the tables of the text form, the most wanted first.
func (r *Report) tables() []*table {
	return []*table{r.ringTable(), r.idleTable(), r.stageTable(), r.submissionTable(), r.kernelTable(), r.processTable(),
		r.activityTable(), r.apiTable(), r.ioctlTable(), r.failedTable(), r.waitTable(), r.interruptTable(), r.unmatchedTable()}
}

// barHead marks the column of bars: µ, m and s stand where 1 µs, 1 ms and 1 s
// begin (1.024, 1.049, 1.074, as each bar is twice a doubling).
const barHead = " µ    m    s "

// bars draws a histogram: a bar for each fourfold of time from 1 µs to 17 s,
// the first and the last for what lies outside.
func bars(h []Bucket) string {
	const steps = "▁▂▃▄▅▆▇█"
	var n [14]uint64
	var most uint64
	for _, b := range h {
		k := 0
		for t := uint64(1 << 10); k < len(n)-1 && uint64(b.FromNS) >= t; t <<= 2 {
			k++
		}
		n[k] += b.Count
		most = max(most, n[k])
	}
	var out strings.Builder
	for _, c := range n {
		if c == 0 {
			out.WriteByte(' ')
			continue
		}
		s := []rune(steps)
		out.WriteRune(s[(c*uint64(len(s))-1)/most])
	}
	return strings.TrimRight(out.String(), " ")
}

func (r *Report) quantiles(s *Stats) []string {
	if s.Count == 0 {
		return []string{"-", "-", "-", "-"}
	}
	return []string{r.dur(s.P50NS), r.dur(s.P90NS), r.dur(s.P99NS), r.dur(s.MaxNS)}
}

func (r *Report) total(s *Stats) string {
	if s.Count == 0 {
		return "-"
	}
	return r.dur(s.SumNS)
}

// shortGPU names a GPU in a table.
func shortGPU(s string) string {
	if s == "" {
		return "unknown"
	}
	return clipTo(clean(s), 22)
}

func (r *Report) ringTable() *table {
	t := &table{title: "GPU rings (busy: a job is on the hardware; most jobs at once in the queue, handed over, and both)", text: 2,
		head: []string{"GPU", "ring", "jobs", "done", "most queued", "in flight", "both", "busy", "idle", "busy %"}}
	for i := range r.Rings {
		x := &r.Rings[i]
		if x.Jobs == 0 {
			continue // a device without rings: it is here for its idle time
		}
		t.rows = append(t.rows, []string{shortGPU(x.GPU), orUnknown(x.Ring), num(x.Jobs), num(x.Done), num(x.MaxQueued), num(x.MaxInFlight), num(x.MaxBacklog), r.dur(x.BusyNS), r.dur(x.IdleNS), percent(x.BusyNS, x.BusyNS+x.IdleNS)})
	}
	return t
}

func (r *Report) stageTable() *table {
	t := &table{title: "Stages of jobs (submit: call to queued, queue: to handed over, depend: part of it for other jobs, hw queue: to start)", text: 3,
		head: []string{"GPU", "ring", "stage", "jobs", "p50", "p90", "p99", "max", barHead}}
	for i := range r.Rings {
		x := &r.Rings[i]
		for _, s := range []struct {
			name string
			*Stats
		}{{"submit", &x.SubmitLatency}, {"queue", &x.QueueDelay}, {"depend", &x.DepWait}, {"hw queue", &x.HWQueue}, {"device", &x.DeviceTime}, {"signal", &x.SignalLatency}} {
			if s.Count > 0 {
				row := append([]string{shortGPU(x.GPU), clipTo(orUnknown(x.Ring), 16), s.name, num(int64(s.Count))}, r.quantiles(s.Stats)...)
				t.rows = append(t.rows, append(row, bars(s.Histogram)))
			}
		}
	}
	return t
}

func (r *Report) idleTable() *table {
	t := &table{title: "Why GPUs stood idle (nothing submitted: what its submitter did most)", text: 3, head: []string{"GPU", "ring", "cause", "gaps", "time", "of idle %", "longest"}}
	for i := range r.Rings {
		x := &r.Rings[i]
		ring := orUnknown(x.Ring)
		if x.Jobs == 0 && x.Ring == "" {
			ring = "-"
		}
		var sum int64
		for _, c := range x.IdleByCause {
			sum += c.SumNS
		}
		untold := r.idleUntold(x, sum)
		sum += untold
		for _, c := range x.IdleByCause {
			cause := words(c.Cause)
			if w := c.SubmitterWas; len(w) > 0 && w[0].What != "" {
				cause += ": " + clipTo(clean(w[0].What), 30)
			}
			t.rows = append(t.rows, []string{shortGPU(x.GPU), ring, cause, num(c.Count), r.dur(c.SumNS), percent(c.SumNS, sum), r.dur(c.MaxNS)})
		}
		if untold > 0 {
			t.rows = append(t.rows, []string{shortGPU(x.GPU), ring, "not known: launch not recorded", "-", r.dur(untold), percent(untold, sum), "-"})
		}
	}
	return t
}

// idleUntold is for how long a GPU without rings, known by its activities, was
// idle beside the gaps whose cause is known: nothing tells what the work after
// the others was launched by.
func (r *Report) idleUntold(x *Ring, known int64) int64 {
	if x.Jobs > 0 || x.Ring != "" {
		return 0
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		if d.MeasuredBy == byActivities && id(d.DeviceID) == id(x.DeviceID) && !d.Approx {
			return max(*d.LastNS-*d.FirstNS-d.BusyNS-known, 0)
		}
	}
	return 0
}

func (r *Report) submissionTable() *table {
	t := &table{title: "Time between submissions (late: intervals of at least 1.5 medians and 1 ms more than one)", text: 4,
		head: []string{"GPU", "ring", "process", "of", "intervals", "p50", "p99", "max", "late", barHead}}
	for i := range r.Submissions {
		s := &r.Submissions[i]
		if s.Intervals.Count == 0 {
			continue
		}
		gpu, ring, one := shortGPU(s.GPU), clipTo(orUnknown(s.Ring), 16), "job"
		if s.MeasuredBy == byCalls {
			gpu, ring, one = "-", "-", "call"
		}
		for _, x := range []struct {
			what string
			*Regularity
		}{{one, &s.Regularity}, {"burst", s.Bursts}} {
			if x.Regularity != nil {
				v := &x.Intervals
				t.rows = append(t.rows, []string{gpu, ring, processName(s.Process, s.PID), x.what, num(int64(v.Count)),
					r.dur(v.P50NS), r.dur(v.P99NS), r.dur(v.MaxNS), num(int64(x.Outliers)), bars(v.Histogram)})
			}
		}
	}
	return t
}

func share(p *float64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100**p)
}

func (r *Report) kernelTable() *table {
	t := &table{title: "GPU functions (kernels) by time", text: 1,
		head: []string{"function", "runs", "time", "share %", "p50", "p99", "max", barHead}}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		q := r.quantiles(&k.Time)
		t.rows = append(t.rows, []string{"", num(int64(k.Launches)), r.total(&k.Time), share(k.Share), q[0], q[2], q[3], bars(k.Time.Histogram)})
	}
	const jobs = " (jobs)"
	list := r.Kernels[:min(len(r.Kernels), maxRows)]
	room := max(t.room(0), 38)
	if slices.ContainsFunc(list, func(k Kernel) bool { return k.MeasuredBy == byJobs }) {
		room -= len(jobs)
	}
	for i, name := range kernelNames(list, room) {
		if list[i].MeasuredBy == byJobs {
			name += jobs
		}
		t.rows[i][0] = name
	}
	for i := len(list); i < len(t.rows); i++ {
		t.rows[i][0] = kernelName(r.Kernels[i].Name, room)
	}
	return t
}

func (r *Report) processTable() *table {
	t := &table{title: "GPU time by process", text: 3, head: []string{"process", "GPU", "measured by", "pieces", "time", "share of GPU %"}}
	if len(r.Processes) < 2 {
		return t
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		t.rows = append(t.rows, []string{processName(p.Process, p.PID), shortGPU(p.GPU), words(p.MeasuredBy), num(int64(p.Count)), r.dur(p.SumNS), share(p.Share)})
	}
	return t
}

func (r *Report) activityTable() *table {
	t := &table{title: "Work on the device", text: 1, head: []string{"kind", "count", "time", "p50", "p90", "p99", "max", barHead}}
	for i := range r.Activities {
		a := &r.Activities[i]
		row := append([]string{clean(a.Kind), num(int64(a.Time.Count)), r.dur(a.Time.SumNS)}, r.quantiles(&a.Time)...)
		t.rows = append(t.rows, append(row, bars(a.Time.Histogram)))
	}
	if s := &r.LaunchDelay; s.Count > 0 {
		row := append([]string{"launch delay", num(int64(s.Count)), "-"}, r.quantiles(s)...)
		t.rows = append(t.rows, append(row, bars(s.Histogram)))
	}
	return t
}

func (r *Report) apiTable() *table {
	t := &table{title: "API calls by time" + r.blockingNote(), text: 2,
		head: []string{"function", "waits", "calls", "time", "p50", "p99", "max", "failed", "no return", barHead}}
	for i := range r.API {
		a := &r.API[i]
		waits := "?"
		if a.Blocking != nil {
			waits = map[bool]string{true: "yes", false: "no"}[*a.Blocking]
		}
		q := r.quantiles(&a.Time)
		t.rows = append(t.rows, []string{clipTo(orUnknown(a.Name), 30), waits, num(int64(a.Calls)), r.total(&a.Time), q[0], q[2], q[3], num(int64(a.Failed)), num(int64(a.Open)), bars(a.Time.Histogram)})
	}
	return t
}

// blockingNote says how much of the time in calls went by waiting.
func (r *Report) blockingNote() string {
	var self, waiting int64
	for i := range r.APIProcesses {
		self += r.APIProcesses[i].SelfNS
		waiting += r.APIProcesses[i].BlockingNS
	}
	if self <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%s in all threads, %s %% of it in functions that wait by their nature)", r.dur(self), percent(waiting, self))
}

func (r *Report) ioctlTable() *table {
	t := &table{title: "Ioctls by time", text: 3, head: []string{"driver", "name", "role", "calls", "failed", "time", "p50", "p99", "max", barHead}}
	for i := range r.Ioctls {
		a := &r.Ioctls[i]
		q := r.quantiles(&a.Time)
		t.rows = append(t.rows, []string{clipTo(orUnknown(a.Driver), 12), clipTo(orUnknown(a.Name), 32), a.Role, num(int64(a.Calls)), num(int64(a.Failed)), r.total(&a.Time), q[0], q[2], q[3], bars(a.Time.Histogram)})
	}
	return t
}

func (r *Report) failedTable() *table {
	t := &table{title: "Failed ioctls", text: 3, head: []string{"driver", "name", "error", "count"}}
	for i := range r.FailedIoctls {
		a := &r.FailedIoctls[i]
		what := ""
		if a.Errno != nil {
			what = fmt.Sprintf("%s (%d)", a.Error, *a.Errno)
		}
		if a.Status != nil && *a.Status != 0 {
			what = strings.TrimSpace(fmt.Sprintf("%s status 0x%x", what, *a.Status))
		}
		t.rows = append(t.rows, []string{orUnknown(a.Driver), orUnknown(a.Name), what, num(int64(a.Count))})
	}
	return t
}

func (r *Report) waitTable() *table {
	t := &table{title: "Waits for fences (wake-up: from the signal until the thread ran)", text: 1, head: []string{"", "count", "time", "p50", "p90", "p99", "max", "timed out", barHead}}
	for _, s := range []struct {
		name, sum, timeouts string
		*Stats
	}{{"wait", r.dur(r.FenceWaits.SumNS), num(int64(r.WaitsTimeout)), &r.FenceWaits}, {"wake-up", "-", "", &r.Wake}} {
		if s.Count > 0 {
			row := append([]string{s.name, num(int64(s.Count)), s.sum}, r.quantiles(s.Stats)...)
			t.rows = append(t.rows, append(row, s.timeouts, bars(s.Histogram)))
		}
	}
	return t
}

func (r *Report) interruptTable() *table {
	t := &table{title: "Interrupts of GPUs", text: 3, head: []string{"GPU", "driver", "handler", "count", "a second", "p50", "p99", "max", barHead}}
	for i := range r.Interrupts {
		x := &r.Interrupts[i]
		rate, q := "-", r.quantiles(&x.Time)
		if x.PerSecond != nil {
			rate = fmt.Sprintf("%.1f", *x.PerSecond)
		}
		t.rows = append(t.rows, []string{shortGPU(x.GPU), clipTo(orUnknown(x.Driver), 12), clipTo(orUnknown(x.Name), 24), num(int64(x.Count)), rate, q[0], q[2], q[3], bars(x.Time.Histogram)})
	}
	return t
}

func (r *Report) unmatchedTable() *table {
	t := &table{title: "Rows without a partner, and why", text: 3, head: []string{"rows of", "lack", "because", "count"}}
	for i := range r.Unmatched {
		u := &r.Unmatched[i]
		t.rows = append(t.rows, []string{u.Table, u.Link, words(u.Reason), num(int64(u.Count))})
	}
	return t
}
