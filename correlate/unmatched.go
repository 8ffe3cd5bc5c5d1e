package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// note says that a row misses a partner whose event, had it been recorded,
// would lie between from and to (NoTime: open at that side).
type note struct {
	table, link string
	id          ID
	reason      Reason // what holds if no better reason is found
	from, to    event.Time
	proof       proof
	ring        *ring
	val         uint64 // sched_job_id or seqno
	ctx         uint64
	proc        *process
	stream      *streamState
}

// proof says how before_start may be proven.
type proof uint8

const (
	proofNone  proof = iota
	proofNever       // no better reason is looked for, not even a loss
	proofRing        // val is below the first sched_job_id queued on ring
	proofFence       // val is below the first seqno queued on context ctx
	proofCall        // val is below every correlation id that calls of proc show, or
	// the work began before the first on its stream whose launch is known
)

type unmatchedTracker struct {
	e     *engine
	notes []note
	head  int
}

// now gives a row of unmatched whose reason nothing can change.
func (u *unmatchedTracker) now(table string, id ID, link string, r Reason) {
	u.e.rows.Unmatched = append(u.e.rows.Unmatched, Unmatched{table, id, link, string(r), 0})
	u.e.n++
}

// add notes a missing partner. The reason is settled at the end, or when too
// many notes wait, from what is known then.
func (u *unmatchedTracker) add(n note) {
	if n.proof == proofNever {
		u.now(n.table, n.id, n.link, n.reason)
		return
	}
	u.notes = append(u.notes, n)
	u.trim()
}

// trim settles the notes that waited for the longest, beyond the cap.
func (u *unmatchedTracker) trim() {
	for len(u.notes)-u.head > u.e.caps.Notes {
		u.settle(&u.notes[u.head])
		u.notes[u.head] = note{}
		u.head++
		if u.head >= u.e.caps.Notes {
			u.notes = slices.Delete(u.notes, 0, u.head)
			u.head = 0
		}
	}
}

func (u *unmatchedTracker) finish() {
	for i := u.head; i < len(u.notes); i++ {
		u.settle(&u.notes[i])
		if u.e.n >= u.e.o.BatchRows {
			u.e.flush()
		}
	}
	u.notes, u.head = nil, 0
}

func (u *unmatchedTracker) settle(n *note) {
	reason, loss := n.reason, ID(0)
	from := n.from
	if !u.recorded(n) {
		reason = NotRecorded
	} else if u.proven(n) {
		reason = BeforeStart
	} else if l := u.e.loss.within(from, n.to); l != 0 {
		reason, loss = Lost, l
	}
	u.e.rows.Unmatched = append(u.e.rows.Unmatched, Unmatched{n.table, n.id, n.link, string(reason), loss})
	u.e.n++
}

// recorded reports whether the log holds any event of the sort that is missing.
func (u *unmatchedTracker) recorded(n *note) bool {
	if n.reason != NotRecorded {
		return true
	}
	c := &u.e.events
	switch n.link {
	case missAPICall:
		return c[event.KindAPIEnter]+c[event.KindAPIExit]+c[event.KindAPI] > 0
	case missIoctl:
		return c[event.KindIoctlEnter]+c[event.KindIoctlExit]+c[event.KindIoctl] > 0
	case missActivity:
		return c[event.KindGPUActivity] > 0
	case missQueue:
		return c[event.KindJobQueue] > 0
	case missFence:
		return c[event.KindFenceInit]+c[event.KindFenceSignal] > 0
	case missRun:
		return c[event.KindJobRun] > 0
	case missDone:
		return c[event.KindJobDone] > 0
	case missFinished:
		return c[event.KindFenceSignal] > 0
	case missHWFence:
		return u.e.fence.sawHardware
	case missJob, missDependency:
		return c[event.KindJobQueue]+c[event.KindJobRun] > 0
	}
	return true
}

// proven reports whether the missing event provably lies before the first
// event of the recording. A loss before the evidence spoils the proof.
func (u *unmatchedTracker) proven(n *note) bool {
	var at event.Time
	switch n.proof {
	case proofRing:
		if n.ring == nil || !n.ring.firstQueued.OK || n.val >= n.ring.firstQueued.V {
			return false
		}
		at = n.ring.firstQueuedAt
	case proofFence:
		f, ok := u.e.job.firstSeqno[n.ctx]
		if !ok || !seqBefore(n.val, f.seqno) {
			return false
		}
		at = f.at
	case proofCall:
		switch {
		case n.proc != nil && n.proc.minCorrelation.OK && !n.proc.mixedCorrelations && n.val != 0 && int64(n.val) < n.proc.minCorrelation.V:
			at = n.proc.minCorrelationAt
		case n.stream != nil && n.stream.first.OK && n.to.Known() && n.to < n.stream.first.V:
			at = n.to
		default:
			return false
		}
	default:
		return false
	}
	if at.Known() && n.to.Known() && n.to < at {
		at = n.to
	}
	return u.e.loss.within(event.NoTime, at) == 0
}

// seqBefore reports whether a comes before b on a context whose numbers wrap
// at 2^32.
func seqBefore(a, b uint64) bool {
	if a>>32 == 0 && b>>32 == 0 {
		return int32(uint32(b)-uint32(a)) > 0
	}
	return a < b
}
