package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// fencePair is a scheduled and a finished fence made together.
type fencePair struct{ scheduled, finished *fence }

const pairRing = 8

// pair joins the two fences that the scheduler makes for one job: scheduled,
// then finished, on consecutive contexts with equal numbers, on one thread.
func (f *fenceTracker) pair(x *fence, t *thread) {
	a := t.lastInit
	if a != nil && !a.dead && follows(a, x) && a.timeline == x.timeline {
		t.lastInit = nil
		if len(t.pairs) == pairRing {
			f.dropPair(t, 0)
		}
		f.e.ids.remember(t)
		t.pairs = append(t.pairs, fencePair{a, f.ref(x)})
		t.pairedAfter = f.e.seq.loss
		return
	}
	f.unref(a)
	t.lastInit = f.ref(x)
}

// follows reports whether x is on the context after that of a, with the same number.
func follows(a, x *fence) bool {
	k := event.FenceKey{Context: a.key.Context + 1, Seqno: a.key.Seqno}
	return x.fits(k, a.full)
}

// dropPair forgets pair i of a thread.
func (f *fenceTracker) dropPair(t *thread, i int) {
	f.unref(t.pairs[i].scheduled)
	f.unref(t.pairs[i].finished)
	t.pairs = slices.Delete(t.pairs, i, i+1)
}

// dropPairs forgets the pairs of a thread: what was made in one ioctl is not
// for a job of the next.
func (f *fenceTracker) dropPairs(t *thread) {
	for n := len(t.pairs); n > 0; n-- {
		f.dropPair(t, n-1)
	}
	f.unref(t.lastInit)
	t.lastInit = nil
	t.native, t.emitted.ok = endingJob{}, false
}
