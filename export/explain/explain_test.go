package explain

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

type source struct {
	events []event.Event
	meta   event.Meta
	given  bool
}

func (s *source) Meta() *event.Meta { return &s.meta }

func (s *source) Next(b *event.Batch) error {
	b.Reset()
	if s.given {
		return io.EOF
	}
	s.given = true
	b.Events = append(b.Events, s.events...)
	return nil
}

// find runs a search over the events, as often as it asks for.
func find(t *testing.T, events []event.Event, row string) (*Chain, int, error) {
	t.Helper()
	ref, err := ParseRef(row)
	if err != nil {
		t.Fatal(err)
	}
	f := New(ref)
	passes := 0
	for f.Next() {
		passes++
		_, err := correlate.Run(&source{events: events}, correlate.Options{BatchRows: 1}, func(r *correlate.Rows) error {
			f.Write(r)
			return nil
		})
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	c, err := f.Result()
	return c, passes, err
}

func at(k event.Kind, t event.Time, set func(*event.Event)) event.Event {
	e := event.New(k, t)
	e.PID, e.TID, e.CPU = 10, 10, 0
	e.Source = "test"
	if set != nil {
		set(&e)
	}
	return e
}

func key(c, s uint64) func(*event.Event) {
	return func(e *event.Event) {
		e.SetUint(event.FieldFenceContext, c)
		e.SetUint(event.FieldFenceSeqno, s)
	}
}

// chainEvents is one call around another, in it one ioctl, in that two jobs;
// the second depends on the first and its fence is waited for in an ioctl of
// its own. A third job of another thread stands apart.
func chainEvents() []event.Event {
	call := func(name string) func(*event.Event) {
		return func(e *event.Event) { e.SetStr(event.FieldName, name) }
	}
	ioctl := func(e *event.Event) {
		e.SetInt(event.FieldFD, 5)
		e.SetUint(event.FieldCmd, 0xc0186444)
	}
	job := func(seqno uint64) func(*event.Event) {
		return func(e *event.Event) {
			key(8, seqno)(e)
			e.SetStr(event.FieldRing, "gfx")
			e.SetStr(event.FieldOrigin, "drm_sched_617")
		}
	}
	worker := func(set func(*event.Event)) func(*event.Event) {
		return func(e *event.Event) { set(e); e.PID, e.TID = 7, 7 }
	}
	return []event.Event{
		at(event.KindAPIEnter, 1000, call("outer")),
		at(event.KindAPIEnter, 1100, call("inner")),
		at(event.KindIoctlEnter, 1200, ioctl),
		at(event.KindJobQueue, 1300, job(1)),
		at(event.KindJobQueue, 1310, job(2)),
		at(event.KindJobDep, 1320, func(e *event.Event) {
			key(8, 2)(e)
			e.SetUint(event.FieldOnFenceContext, 8)
			e.SetUint(event.FieldOnFenceSeqno, 1)
		}),
		at(event.KindIoctlExit, 1400, func(e *event.Event) { e.SetInt(event.FieldResult, 0) }),
		at(event.KindAPIExit, 1500, call("inner")),
		at(event.KindAPIExit, 1600, call("outer")),
		at(event.KindJobQueue, 1650, func(e *event.Event) { job(3)(e); e.PID, e.TID = 20, 20 }),
		at(event.KindJobRun, 1700, worker(job(1))),
		at(event.KindIoctlEnter, 1800, ioctl),
		at(event.KindFenceWaitStart, 1810, key(8, 2)),
		at(event.KindJobDone, 2000, worker(job(1))),
		at(event.KindFenceSignal, 2001, worker(key(8, 1))),
		at(event.KindJobRun, 2100, worker(job(2))),
		at(event.KindJobDone, 2500, worker(job(2))),
		at(event.KindFenceSignal, 2501, worker(key(8, 2))),
		at(event.KindFenceWaitEnd, 2600, key(8, 2)),
		at(event.KindIoctlExit, 2700, func(e *event.Event) { e.SetInt(event.FieldResult, 0) }),
		at(event.KindMark, 3000, nil),
	}
}

func names(c *Chain) []string {
	var l []string
	for _, r := range c.Rows {
		l = append(l, r.Row)
	}
	slices.Sort(l)
	return l
}

// TestChainFromEveryMember: the chain of job 2 is the same rows wherever it is
// begun, but from the ioctl and the calls the other job of theirs comes too.
func TestChainFromEveryMember(t *testing.T) {
	second := []string{"api_calls:1", "api_calls:2", "fence_waits:1", "fences:2", "ioctls:1", "ioctls:2", "jobs:2"}
	both := []string{"api_calls:1", "api_calls:2", "fence_waits:1", "fences:1", "fences:2", "ioctls:1", "ioctls:2", "jobs:1", "jobs:2"}
	for start, want := range map[string][]string{
		"jobs:2": second, "fence_waits:1": second, "fences:2": second,
		"ioctls:1": both, "api_calls:2": both, "api_calls:1": both,
	} {
		c, _, err := find(t, chainEvents(), start)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(c); !slices.Equal(got, want) {
			t.Errorf("from %s: %v, want %v", start, got, want)
		}
	}
}

func TestChainFacts(t *testing.T) {
	c, passes, err := find(t, chainEvents(), "jobs:2")
	if err != nil {
		t.Fatal(err)
	}
	if passes < 2 || passes > 4 {
		t.Errorf("%d passes", passes)
	}
	if c.ZeroNS == nil || *c.ZeroNS != 1000 {
		t.Errorf("zero %v, want 1000: the outer call's start", c.ZeroNS)
	}
	want := map[string]int64{"queued_ns": 310, "run_ns": 1100, "device_start_ns": 1100, "done_ns": 1500, "finished_ns": 1501}
	for _, r := range c.Rows {
		if r.Row != "jobs:2" {
			continue
		}
		if len(r.Moments) != len(want) {
			t.Errorf("moments %v", r.Moments)
		}
		for _, m := range r.Moments {
			if m.AtNS != want[m.Column] {
				t.Errorf("%s at %d, want %d", m.Column, m.AtNS, want[m.Column])
			}
		}
	}
	links := map[string]string{}
	for _, l := range c.Links {
		links[l.Rule+" "+l.Src+" "+l.Dst] = l.Confidence + " " + l.Key
	}
	for k, v := range map[string]string{
		"in-call api_calls:1 api_calls:2":   "nested ",
		"api-ioctl api_calls:2 ioctls:1":    "nested tid 10",
		"ioctl-job ioctls:1 jobs:2":         "nested tid 10",
		"job-run jobs:2 jobs:2":             "exact 8:2",
		"job-done jobs:2 jobs:2":            "exact 8:2",
		"fence-wait jobs:2 fence_waits:1":   "exact 8:2",
		"ioctl-wait ioctls:2 fence_waits:1": "nested tid 10",
	} {
		if links[k] != v {
			t.Errorf("link %s: %q, want %q", k, links[k], v)
		}
	}
	if len(c.Deps) != 1 || c.Deps[0].Job != "jobs:2" || c.Deps[0].On != "jobs:1" || c.Deps[0].Fence != "8:1" || c.Deps[0].Waited == nil || !*c.Deps[0].Waited {
		t.Errorf("dependencies %+v", c.Deps)
	}
	missing := map[string]string{}
	for _, m := range c.Missing {
		missing[m.Row+" "+m.Link] = m.Reason
		if m.Meaning == "" {
			t.Errorf("%v has no meaning", m)
		}
	}
	if missing["jobs:2 hw_fence"] != "not_recorded" || missing["ioctls:2 api_call"] == "" {
		t.Errorf("missing %v", missing)
	}
}

func TestText(t *testing.T) {
	c, _, err := find(t, chainEvents(), "jobs:1")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := c.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"\njobs:1  ← asked for\n", "+0.700  run\n", "from ioctls:1 by ioctl-job (nested, key tid 10, section 2)\n",
		"jobs:2 depends on it (fence 8:1)\n", "no hardware fence: not_recorded, the recording holds no such event\n",
	} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("no %q in\n%s", s, b.String())
		}
	}
}

