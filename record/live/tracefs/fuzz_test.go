package tracefs

import (
	"strings"
	"testing"
)

func FuzzInstanceOwner(f *testing.F) {
	f.Add("gpurec-123-456789")
	f.Add("gpurec-123-456789-2")
	f.Fuzz(func(t *testing.T, name string) {
		if o, ok := instanceOwner(name); ok && (o.pid <= 0 || !strings.HasPrefix(name, instancePrefix)) {
			t.Errorf("%q belongs to %+v", name, o)
		}
	})
}

func FuzzParseStats(f *testing.F) {
	f.Add("entries: 5\noverrun: 7\nnow ts:  13.9\ndropped events: 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		_ = parseStats(text).lost()
		_, _ = parseStatus(text)
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("sched:sched_*")
	f.Add("a[")
	all := []tracepoint{{"sched", "sched_switch"}, {"irq", "irq_handler_entry"}}
	f.Fuzz(func(t *testing.T, pattern string) {
		got, _, err := resolve(all, []string{pattern}, nil)
		if err == nil && (len(got) == 0 || len(got) > len(all)) {
			t.Errorf("%q fits %v", pattern, got)
		}
	})
}
