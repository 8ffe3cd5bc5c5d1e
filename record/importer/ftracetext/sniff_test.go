package ftracetext

import (
	"bytes"
	"strings"
	"testing"
)

func TestSniffZeros(t *testing.T) {
	line := "             app-1000    [000] ..... 100.000000: sched_waking: comm=a pid=1 prio=120 target_cpu=000\n"
	zeros := strings.Repeat("\x00", 5000)
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"the tail that a crash left":   {"# tracer: nop\n#\n" + line + zeros, true},
		"zeros between events":         {line + zeros + "\n" + line, true},
		"zeros before the first event": {zeros + line, false},
		"a binary with a line in it":   {"\x7fELF\x00\x00\n" + line, false},
		"zeros alone":                  {zeros, false},
	} {
		if got := sniff([]byte(c.head)); got != c.want {
			t.Errorf("%s: claimed: %v", name, got)
		}
	}
	if sniff(bytes.Repeat([]byte("\n"), 100)) {
		t.Error("empty lines are claimed")
	}
}
