package correlate

import (
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// A gap may be longer than what is remembered one by one: what a thread did over
// and over is known all the same, and what is forgotten is not called user code.
func TestHistoryOfLongGaps(t *testing.T) {
	poll := func(th *thread, n int, every, long event.Time) {
		for i := range event.Time(n) {
			th.history.add(span{kind: wasIoctl, start: i * every, end: i*every + long, name: "POLL"})
		}
	}
	switches := &engine{}
	switches.events[event.KindSchedSwitch] = 1
	for _, c := range []struct {
		name        string
		every, long event.Time
		from, to    event.Time
		want        string
	}{
		{"99 % in an ioctl, 100 times", 1000, 990, 0, 100_000, "in ioctl POLL"},
		{"the second half of it", 1000, 990, 50_500, 100_000, "in ioctl POLL"},
		{"the same, and then four times as long nothing", 1000, 990, 0, 500_000, "in user code"},
		{"1 % in an ioctl: most is forgotten", 1000, 10, 0, 100_000, ""},
		{"1 %, as far as it is remembered", 1000, 10, 80_000, 100_000, "in user code"},
	} {
		var th thread
		poll(&th, 100, c.every, c.long)
		if got := th.was(switches, c.from, c.to); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if len(th.history.spans) > historyLen {
			t.Errorf("%s: %d spans are kept", c.name, len(th.history.spans))
		}
	}
	// Two things by turns: each has its own sum.
	var th thread
	for i := range event.Time(100) {
		th.history.add(span{kind: wasCall, start: i * 1000, end: i*1000 + 900, name: "cuEventQuery"})
		th.history.add(span{kind: wasIoctl, start: i*1000 + 10, end: i*1000 + 600, name: "POLL"})
	}
	if got := th.was(switches, 0, 100_000); got != "in ioctl POLL" { // 59 % of it, the rest of the call 31 %
		t.Errorf("an ioctl in a call, by turns: %q", got)
	}
}

// Without thread switches a thread that is in nothing may as well sleep.
func TestHistoryWithoutSwitches(t *testing.T) {
	var th thread
	th.history.add(span{kind: wasIoctl, start: 0, end: 10, name: "POLL"})
	e := &engine{}
	if got := th.was(e, 0, 100); got != "in user code or asleep" {
		t.Errorf("%q", got)
	}
	if got := th.was(e, 0, 12); got != "in ioctl POLL" {
		t.Errorf("%q", got)
	}
}
