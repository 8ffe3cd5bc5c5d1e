package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/symbol"
)

func (b *Builder) stutter() []Finding {
	var out []Finding
	for i := range b.rep.Submissions {
		s := &b.rep.Submissions[i]
		x, what, view, most := &s.Regularity, "a job", "report_submission_intervals", stutterShare
		if s.MeasuredBy == byCalls {
			what = "work"
		}
		switch {
		case s.Bursts != nil && s.Bursts.Intervals.Count >= stutterLeast:
			x, what, view, most = s.Bursts, "a burst of jobs", "report_burst_intervals", stutterBursts
			if s.MeasuredBy == byCalls {
				what = "a burst of work"
			}
		case s.Intervals.P50NS < burstMedian && s.Periodic:
			continue // a few bursts, and they come regularly
		}
		if x.stutters(most) {
			out = append(out, b.stutterFinding(s, x, what, view))
		}
	}
	return out
}

// stutters reports whether a few intervals, at most that share, stick out of many.
func (x *Regularity) stutters(most float64) bool {
	n := x.Intervals.Count
	return n >= stutterLeast && x.Outliers > 0 && float64(x.Outliers) <= most*float64(n) && x.ExcessNS >= stutterExcess
}

func (b *Builder) stutterFinding(s *Submission, x *Regularity, what, view string) Finding {
	r := &b.rep
	f := rule("stutter")
	f.Value, f.Unit, f.CostNS = float64(x.Outliers), "count", x.ExcessNS
	f.DeviceID, f.GPU, f.Ring = s.DeviceID, s.GPU, s.Ring
	b.who(&f, id(s.ProcessID))
	worst := x.list[0]
	for _, o := range x.list {
		if o.dur() > worst.dur() {
			worst = o
		}
	}
	f.StartNS, f.EndNS = &worst.start, &worst.end
	to := lower(ringName(s.GPU, s.Ring))
	if s.MeasuredBy == byCalls {
		to = "GPUs by API calls"
	}
	f.Text = fmt.Sprintf("%s gives %s to %s every %s (median); %d of %d intervals took %s or more, up to %s", processName(s.Process, s.PID), what, to,
		r.dur(x.Intervals.P50NS), x.Outliers, x.Intervals.Count, r.dur(x.ThresholdNS), r.dur(worst.dur()))
	if x.Periodic {
		f.Text += fmt.Sprintf(", and they come about every %s: a periodic stutter.", r.dur(*x.PeriodNS))
	} else {
		f.Text += ": a stutter without a clear period."
	}
	if s.Ring != "" {
		f.Search = "ring " + clean(s.Ring)
	}
	f.SQL = fmt.Sprintf("SELECT * FROM %s WHERE measured_by = '%s' AND device_id %s AND ring %s AND process_id %s ORDER BY ns DESC",
		view, s.MeasuredBy, sqlID(s.DeviceID), sqlText(s.Ring), sqlID(s.ProcessID))
	return f
}

func lower(s string) string {
	switch {
	case len(s) > 4 && s[:5] == "Ring ":
		return "ring " + s[5:]
	case s == "The GPU":
		return "the GPU"
	}
	return s
}

func (b *Builder) queueTail() []Finding {
	var out []Finding
	r := &b.rep
	for i := range r.Rings {
		x := &r.Rings[i]
		q := &x.QueueDelay
		if q.Count < tailJobs || !tail(q) {
			continue
		}
		f := rule("queue_delay_tail")
		f.Value, f.Unit, f.CostNS = float64(q.P99NS), "ns", q.MaxNS
		f.where(x)
		f.when(x.acc.slowest.start, x.acc.slowest.end)
		b.who(&f, x.acc.slowest.process)
		f.Text = fmt.Sprintf("%s: of 100 jobs one waited %s or more in the queue before it ran, half waited less than %s; the longest wait was %s.",
			ringName(x.GPU, x.Ring), r.dur(q.P99NS), r.dur(q.P50NS), r.dur(q.MaxNS))
		f.job(x.acc.slowest.id, x.acc.slowest.sched)
		f.SQL = fmt.Sprintf("SELECT * FROM jobs WHERE %s ORDER BY queue_delay_ns DESC NULLS LAST", ringSQL(x))
		out = append(out, f)
	}
	return out
}

