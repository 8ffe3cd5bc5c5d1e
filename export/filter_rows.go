package export

import (
	"math"

	"github.com/gpurec/gpurec/correlate"
)

// facts are what decides about a row.
type facts struct {
	id         correlate.ID // 0 where nothing refers to the row
	start, end int64        // math.MinInt64 where nothing is known
	process    correlate.ID
	pid        correlate.OptInt
	ofProcess  bool // the row belongs to some process, known or not
	category   string
	minor      bool
}

const noTime = math.MinInt64

func timeOf(t correlate.OptTime) int64 {
	if !t.OK || !t.V.Known() {
		return noTime
	}
	return int64(t.V)
}

// spanned sets the times of a row: one that has no end is open, or a point if
// its end kind says that nobody knows.
func spanned(x *facts, start, end correlate.OptTime, kind string) {
	x.start, x.end = timeOf(start), timeOf(end)
	switch {
	case x.start == noTime:
		x.start = x.end
	case x.end == noTime && (kind == "open" || kind == "killed" || kind == ""):
		x.end = math.MaxInt64
	case x.end == noTime:
		x.end = x.start
	}
}

func at(x *facts, t correlate.OptTime) { x.start, x.end = timeOf(t), timeOf(t) }

// verdict says whether a row is passed on.
func (f *Filter) verdict(c *choice, x *facts) reason {
	switch {
	case f.window && x.start != noTime && (x.start >= f.to || x.end < f.from || x.end == f.from && x.start < f.from):
		return outOfWindow
	case x.ofProcess && !f.o.Processes.has(x.process, x.pid):
		return otherProcess
	case !c.takes(x.category):
		return otherKind
	case c.small || c.minor && x.minor:
		return sizeLimit
	}
	return kept
}

// sieve passes the rows of one table: the slice itself if all are, else copies
// in own.
func sieve[T any](f *Filter, table string, rows []T, own *[]T, tell func(*T, *facts)) []T {
	if len(rows) == 0 {
		return rows
	}
	c := f.plan[table]
	same := true
	out := (*own)[:0]
	for i := range rows {
		x := facts{start: noTime, end: noTime}
		tell(&rows[i], &x)
		r := f.verdict(c, &x)
		if r == kept {
			c.passed[minorIndex(x.minor)]++
			if !same {
				out = append(out, rows[i])
			}
			continue
		}
		if same {
			same = false
			out = append(out, rows[:i]...)
		}
		c.left[r]++
		if x.id != 0 {
			f.leave(table, x.id)
		}
	}
	if same {
		return rows
	}
	*own = out
	return out
}

func (f *Filter) leave(table string, id correlate.ID) {
	s := f.gone[table]
	if s == nil {
		s = &idSet{}
		f.gone[table] = s
	}
	s.add(id)
}

// sift fills f.out with what is passed of r. Tables of the run are passed as
// they are, attached ones come at the end.
func (f *Filter) sift(r *correlate.Rows) {
	f.siftCPU(r)
	f.siftGPU(r)
	f.siftRest(r)
	o := &f.out
	o.Rings, o.Anomalies, o.Processes, o.Threads = r.Rings, r.Anomalies, r.Processes, r.Threads
	o.Devices, o.FunctionNames, o.Probes, o.Metadata = r.Devices, r.FunctionNames, r.Probes, r.Metadata
	o.Losses = sieve(f, "losses", r.Losses, &f.own.Losses, func(v *correlate.Loss, x *facts) {
		spanned(x, v.StartNS, v.EndNS, "lost")
		x.id = v.ID
	})
}

