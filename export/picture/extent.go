package picture

import (
	"math"

	"github.com/gpurec/gpurec/correlate"
)

// Flags of a job.
const (
	jobPut     uint8 = 1 << iota // its row came
	jobLost                      // its running interval cannot be drawn
	jobHidden                    // beyond the lanes
	jobRunning                   // job.running is drawn
	jobQueued                    // job.queued is drawn
	jobOpen                      // it ends with the trace
	jobSched                     // sched is known
	jobKernel                    // the driver's own
)

// jobInfo is what other rows need of a job.
type jobInfo struct {
	queued, run, start, done, finished int64 // times as in the row; never if unknown
	end                                int64 // end of what is drawn last
	sched                              uint64
	ring                               uint32 // number of its ring, from 1
	thread                             uint32 // number of its thread, from 1; 0: none
	deps                               uint32 // number of the last dependency
	lane                               uint8
	flags                              uint8
}

// queuedEnd is where job.queued ends.
func (j *jobInfo) queuedEnd() int64 {
	if j.flags&jobRunning != 0 {
		return j.start
	}
	return j.end
}

type dep struct {
	on       correlate.ID
	at       int64
	ctx, seq uint64 // the fence, if it is known
	next     uint32 // number of the one before, of the same job
	known    bool
}

// span is when another row is drawn: from start on, for size-1. A row that is
// not drawn is zero, one that does not end has the greatest size.
type span struct {
	start int64
	size  uint64
}

func spanOf(start, end int64) span {
	if end == forever {
		return span{start, math.MaxUint64}
	}
	return span{start, uint64(end-start) + 1}
}

func (s span) ok() bool { return s.size != 0 }

func (s span) end() int64 {
	if s.size == math.MaxUint64 {
		return forever
	}
	return s.start + int64(s.size-1)
}

// waitInfo is a fence wait: woken is the start of its `woken`, as far behind
// start, or 0 if it has none.
type waitInfo struct {
	start, woken int64
	ok           bool
}

// wokenAt is the start of `woken`, or never.
func (w waitInfo) wokenAt() int64 {
	if w.woken == 0 {
		return never
	}
	return w.start + w.woken
}
