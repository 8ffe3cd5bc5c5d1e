package main

import (
	"fmt"
	"io"
	"time"

	"github.com/gpurec/gpurec/testdata/lab/host"
)

// table is the lab's result, a line for each kernel, scenario and mode.
type table struct {
	lines               []string
	ok, failed, skipped int
}

func (t *table) add(kernel, what, state string, took time.Duration, problems []string) {
	t.lines = append(t.lines, fmt.Sprintf("%-24s %-28s %-5s %6.1f s", kernel, what, state, took.Seconds()))
	for i, p := range problems {
		if i == 10 {
			t.lines = append(t.lines, fmt.Sprintf("    and %d more", len(problems)-i))
			break
		}
		t.lines = append(t.lines, "    "+p)
	}
}

func (t *table) boot(kernel string, g *host.Guest) {
	if len(g.Failed) > 0 {
		t.failed++
		t.add(kernel, "the guest itself", "FAIL", g.Boot, append(g.Failed, "see "+g.Console))
		return
	}
	t.add(kernel, "boot", "ok", g.Boot, nil)
}

func (t *table) row(kernel string, task host.Task, took time.Duration, problems []string) {
	state := "ok"
	if len(problems) > 0 {
		state = "FAIL"
		t.failed++
	} else {
		t.ok++
	}
	t.add(kernel, fmt.Sprintf("%s (%s)", task.Scenario.Name, task.Mode), state, took, problems)
}

// join appends another table.
func (t *table) join(o *table) {
	t.lines = append(t.lines, o.lines...)
	t.ok, t.failed, t.skipped = t.ok+o.ok, t.failed+o.failed, t.skipped+o.skipped
}

func (t *table) skip(kernel string, reason error) {
	t.skipped++
	t.lines = append(t.lines, fmt.Sprintf("%-24s skipped: %v", kernel, reason))
}

func (t *table) end(w io.Writer, took time.Duration) error {
	for _, l := range t.lines {
		fmt.Fprintln(w, l)
	}
	fmt.Fprintf(w, "%d ok, %d failed, %d skipped in %.0f s\n", t.ok, t.failed, t.skipped, took.Seconds())
	if t.failed > 0 {
		return fmt.Errorf("%d of %d failed", t.failed, t.ok+t.failed)
	}
	return nil
}
