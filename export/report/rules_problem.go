package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

func (b *Builder) commandFailed() []Finding {
	r := &b.rep
	if r.ExitStatus == nil || *r.ExitStatus == 0 {
		return nil
	}
	f := rule("command_failed")
	f.Value, f.Unit = float64(*r.ExitStatus), "count"
	f.Text = "The command ended with " + exitStatus(*r.ExitStatus) + "."
	f.SQL = "SELECT value FROM metadata WHERE key = 'exit_status'"
	return []Finding{f}
}

func (b *Builder) kernelMessages() []Finding {
	if b.nLogLines == 0 {
		return nil
	}
	f := rule("kernel_messages")
	f.Value, f.Unit = float64(b.nLogLines), "count"
	f.when(b.logLines[0].at, b.logLines[len(b.logLines)-1].at)
	f.Text = fmt.Sprintf("The kernel wrote %s about a GPU, the first: %s", count(b.nLogLines, "message"), clipTo(clean(b.logLines[0].text), 90))
	f.Search = prefix(b.logLines[0].text)
	f.SQL = "SELECT * FROM log_lines"
	return []Finding{f}
}

func (b *Builder) resetFindings() []Finding {
	var out []Finding
	for i := range b.rep.Resets {
		x := &b.rep.Resets[i]
		f := rule("resets")
		f.Value, f.Unit = float64(x.Count), "count"
		f.DeviceID, f.GPU, f.Ring, f.StartNS, f.EndNS = x.DeviceID, x.GPU, x.Ring, x.FirstNS, x.LastNS
		f.Text = fmt.Sprintf("%s was reset %s.", ringName(x.GPU, x.Ring), times(x.Count))
		if x.Rule == "inferred" {
			f.Text = fmt.Sprintf("%s was reset %s (inferred: a job was handed to the hardware again).", ringName(x.GPU, x.Ring), times(x.Count))
			f.job(correlate.ID(x.job), correlate.OptUint{})
		}
		f.Search = "reset"
		f.SQL = fmt.Sprintf("SELECT * FROM resets WHERE device_id %s AND ring %s", sqlID(x.DeviceID), sqlText(x.Ring))
		out = append(out, f)
	}
	return out
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// jobFindings are about jobs that did not end well.
func (b *Builder) jobFindings() []Finding {
	var out []Finding
	r := &b.rep
	for i := range r.Rings {
		x := &r.Rings[i]
		a := x.acc
		if x.Failed > 0 {
			f := b.jobFinding("jobs_failed", x, x.Failed, a.failed, "error <> 0")
			f.Text = fmt.Sprintf("%s: %s ended with an error, the first with %d.", ringName(x.GPU, x.Ring), count(x.Failed, "job"), a.failed.error)
			out = append(out, f)
		}
		if x.NeverRan > 0 && b.seen.run && (a.killed || r.EndNS != nil && *r.EndNS-int64(a.neverRan.start.V) >= longGone) {
			f := b.jobFinding("jobs_never_ran", x, x.NeverRan, a.neverRan, "queued_ns IS NOT NULL AND run_ns IS NULL AND end_kind IN ('killed', 'open')")
			f.Text = fmt.Sprintf("%s: %s was queued and never ran: killed, or still waiting when the log ended.", ringName(x.GPU, x.Ring), count(x.NeverRan, "job"))
			if x.NeverRan > 1 {
				f.Text = strings.Replace(f.Text, " was queued", " were queued", 1)
			}
			out = append(out, f)
		}
		if x.Unfinished > 0 && b.seen.done && r.EndNS != nil {
			ran := *r.EndNS - int64(a.unfinished.start.V)
			if ran < longRunning || ran <= x.DeviceTime.MaxNS {
				continue
			}
			f := b.jobFinding("jobs_unfinished", x, x.Unfinished, a.unfinished, "run_ns IS NOT NULL AND done_ns IS NULL AND end_kind = 'open'")
			f.CostNS, f.EndNS = ran, r.EndNS
			f.Text = fmt.Sprintf("%s: a job had been on the hardware for %s and was not done when the log ended.", ringName(x.GPU, x.Ring), r.dur(ran))
			out = append(out, f)
		}
	}
	return out
}

func (b *Builder) jobFinding(name string, x *Ring, n int64, first jobRef, where string) Finding {
	f := rule(name)
	f.Value, f.Unit = float64(n), "count"
	f.where(x)
	f.when(first.start, first.end)
	b.who(&f, first.process)
	f.job(first.id, first.sched)
	f.SQL = fmt.Sprintf("SELECT * FROM jobs WHERE %s AND %s ORDER BY id", ringSQL(x), where)
	return f
}

// isTimeout: ETIME, ETIMEDOUT.
func isTimeout(errno int64) bool { return errno == 62 || errno == 110 }

func (b *Builder) timedOut() []Finding {
	var out []Finding
	r := &b.rep
	if t := &b.timeouts; t.n > 0 && t.max >= longTimeout {
		f := rule("waits_timed_out")
		f.Value, f.Unit, f.CostNS = float64(t.n), "count", t.sum
		f.when(t.longest.start, t.longest.end)
		b.who(&f, t.process)
		f.Text = fmt.Sprintf("%s for a fence ended before it had signalled, after %s in all, the longest after %s.", count(t.n, "wait"), r.dur(t.sum), r.dur(t.max))
		f.Search = fmt.Sprintf("wait fence %d:%d", t.fence.Context, t.fence.Seqno)
		f.Explain = fmt.Sprintf("fence_waits:%d", t.longest.id)
		f.SQL = "SELECT * FROM fence_waits WHERE timed_out ORDER BY wait_ns DESC"
		out = append(out, f)
	}
	for i := range r.FailedIoctls {
		x := &r.FailedIoctls[i]
		if x.Role != "wait" || x.Errno == nil || !isTimeout(*x.Errno) || x.longest < longTimeout {
			continue
		}
		f := rule("waits_timed_out")
		f.Value, f.Unit, f.StartNS, f.EndNS = float64(x.Count), "count", x.FirstNS, x.LastNS
		f.Text = fmt.Sprintf("%s waited in vain %s (%s), the longest for %s.", orUnknown(x.Name), times(x.Count), x.Error, r.dur(x.longest))
		f.Search = clean(x.Name)
		f.Explain = fmt.Sprintf("ioctls:%d", x.first)
		f.SQL = failedSQL(x)
		out = append(out, f)
	}
	return out
}

func failedSQL(x *FailedIoctl) string {
	return fmt.Sprintf("SELECT * FROM ioctls WHERE name %s AND errno %s ORDER BY start_ns", sqlText(x.Name), sqlID(x.Errno))
}

// expected reports failures that are part of normal use.
func (x *FailedIoctl) expected() bool {
	if x.Errno == nil {
		return false
	}
	switch *x.Errno {
	case 4, 11: // EINTR, EAGAIN: asked again
		return true
	case 16, 62, 110: // EBUSY, ETIME, ETIMEDOUT of a wait: not yet
		return x.Role == "wait"
	}
	return false
}

func (b *Builder) failedIoctls() []Finding {
	var first *FailedIoctl
	var n uint64
	kinds := 0
	for i := range b.rep.FailedIoctls {
		x := &b.rep.FailedIoctls[i]
		if x.expected() {
			continue
		}
		if first == nil {
			first = x
		}
		n += x.Count
		kinds++
	}
	if first == nil {
		return nil
	}
	f := rule("failed_ioctls")
	f.Value, f.Unit, f.StartNS, f.EndNS = float64(n), "count", first.FirstNS, first.LastNS
	what := cmp.Or(first.Error, "")
	if first.Errno == nil && first.Status != nil {
		what = fmt.Sprintf("driver status 0x%x", *first.Status)
	}
	f.Text = fmt.Sprintf("%s failed, most often %s (%s): %s.", count(n, "ioctl"), orUnknown(first.Name), what, times(first.Count))
	f.Search = clean(first.Name)
	f.Explain = fmt.Sprintf("ioctls:%d", first.first)
	f.SQL = "SELECT * FROM report_failed_ioctls"
	return []Finding{f}
}

func (b *Builder) failedCalls() []Finding {
	s := &b.seen
	if s.failedCalls == 0 {
		return nil
	}
	f := rule("failed_calls")
	f.Value, f.Unit = float64(s.failedCalls), "count"
	f.when(s.firstFailed.start, s.firstFailed.end)
	b.who(&f, s.firstFailedProc)
	f.Text = fmt.Sprintf("%s returned an error, the first %s with %d.", count(s.failedCalls, "API call"), orUnknown(s.firstFailedName), s.firstFailedResult)
	f.Search = clean(s.firstFailedName)
	f.Explain = fmt.Sprintf("api_calls:%d", s.firstFailed.id)
	f.SQL = "SELECT * FROM api_calls WHERE result NOT IN (0, 600) ORDER BY start_ns"
	return []Finding{f}
}

func (b *Builder) memoryLeft() []Finding {
	var out []Finding
	for i := range b.rep.Memory {
		x := &b.rep.Memory[i]
		if x.Live < memoryLeast || x.LiveBytes < memoryBytes {
			continue
		}
		f := rule("memory_left")
		f.Value, f.Unit, f.StartNS, f.EndNS = float64(x.LiveBytes), "bytes", x.firstLive, b.rep.EndNS
		f.DeviceID, f.GPU = x.DeviceID, b.gpu(id(x.DeviceID))
		b.who(&f, id(x.ProcessID))
		what := "mappings of GPU memory"
		if x.Source == fromCalls {
			what = "allocations of GPU memory"
		}
		f.Text = fmt.Sprintf("%s in %d %s were still there when the log ended (%d made, %d undone): a leak if the program no longer uses them.",
			event.SizeText(x.LiveBytes), x.Live, what, x.Maps, x.Unmaps)
		f.SQL = "SELECT * FROM report_memory"
		out = append(out, f)
	}
	return out
}

// sortedIDs returns the processes of a set, in order.
func sortedIDs(m map[correlate.ID]bool) []correlate.ID {
	var out []correlate.ID
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
