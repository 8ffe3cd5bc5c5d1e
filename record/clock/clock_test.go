package clock

import (
	"errors"
	"testing"
	"time"

	"github.com/gpurec/gpurec/record/event"
)

func TestNowAgreesWithTheClocks(t *testing.T) {
	before := time.Now().UnixNano()
	b0 := Boottime()
	r, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	b1 := Boottime()
	after := time.Now().UnixNano()
	if r.Boottime < b0 || r.Boottime > b1 {
		t.Errorf("boottime %d is not in [%d, %d]", r.Boottime, b0, b1)
	}
	if int64(r.Realtime) < before || int64(r.Realtime) > after {
		t.Errorf("realtime %d is not in [%d, %d]", r.Realtime, before, after)
	}
	if r.Width < 0 || r.Width > int64(b1-b0) {
		t.Errorf("width %d is outside of [0, %d]", r.Width, b1-b0)
	}
	if r.Monotonic <= 0 || r.Monotonic > b1 || r.MonotonicRaw <= 0 {
		t.Errorf("monotonic %d, raw %d, boottime after %d", r.Monotonic, r.MonotonicRaw, b1)
	}
}

func TestMap(t *testing.T) {
	// The offset grows from 1000 to 1010 between 100 and 200.
	snaps := []event.ClockSnapshot{
		{Boottime: 1210, Monotonic: 200},
		{Boottime: 1100, Monotonic: 100},
		{Boottime: 1100, Monotonic: 100},
		{Monotonic: 150}, // boottime not read
	}
	m, err := NewMap(snaps, event.ClockMonotonic, event.ClockBoottime)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, want event.Time }{
		{0, 1000}, {100, 1100}, {110, 1111}, {150, 1155}, {200, 1210}, {300, 1310},
		{-50, 950}, {event.NoTime, event.NoTime},
	} {
		if got := m.Convert(c.in); got != c.want {
			t.Errorf("Convert(%d) = %d, want %d", c.in, got, c.want)
		}
	}
}

func TestMapSameAndUnrelated(t *testing.T) {
	m, err := NewMap(nil, event.ClockBoottime, event.ClockBoottime)
	if err != nil || m.Convert(7) != 7 {
		t.Errorf("a clock to itself: %v, %v", m, err)
	}
	var nr *NotRelatedError
	_, err = NewMap([]event.ClockSnapshot{{Boottime: 1, Monotonic: 1}}, event.ClockMonotonic, event.ClockRealtime)
	if !errors.As(err, &nr) || nr.To != event.ClockRealtime {
		t.Errorf("no realtime read: %v", err)
	}
	if _, err = NewMap(nil, event.ClockUnknown, event.ClockUnknown); !errors.As(err, &nr) {
		t.Errorf("unknown clocks are not one clock: %v", err)
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		if _, err := Now(); err != nil {
			b.Fatal(err)
		}
	}
}