// tail reports whether some values are far above the median.
func tail(s *Stats) bool {
	return s.P99NS >= tailLeast && s.P99NS >= tailTimes*s.P50NS || s.MaxNS >= extremeLeast && s.MaxNS >= extremeTimes*s.P50NS
}

func (b *Builder) blockingCalls() []Finding {
	var out []Finding
	r := &b.rep
	for i := range r.Blocking {
		t := &r.Blocking[i]
		if t.Share == nil || *t.Share < blockingRatio {
			continue
		}
		f := rule("blocking_call")
		f.Value, f.Unit, f.CostNS = *t.Share, "ratio", t.SumNS
		f.when(t.longest.start, t.longest.end)
		b.who(&f, id(t.ProcessID))
		thread := ""
		if t.TID != nil {
			thread = fmt.Sprintf(", thread %d,", *t.TID)
		}
		f.Text = fmt.Sprintf("%s%s was in %s for %s of the %s recorded (%s %%), waiting in %s for the GPU or another process.",
			processName(t.Process, t.PID), thread, orUnknown(t.Name), r.dur(t.SumNS), r.dur(r.span()), percent(t.SumNS, r.span()), count(t.Calls, "call"))
		f.Search = prefix(t.Name)
		f.Explain = fmt.Sprintf("api_calls:%d", t.longest.id)
		f.SQL = fmt.Sprintf("SELECT * FROM api_calls WHERE base_name %s AND tid %s ORDER BY dur_ns DESC NULLS LAST", sqlText(t.Name), sqlID(t.TID))
		out = append(out, f)
	}
	return out
}

func (b *Builder) slowEnqueue() []Finding {
	r, s := &b.rep, &b.seen
	if s.slowEnqueues == 0 || float64(s.slowEnqueueNS) < enqueueRatio*float64(r.span()) {
		return nil
	}
	f := rule("slow_enqueue")
	f.Value, f.Unit, f.CostNS = float64(s.slowEnqueues), "count", s.slowEnqueueNS
	f.when(s.longestEnqueueRow.start, s.longestEnqueueRow.end)
	b.who(&f, s.longestEnqueueProc)
	f.Text = fmt.Sprintf("%s that only put work on the GPU took 1 ms or more each, %s in all, the longest %s in %s: the queue was full, or a copy was from pageable memory.",
		count(s.slowEnqueues, "call"), r.dur(s.slowEnqueueNS), r.dur(s.longestEnqueue), orUnknown(s.longestEnqueueName))
	f.Search = prefix(s.longestEnqueueName)
	f.Explain = fmt.Sprintf("api_calls:%d", s.longestEnqueueRow.id)
	f.SQL = "SELECT * FROM api_calls WHERE class IN ('launch', 'graph_launch', 'memcpy', 'memset', 'collective', 'submit') AND NOT blocking AND parent_id IS NULL AND dur_ns >= 1000000 ORDER BY dur_ns DESC"
	return []Finding{f}
}

func (b *Builder) slowWakeup() []Finding {
	w := &b.rep.Wake
	if w.Count == 0 || w.P99NS < wakeLeast {
		return nil
	}
	f := rule("slow_wakeup")
	f.Value, f.Unit, f.CostNS = float64(w.P99NS), "ns", w.MaxNS
	f.when(w.max.start, w.max.end)
	f.Text = fmt.Sprintf("Threads that waited for a fence ran late after its signal: of 100 wake-ups one took %s or more, half took less than %s: the CPU was busy with others, or asleep.",
		b.rep.dur(w.P99NS), b.rep.dur(w.P50NS))
	f.Search, f.Explain = "woken", fmt.Sprintf("fence_waits:%d", w.max.id)
	f.SQL = "SELECT * FROM fence_waits WHERE wake_ns IS NOT NULL ORDER BY wake_ns DESC"
	return []Finding{f}
}

