package gpulog

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// randomEvent returns an event with any kind, fields and values.
func randomEvent(r *rand.Rand) event.Event {
	k := event.Kind(1 + r.IntN(int(event.NumKinds)-1))
	e := event.New(k, event.Time(randomNum(r)))
	if r.IntN(8) == 0 {
		e.Time = event.NoTime
	}
	e.Flags = event.Flags(r.IntN(256))
	if r.IntN(2) == 0 {
		e.CPU, e.PID, e.TID = int32(randomNum(r)), int32(randomNum(r)), int32(randomNum(r))
	}
	e.Comm, e.Source = randomString(r), randomString(r)
	for _, f := range k.Spec().Fields {
		if r.IntN(3) == 0 {
			continue
		}
		if k.Place(f).IsString() {
			e.SetStr(f, randomString(r))
		} else {
			e.SetUint(f, randomNum(r))
		}
	}
	return e
}

func randomNum(r *rand.Rand) uint64 {
	switch r.IntN(6) {
	case 0:
		return 0
	case 1:
		return math.MaxUint64 - uint64(r.IntN(3))
	case 2:
		return 1<<63 + uint64(r.IntN(3)) - 1
	case 3:
		return uint64(r.IntN(300))
	case 4:
		return r.Uint64() >> r.IntN(64)
	}
	return uint64(r.Int64())
}

func randomString(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return ""
	case 1:
		return "\xff\x00\xfe"
	case 2:
		return strings.Repeat("é", r.IntN(40))
	}
	return fmt.Sprintf("name%d", r.IntN(20))
}

func randomEvents(seed uint64, n int) []event.Event {
	r := rand.New(rand.NewPCG(seed, 1))
	evs := make([]event.Event, n)
	for i := range evs {
		evs[i] = randomEvent(r)
	}
	return evs
}

// write returns a log of evs.
func write(t testing.TB, evs []event.Event, o WriterOptions) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, &event.Meta{Tool: "gpurec", Clock: event.ClockBoottime}, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(evs); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// readAll returns all events of a log, and its reader at its end.
func readAll(t testing.TB, log []byte) ([]event.Event, *Reader) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(log), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	var out []event.Event
	for {
		err := r.Next(&b)
		if err == io.EOF {
			return out, r
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Events) == 0 {
			t.Fatal("Next gave no event and no error")
		}
		out = append(out, b.Events...)
	}
}

func compare(t testing.TB, got, want []event.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if !got[i].Equal(&want[i]) {
			t.Fatalf("event %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

func TestRoundTripRandom(t *testing.T) {
	for seed := uint64(1); seed <= 6; seed++ {
		evs := randomEvents(seed, 1500*int(seed))
		log := write(t, evs, WriterOptions{BlockEvents: 700 * int(seed)})
		got, r := readAll(t, log)
		compare(t, got, evs)
		if l := r.Counters().List(); len(l) > 0 {
			t.Fatalf("anomalies in a sound log: %+v", l)
		}
		if !r.Stats().Complete || r.Truncated() != nil || r.Stats().Events != uint64(len(evs)) || r.Stats().Bytes != int64(len(log)) {
			t.Fatalf("stats %+v, cut %v", r.Stats(), r.Truncated())
		}
	}
}

// source is what importers' readers and correlate ask of what they read.
type source interface {
	event.Source
	Meta() *event.Meta
	Counters() *event.Counters
	Close() error
}

var (
	_ source  = (*Reader)(nil)
	_ source  = (*Sorter)(nil)
	_ Bounded = (*Reader)(nil)
)