// siftCPU sifts what threads did.
func (f *Filter) siftCPU(r *correlate.Rows) {
	o := &f.out
	o.APICalls = sieve(f, "api_calls", r.APICalls, &f.own.APICalls, func(v *correlate.APICall, x *facts) {
		spanned(x, v.StartNS, v.EndNS, v.EndKind)
		x.id, x.process, x.pid, x.ofProcess, x.category = v.ID, v.ProcessID, v.PID, true, v.API
		x.minor = !majorClasses[v.Class]
	})
	o.Ioctls = sieve(f, "ioctls", r.Ioctls, &f.own.Ioctls, func(v *correlate.Ioctl, x *facts) {
		spanned(x, v.StartNS, v.EndNS, v.EndKind)
		x.id, x.process, x.pid, x.ofProcess, x.category = v.ID, v.ProcessID, v.PID, true, v.Role
		x.minor = !majorRoles[v.Role]
	})
	o.FenceWaits = sieve(f, "fence_waits", r.FenceWaits, &f.own.FenceWaits, func(v *correlate.FenceWait, x *facts) {
		spanned(x, v.StartNS, v.EndNS, v.EndKind)
		x.id, x.process, x.pid, x.ofProcess = v.ID, v.ProcessID, v.PID, true
	})
	o.Slices = sieve(f, "slices", r.Slices, &f.own.Slices, func(v *correlate.Slice, x *facts) {
		spanned(x, v.StartNS, v.EndNS, "")
		x.process, x.pid, x.category = v.ProcessID, v.PID, v.Category
		x.ofProcess = v.ProcessID != 0 || v.PID.OK || v.DeviceID == 0
	})
	o.Marks = sieve(f, "marks", r.Marks, &f.own.Marks, func(v *correlate.Mark, x *facts) {
		at(x, v.TSNS)
		x.process, x.pid, x.ofProcess, x.category = v.ProcessID, v.PID, true, v.Category
	})
	o.Others = sieve(f, "others", r.Others, &f.own.Others, func(v *correlate.Other, x *facts) {
		at(x, v.TSNS)
		x.process, x.pid, x.ofProcess, x.category = v.ProcessID, v.PID, true, v.Name
	})
	o.Flows = sieve(f, "flows", r.Flows, &f.own.Flows, func(v *correlate.Flow, x *facts) {
		at(x, v.TSNS)
		x.process, x.pid, x.ofProcess = v.ProcessID, v.PID, true
	})
	o.Samples = sieve(f, "samples", r.Samples, &f.own.Samples, func(v *correlate.Sample, x *facts) {
		at(x, v.TSNS)
		x.process, x.pid, x.ofProcess, x.category = v.ProcessID, v.PID, true, v.Name
	})
}

// siftGPU sifts what devices did for processes.
func (f *Filter) siftGPU(r *correlate.Rows) {
	o := &f.out
	o.Jobs = sieve(f, "jobs", r.Jobs, &f.own.Jobs, func(v *correlate.Job, x *facts) {
		jobTimes(v, x)
		x.id, x.process, x.pid, x.ofProcess, x.category = v.ID, v.ProcessID, v.PID, true, v.Ring
	})
	o.GPUActivities = sieve(f, "gpu_activities", r.GPUActivities, &f.own.GPUActivities, func(v *correlate.GPUActivity, x *facts) {
		spanned(x, v.StartNS, v.EndNS, "lost")
		x.id, x.process, x.pid, x.ofProcess, x.category = v.ID, v.ProcessID, v.PID, true, v.Kind
	})
	o.MemMaps = sieve(f, "mem_maps", r.MemMaps, &f.own.MemMaps, func(v *correlate.MemMap, x *facts) {
		at(x, v.TSNS)
		x.process, x.pid, x.ofProcess = v.ProcessID, v.PID, v.ProcessID != 0 || v.PID.OK
	})
}

// jobTimes sets the times of a job: from the first that is known to its end.
func jobTimes(v *correlate.Job, x *facts) {
	for _, o := range []correlate.OptTime{v.QueuedNS, v.RunNS, v.DeviceStartNS, v.DoneNS} {
		if t := timeOf(o); t != noTime && (x.start == noTime || t < x.start) {
			x.start = t
		}
		x.end = max(x.end, timeOf(o))
	}
	done := timeOf(v.DoneNS)
	if done == noTime {
		done = timeOf(v.FinishedNS)
	}
	switch {
	case done != noTime:
		x.end = max(x.end, done)
	case v.EndKind == "open" || v.EndKind == "killed":
		x.end = math.MaxInt64
	}
}

// siftRest sifts what belongs to devices, CPUs and the machine.
func (f *Filter) siftRest(r *correlate.Rows) {
	o := &f.out
	o.IdleGaps = sieve(f, "idle_gaps", r.IdleGaps, &f.own.IdleGaps, func(v *correlate.IdleGap, x *facts) {
		spanned(x, v.StartNS, v.EndNS, "lost")
		x.category = v.Cause
	})
	o.Counters = sieve(f, "counters", r.Counters, &f.own.Counters, func(v *correlate.Counter, x *facts) {
		at(x, v.TSNS)
		x.process, x.ofProcess, x.category = v.ProcessID, v.ProcessID != 0, v.Name
	})
	o.Sched = sieve(f, "sched", r.Sched, &f.own.Sched, func(v *correlate.Sched, x *facts) { spanned(x, v.StartNS, v.EndNS, "") })
	o.IRQs = sieve(f, "irqs", r.IRQs, &f.own.IRQs, func(v *correlate.IRQ, x *facts) {
		spanned(x, v.StartNS, v.EndNS, "lost")
		x.category = v.Name
	})
	o.Resets = sieve(f, "resets", r.Resets, &f.own.Resets, func(v *correlate.Reset, x *facts) {
		at(x, v.TSNS)
		x.id = v.ID
	})
	o.LogLines = sieve(f, "log_lines", r.LogLines, &f.own.LogLines, func(v *correlate.LogLine, x *facts) { at(x, v.TSNS) })
}
