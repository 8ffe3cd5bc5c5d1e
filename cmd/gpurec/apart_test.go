package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// wakes is ftrace text with a wake at each time, in seconds of a clock.
func wakes(t *testing.T, name string, at ...float64) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(strings.SplitAfter(smallTrace, "\n")[0])
	for _, s := range at {
		fmt.Fprintf(&b, "           app-10    [000] ..... %.6f: sched_waking: comm=a pid=1 prio=120 target_cpu=000\n", s)
	}
	return writeFile(t, name, b.String())
}

// Inputs of other times are asked about, in one line for each that stands alone.
func TestInputsFarApart(t *testing.T) {
	a, b := wakes(t, "a.txt", 100, 102), wakes(t, "b.txt", 104.5, 105)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"farther than the longer takes", []string{a, b}, "a.txt: its times end 2.500 s before those of the others begin: is it of the same run?"},
		{"in the other order", []string{b, a}, "a.txt: its times end 2.500 s before those of the others begin: is it of the same run?"},
		{"as near as parts of a run", []string{a, b, "--offset", "2=-0.5s"}, ""},
		{"499 days", []string{a, b, "--offset", fmt.Sprintf("1=-%dh", 499*24)}, "a.txt: its times end 499 d 0 h before those of the others begin: is it of the same run?"},
		{"the third alone", []string{a, wakes(t, "c.txt", 101, 103), wakes(t, "d.txt", 110)}, "d.txt: its times begin 7.000 s after those of the others end: is it of the same run?"},
	} {
		r := gpurec(t, append([]string{"info", "--clock", "boottime"}, c.args...)...)
		var got []string
		for l := range strings.Lines(r.stderr) {
			if strings.Contains(l, "the same run") {
				got = append(got, strings.TrimSpace(l))
			}
		}
		if r.code != 0 || strings.Join(got, "\n") != c.want {
			t.Errorf("%s: status %d: %s, want %s", c.name, r.code, r.stderr, c.want)
		}
	}
}

// A file given twice would count twice, under whatever name.
func TestSameFileTwice(t *testing.T) {
	a := wakes(t, "a.txt", 100, 102)
	other := filepath.Dir(a) + "/./a.txt"
	for _, verb := range []string{"info", "report"} {
		r := gpurec(t, verb, a, other)
		if r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, other+" is the same file as "+a) {
			t.Errorf("%s: status %d: %s", verb, r.code, r.stderr)
		}
	}
}

// A window beside the trace is told.
func TestWindowBesideTheTrace(t *testing.T) {
	a := wakes(t, "a.txt", 100, 100.1)
	for _, c := range []struct{ flag, at, want string }{
		{"--from-time", "500ms", "--from-time lies 400.00 ms behind the end of the trace, which is 100.00 ms long: all that ended is left out"},
		{"--from-time", "100ms", ""},
		{"--to-time", "99000000000", "--to-time lies 1.000 s before the begin of the trace: all that has a begin is left out"},
		{"--to-time", "1ms", ""},
	} {
		r := gpurec(t, "export", a, c.flag, c.at, "-o", filepath.Join(t.TempDir(), "x.json"))
		if r.code != 0 || strings.Contains(r.stderr, " lies ") != (c.want != "") || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s %s: status %d: %s, want %s", c.flag, c.at, r.code, r.stderr, c.want)
		}
	}
}
