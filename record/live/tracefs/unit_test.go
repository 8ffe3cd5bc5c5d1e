package tracefs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/live"
)

func TestResolve(t *testing.T) {
	all := []tracepoint{{"sched", "sched_switch"}, {"sched", "sched_wakeup"}, {"irq", "irq_handler_entry"}, {"x", "sched_switch"}}
	for _, c := range []struct {
		patterns, optional []string
		want               string
		missing            string
	}{
		{[]string{"sched:sched_switch"}, nil, "sched:sched_switch", ""},
		{[]string{"sched/sched_switch", "sched:sched_switch"}, nil, "sched:sched_switch", ""},
		{[]string{"sched:"}, nil, "sched:sched_switch sched:sched_wakeup", ""},
		{[]string{"sched:*wake*"}, nil, "sched:sched_wakeup", ""},
		{[]string{"sched_switch"}, nil, "sched:sched_switch x:sched_switch", ""},
		{[]string{"irq:*"}, []string{"none:*", "x:*"}, "irq:irq_handler_entry x:sched_switch", "none:*"},
	} {
		got, missing, err := resolve(all, c.patterns, c.optional)
		var names []string
		for _, g := range got {
			names = append(names, g.String())
		}
		if err != nil || strings.Join(names, " ") != c.want || strings.Join(missing, " ") != c.missing {
			t.Errorf("%v, %v: %v, missing %v, %v", c.patterns, c.optional, names, missing, err)
		}
	}
	var ne *NoEventError
	if _, _, err := resolve(all, []string{"sched:none"}, nil); !errors.As(err, &ne) {
		t.Errorf("a pattern that fits nothing: %v", err)
	}
	if _, _, err := resolve(all, []string{"sched:["}, nil); err == nil {
		t.Error("a bad pattern is taken")
	}
}

func TestExclude(t *testing.T) {
	all := []tracepoint{{"sched", "sched_process_fork"}, {"sched", "sched_switch"}}
	kept, out := exclude(all, []string{"sched:sched_process_*", "none:none"})
	if len(kept) != 1 || kept[0].name != "sched_switch" || len(out) != 1 || out[0].name != "sched_process_fork" {
		t.Errorf("kept %v, out %v", kept, out)
	}
}

func TestOneGeneration(t *testing.T) {
	sched := func(names ...string) (all []tracepoint) {
		for _, n := range names {
			all = append(all, tracepoint{live.SchedSystem, n})
		}
		return all
	}
	for _, c := range []struct{ events, kept []tracepoint }{
		{sched("drm_run_job", "drm_sched_job", "drm_sched_job_done"), sched("drm_run_job", "drm_sched_job", "drm_sched_job_done")},
		{sched("drm_run_job", "drm_sched_job", "drm_sched_job_run"), sched("drm_sched_job_run")},
		{append(sched("drm_sched_job_run"), tracepoint{"other", "drm_run_job"}), append(sched("drm_sched_job_run"), tracepoint{"other", "drm_run_job"})},
	} {
		kept, out := oneGeneration(c.events)
		if !reflect.DeepEqual(kept, c.kept) || len(kept)+len(out) != len(c.events) {
			t.Errorf("of %v kept %v and left out %v", c.events, kept, out)
		}
	}
}

func TestParseStats(t *testing.T) {
	got := parseStats("entries: 5\noverrun: 7\ncommit overrun: 1\nbytes: 99\noldest event ts: 12.5\nnow ts:  1328.943916\ndropped events: 2\nread events: 11\nnonsense\n")
	want := cpuStats{entries: 5, overrun: 7, commitOverrun: 1, dropped: 2, read: 11}
	if got != want || got.lost() != 10 {
		t.Errorf("%+v, lost %d", got, got.lost())
	}
}

func TestInstanceNames(t *testing.T) {
	o := owner{123, 456789}
	for _, n := range []int{1, 2, 15} {
		if got, ok := instanceOwner(o.instance(n)); !ok || got != o {
			t.Errorf("%s: %v, %v", o.instance(n), got, ok)
		}
	}
	for _, name := range []string{"", "gpurec", "gpurec-", "gpurec-1", "gpurec-x-1", "gpurec-1-x", "gpurec-0-5", "gpurec-1-2-x", "gpurec-1-2-3-4", "other-1-2"} {
		if o, ok := instanceOwner(name); ok {
			t.Errorf("%q is taken for an instance of %v", name, o)
		}
	}
}

func TestStatFields(t *testing.T) {
	f := statFields("12 (a) b (c)) R 1 2 3\n")
	if !reflect.DeepEqual(f, []string{"R", "1", "2", "3"}) {
		t.Errorf("%q", f)
	}
}

func TestParseStatus(t *testing.T) {
	pid, comm := parseStatus("Name:\ta\\\\b c\nUmask:\t0022\nState:\tR (running)\nTgid:\t42\nPid:\t43\n")
	if pid != 42 || comm != `a\b c` {
		t.Errorf("%d %q", pid, comm)
	}
	if pid, _ := parseStatus("Name:\tx\n"); pid != event.NoID {
		t.Errorf("no Tgid gives %d", pid)
	}
}

// Losses whose number did not fit onto their page are taken from the ring's
// statistics, and not told again by the pages that follow.
func TestLossAccount(t *testing.T) {
	dir := t.TempDir()
	stats := filepath.Join(dir, "instances", "i", "per_cpu", "cpu0", "stats")
	if err := os.MkdirAll(filepath.Dir(stats), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Source{fs: &FS{&live.Tracefs{Dir: dir}}, instance: "i", rings: []*ring{{cpu: 0}}, states: make([]ringState, 1), started: 5}
	st := &s.states[0]
	overrun := func(n string) {
		if err := os.WriteFile(stats, []byte("overrun: "+n+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	loss := func(count uint64) (uint64, bool) {
		e := event.New(event.KindLoss, 100)
		e.Source = ftrace.Stream
		if count > 0 {
			e.SetUint(event.FieldCount, count)
		}
		ok := s.loss(0, st, &e)
		n, _ := e.Uint(event.FieldCount)
		if e.TimeOf(event.FieldStart) != 5 {
			t.Errorf("start %d", e.TimeOf(event.FieldStart))
		}
		return n, ok
	}
	overrun("10")
	if n, ok := loss(10); !ok || n != 10 {
		t.Errorf("counted: %d %v", n, ok)
	}
	overrun("37") // 20 before this page, 7 already after it
	if n, ok := loss(0); !ok || n != 27 {
		t.Errorf("not counted: %d %v", n, ok)
	}
	if _, ok := loss(7); ok {
		t.Error("7 of the 27 are told twice")
	}
	overrun("39")
	if n, ok := loss(2); !ok || n != 2 {
		t.Errorf("2 new ones: %d %v", n, ok)
	}
	overrun("40")
	var b event.Batch
	s.settle(0, &b)
	s.settle(0, &b)
	if len(b.Events) != 1 || s.lost != 40 {
		t.Errorf("%d losses at the end, %d lost in all, want 1 and 40", len(b.Events), s.lost)
	}
}

func TestUnavailable(t *testing.T) {
	var ue *UnavailableError
	_, err := newFS(&live.Tracefs{Dir: t.TempDir()})
	if !errors.As(err, &ue) || ue.Remedy == "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
