package check

import (
	"path/filepath"
	"testing"
)

// fateOf is what the truth says that a reset did to a job.
func fateOf(t *Truth, j *Job) string {
	for i := range t.Resets {
		if t.Resets[i].Guilty == j.Key {
			return "guilty"
		}
	}
	switch {
	case j.Error == -125: // ECANCELED
		return "cancelled"
	case len(j.HW) > 1:
		return "rerun"
	}
	return ""
}

// Every capture: what a reset did to each job is told as the module tells it,
// and no job of a run without one has a fate.
func TestFates(t *testing.T) {
	names, err := filepath.Glob("../captures/*.tar.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	told := map[string]int{}
	for _, name := range names {
		dir := t.TempDir()
		if err := Unpack(name, dir); err != nil {
			t.Fatal(err)
		}
		r, err := readResults(dir)
		if err != nil {
			t.Fatal(err)
		}
		byKey := map[Key]*Job{}
		for _, j := range r.truth.Jobs {
			byKey[j.Key.low()] = j
		}
		for _, origin := range []string{"drm_sched", "drm_sched_617"} {
			p, err := correlated(filepath.Base(name)+" "+origin, origin, r.trace.generation(origin))
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.rows.Jobs {
				row := &p.rows.Jobs[i]
				j := byKey[Key{row.FenceContext.V, row.FenceSeqno.V}.low()]
				if !row.FenceContext.OK || j == nil || r.trace.Lost > 0 {
					continue // a row that a loss leaves without its name cannot be looked up
				}
				want := fateOf(r.truth, j)
				if row.Fate != want {
					t.Errorf("%s: job %v (row %d, runs %d): fate %q by %q, the truth has %q", p.what, j.Key, row.ID, row.Runs, row.Fate, row.FateRule, want)
				}
				told[row.Fate]++
			}
		}
	}
	for _, fate := range []string{"guilty", "cancelled", "rerun", ""} {
		if told[fate] == 0 {
			t.Errorf("no capture has a job of fate %q", fate)
		}
	}
	t.Logf("%v", told)
}
