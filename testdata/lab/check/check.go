// Package check compares what a guest's trace shows with what happened. It
// rebuilds the jobs on its own, so that a fault of the product's correlation
// can't hide here.
package check

import (
	"fmt"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

// Dir checks the results of one run in dir; it returns what is wrong.
func Dir(dir string, s *scenario.Scenario, mode scenario.Mode) []string {
	r, err := readResults(dir)
	if err != nil {
		return []string{err.Error()}
	}
	problems := append(r.clients(), r.logs(dir, s, mode)...)
	problems = append(problems, r.expectations(s)...)
	problems = append(problems, r.compare(mode)...)
	if r.trace.Lost == 0 && r.truth.Open == 0 {
		problems = append(problems, r.produced(mode)...)
	}
	if mode != scenario.Newer {
		problems = append(problems, r.generation("correlate legacy", originLegacy)...)
	}
	if mode != scenario.Legacy {
		problems = append(problems, r.generation("correlate newer", originNewer)...)
	}
	return problems
}

// whole reports whether no event of a job can have been lost.
func (r *results) whole(j *Job) bool { return j.Submit >= int64(r.trace.Whole) }

// compare compares every job of the truth with the trace, except those of which
// events may have been lost.
func (r *results) compare(mode scenario.Mode) []string {
	jobs := rebuild(r.trace)
	c := comparison{jobs: jobs, problems: jobs.problems}
	for _, j := range r.truth.Jobs {
		if !r.whole(j) {
			continue
		}
		if mode != scenario.Newer {
			c.job(j, jobs.legacy[legacyKey{int32(j.TID), j.Ring, j.Key.low()}], originLegacy)
		}
		if mode != scenario.Legacy {
			c.job(j, jobs.newer[j.Key], originNewer)
		}
		c.fences(j)
	}
	for _, a := range r.trace.Anomalies {
		if a.Severity > event.SeverityInfo && r.trace.Lost == 0 {
			c.problems = append(c.problems, fmt.Sprintf("decoder: %s: %d", a.Name, a.Count))
		}
	}
	return c.problems
}

func (r *results) expectations(s *scenario.Scenario) (problems []string) {
	m := r.measures()
	asked := map[string]bool{}
	for _, e := range s.Expect {
		v, ok := m[e.Measure]
		switch {
		case !ok:
			problems = append(problems, "no measure is named "+e.Measure)
		case !e.Holds(v):
			problems = append(problems, fmt.Sprintf("%s is %d, not %s", e.Measure, v, e))
		}
		asked[e.Measure] = true
	}
	for _, name := range []string{"lost", "open", "bad_exits"} { // none, unless the scenario says otherwise
		if !asked[name] && m[name] != 0 {
			problems = append(problems, fmt.Sprintf("%s is %d, not 0", name, m[name]))
		}
	}
	return problems
}

// clients compares the clients' truth with the module's.
func (r *results) clients() (problems []string) {
	byKey := map[Key]*Job{}
	for _, j := range r.truth.Jobs {
		if byKey[j.Key] != nil {
			problems = append(problems, fmt.Sprintf("two jobs have the fence %v", j.Key))
		}
		byKey[j.Key] = j
	}
	said := map[Key]bool{}
	for _, c := range r.calls {
		if c.Key == (Key{}) || c.Name == "wait" {
			continue
		}
		j := byKey[c.Key]
		switch {
		case j == nil:
			problems = append(problems, fmt.Sprintf("%s: the module knows no job %v", c.Name, c.Key))
		case j.PID != c.PID || j.TID != c.TID || j.Submit < c.Enter || j.Queue > c.Exit:
			problems = append(problems, fmt.Sprintf("%s: the module says otherwise of job %v", c.Name, c.Key))
		}
		said[c.Key] = true
	}
	if len(r.calls) > 0 && len(said) != len(byKey) {
		problems = append(problems, fmt.Sprintf("clients submitted %d jobs, the module has %d", len(said), len(byKey)))
	}
	return problems
}