func (b *Builder) imbalance() []Finding {
	var out []Finding
	for _, by := range []string{byActivities, byJobs} {
		var least, most *DeviceWork
		n := 0
		for i := range b.rep.Devices {
			d := &b.rep.Devices[i]
			if d.MeasuredBy != by || d.DeviceID == nil {
				continue
			}
			n++
			if least == nil || d.BusyNS < least.BusyNS {
				least = d
			}
			if most == nil || d.BusyNS > most.BusyNS {
				most = d
			}
		}
		if n < 2 || most.BusyNS == 0 || float64(most.BusyNS-least.BusyNS) < imbalanceRatio*float64(most.BusyNS) {
			continue
		}
		f := rule("gpu_imbalance")
		f.Value, f.Unit, f.CostNS = float64(most.BusyNS-least.BusyNS)/float64(most.BusyNS), "ratio", most.BusyNS-least.BusyNS
		f.StartNS, f.EndNS = least.FirstNS, least.LastNS
		f.DeviceID, f.GPU = least.DeviceID, least.GPU
		f.Text = fmt.Sprintf("Of %d GPUs, GPU %s was busy for %s and GPU %s for %s only.", n, orUnknown(most.GPU), b.rep.dur(most.BusyNS), orUnknown(least.GPU), b.rep.dur(least.BusyNS))
		f.Search = "utilisation"
		f.SQL = "SELECT * FROM report_devices"
		out = append(out, f)
	}
	return out
}

func (b *Builder) dominates() []Finding {
	var out []Finding
	for _, by := range []string{byActivities, byJobs} {
		var top *Kernel
		n, all := 0, int64(0)
		for i := range b.rep.Kernels {
			k := &b.rep.Kernels[i]
			if k.MeasuredBy != by {
				continue
			}
			if top == nil {
				top = k
			}
			n++
			all += k.Time.SumNS
		}
		if n < 2 || all < dominatesLeast || float64(top.Time.SumNS) < dominatesRatio*float64(all) {
			continue
		}
		f := rule("kernel_dominates")
		f.Value, f.Unit, f.CostNS = *top.Share, "ratio", top.Time.SumNS
		f.when(top.Time.max.start, top.Time.max.end)
		f.Text = fmt.Sprintf("GPU function %s took %s of the %s of all kernels (%s %%): it ran %s, for up to %s.", kernelName(top.Name, 60), b.rep.dur(top.Time.SumNS),
			b.rep.dur(all), percent(top.Time.SumNS, all), times(top.Launches), b.rep.dur(top.Time.MaxNS))
		f.Search = prefix(symbol.Short(top.Name))
		f.Explain = fmt.Sprintf("%s:%d", by, top.Time.max.id)
		f.SQL = kernelSQL(by, top.Name)
		out = append(out, f)
	}
	return out
}

// copies finds GPUs that copy more than they compute.
func (b *Builder) copies() []Finding {
	var all, copied int64
	for _, a := range b.rep.Activities {
		switch a.Kind {
		case "other":
			continue // ranges beside the work
		case "memcpy":
			copied = a.Time.SumNS
		}
		all += a.Time.SumNS
	}
	if all < dominatesLeast || float64(copied) < dominatesRatio*float64(all) {
		return nil
	}
	s := b.acts["memcpy"].maxRow
	f := rule("copies_dominate")
	f.Value, f.Unit, f.CostNS = float64(copied)/float64(all), "ratio", copied
	f.when(s.start, s.end)
	f.Text = fmt.Sprintf("Copies took %s of the %s of work on the GPUs (%s %%), the longest %s.", b.rep.dur(copied), b.rep.dur(all), percent(copied, all), b.rep.dur(b.acts["memcpy"].max))
	f.Search, f.Explain = "Memcpy", fmt.Sprintf("gpu_activities:%d", s.id)
	f.SQL = "SELECT * FROM gpu_activities WHERE kind = 'memcpy' ORDER BY dur_ns DESC NULLS LAST"
	return []Finding{f}
}