func TestNoSuchRow(t *testing.T) {
	if _, _, err := find(t, chainEvents(), "jobs:9"); err == nil || !strings.Contains(err.Error(), "goes from 1 to 3") {
		t.Errorf("error %v, want one that tells the rows there are", err)
	}
	if _, passes, err := find(t, nil, "jobs:1"); err == nil || passes != 1 {
		t.Errorf("error %v after %d passes", err, passes)
	}
	for _, s := range []string{"", "jobs", "jobs:", "jobs:0", "jobs:-1", "jobs:x", "sched:1", ":1"} {
		if r, err := ParseRef(s); err == nil {
			t.Errorf("%q read as %v", s, r)
		}
	}
}

// TestReasons: every reason that a row can have is said in words.
func TestReasons(t *testing.T) {
	for _, r := range correlate.Reasons {
		if meanings[r] == "" {
			t.Errorf("reason %s has no words", r)
		}
	}
}

// TestCap: a call that led to more rows than a chain holds says how many it left out.
func TestCap(t *testing.T) {
	var events []event.Event
	events = append(events, at(event.KindIoctlEnter, 1, func(e *event.Event) { e.SetUint(event.FieldCmd, 0xc0186444) }))
	for i := range 2 * MaxRows {
		events = append(events, at(event.KindJobQueue, event.Time(2+i), func(e *event.Event) { key(8, uint64(i+1))(e) }))
	}
	events = append(events, at(event.KindIoctlExit, 1e6, nil))
	c, _, err := find(t, events, "ioctls:1")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Rows) != MaxRows || c.LeftOut != 2*MaxRows-(MaxRows-1) {
		t.Errorf("%d rows, %d left out; want %d and %d", len(c.Rows), c.LeftOut, MaxRows, MaxRows+1)
	}
}
