package picture

import (
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// Two ranks have pid 7, one of them two processes of it in a row; an input
// could not be aligned.
func TestPlaces(t *testing.T) {
	a, b := place{"a", event.Some[int64](0), false}, place{"b", event.Some[int64](1), false}
	procs := []*Process{
		{PID: 7, Name: "python", place: a}, {PID: 7, Name: "python", place: b}, {PID: 7, Name: "python", place: a},
		{PID: 9, place: place{unaligned: true}}, {PID: 10, Name: "bash"},
	}
	placeAll(procs)
	for i, want := range []struct {
		shown int64
		label string
	}{{7, "python [a, rank 0]"}, {-1<<40 - 1, "python [b, rank 1]"}, {7, "python [a, rank 0]"}, {9, "[clock not aligned]"}, {10, "bash"}} {
		if p := procs[i]; p.Shown != want.shown || p.Label() != want.label {
			t.Errorf("process %d: %d %q, want %d %q", i, p.Shown, p.Label(), want.shown, want.label)
		}
	}
	one := []*Process{{PID: 7, Name: "python", place: a}, {PID: 8, Name: "sh", place: a}}
	placeAll(one)
	if one[0].Label() != "python" || one[1].Shown != 8 {
		t.Error("one place needs no mention")
	}
}
