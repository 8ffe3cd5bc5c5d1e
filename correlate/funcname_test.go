package correlate

import (
	"slices"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// Each mangled name has a row, with what c++filt makes of it; so many as the
// caps allow.
func TestFunctionNames(t *testing.T) {
	var evs []event.Event
	for i, name := range []string{"_Z6kernelPf", "plain", "_ZN12_GLOBAL__N_14axpyEfPKfPf", "_Z6kernelPf", "_Z99x"} {
		e := event.New(event.KindGPUActivity, event.Time(10+i))
		e.PID = 7
		e.SetTime(event.FieldStart, event.Time(5+i))
		e.SetUint(event.FieldActivity, uint64(event.ActivityKernel))
		e.SetStr(event.FieldName, name)
		evs = append(evs, e)
	}
	run := func(o Options) (names []FunctionName, sum *Summary) {
		sum, err := Run(&memSource{events: evs}, o, func(r *Rows) error {
			names = append(names, r.FunctionNames...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return names, sum
	}
	got, sum := run(Options{})
	want := []FunctionName{
		{"_Z6kernelPf", "kernel(float*)", "kernel"},
		{"_ZN12_GLOBAL__N_14axpyEfPKfPf", "(anonymous namespace)::axpy(float, float const*, float*)", "axpy"},
	}
	if !slices.Equal(got, want) || sum.Rows["function_names"] != 2 {
		t.Errorf("%+v", got)
	}
	if got, sum := run(Options{Caps: Caps{Text: 16}}); len(got) != 1 || sum.Counters.Get(&anomalyNameNotListed) != 1 {
		t.Errorf("within 16 bytes: %+v", got)
	}
}