func kernelSQL(by, name string) string {
	if by == byJobs {
		return fmt.Sprintf("SELECT * FROM jobs WHERE kernel_name %s ORDER BY device_time_ns DESC NULLS LAST", sqlText(name))
	}
	return fmt.Sprintf("SELECT * FROM gpu_activities WHERE kind = 'kernel' AND name %s ORDER BY dur_ns DESC NULLS LAST", sqlText(name))
}

func (b *Builder) lostEvents() []Finding {
	r := &b.rep
	if r.Lost.Gaps == 0 {
		return nil
	}
	f := rule("lost_events")
	f.Value, f.Unit = float64(r.Lost.Events), "count"
	f.StartNS, f.EndNS = b.lossStart, b.lossEnd
	what, known := fmt.Sprintf("%s lost in %s", count(r.Lost.Events, "event"), count(r.Lost.Gaps-r.Lost.Unknown, "gap")), r.Lost.Gaps > r.Lost.Unknown
	switch {
	case !known:
		what = "An unknown number of events was lost in " + count(r.Lost.Gaps, "gap")
	case r.Lost.Unknown > 0:
		what += ", and an unknown number in " + count(r.Lost.Unknown, "gap") + " more"
	}
	f.Text = fmt.Sprintf("%s; %s lost a partner by that, and figures near the gaps are doubtful.", what, count(b.lostRows, "row"))
	f.Search = "lost"
	f.SQL = "SELECT * FROM loss_summary"
	return []Finding{f}
}

func (b *Builder) clocksApart() []Finding {
	d := &b.rep.LaunchDelay
	if d.Negative == 0 {
		return nil
	}
	f := rule("clocks_apart")
	f.Value, f.Unit = float64(d.Negative), "count"
	f.Text = fmt.Sprintf("%s began on the device before the call that launched it: the clocks of CPU and GPU are apart, so launch delays are wrong.", count(d.Negative, "piece")+" of work")
	f.SQL = "SELECT * FROM gpu_activities WHERE launch_delay_ns < 0 ORDER BY launch_delay_ns"
	return []Finding{f}
}

// unaligned names what stands on a clock of its own.
func (b *Builder) unaligned() []Finding {
	f := rule("clock_unaligned")
	var gpus, processes uint64
	for _, d := range b.devices {
		if d.Unaligned {
			gpus++
		}
	}
	for _, i := range b.processIDs() {
		if b.processes[i].Unaligned {
			processes++
			b.who(&f, i)
		}
	}
	if gpus+processes == 0 {
		return nil
	}
	f.Value, f.Unit = float64(gpus+processes), "count"
	f.Text = fmt.Sprintf("The times of %s and %s are of another clock than the others and could not be converted: compare nothing across.", num(int64(processes))+" processes", count(gpus, "GPU"))
	f.SQL = "SELECT 'process' AS what, id FROM processes WHERE unaligned UNION ALL SELECT 'device', id FROM devices WHERE unaligned"
	return []Finding{f}
}

// processIDs returns the processes, in order.
func (b *Builder) processIDs() []correlate.ID { return slices.Sorted(maps.Keys(b.processes)) }

func (b *Builder) withoutRecords() []Finding {
	n := b.unmatchedCount("api_calls", "activity")
	if n == 0 || b.seen.jobs {
		return nil
	}
	f := rule("launches_without_records")
	f.Value, f.Unit = float64(n), "count"
	f.Text = fmt.Sprintf("%d of %s that put work on a GPU left no trace of when it ran.", n, count(max(b.seen.enqueues, n), "API call"))
	f.SQL = "SELECT * FROM unmatched WHERE src_table = 'api_calls' AND link = 'activity'"
	return []Finding{f}
}

// unmatchedCount counts rows of a table without a partner, for any reason but
// those that tell that there can be none.
func (b *Builder) unmatchedCount(table, link string, reasons ...correlate.Reason) uint64 {
	var n uint64
	for u, c := range b.unmatched {
		if u.Table != table || u.Link != link {
			continue
		}
		if len(reasons) == 0 {
			n += c
		}
		for _, r := range reasons {
			if u.Reason == string(r) {
				n += c
			}
		}
	}
	return n
}
