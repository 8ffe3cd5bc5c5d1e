package event

import (
	"math"
	"testing"
)

// Every kind has a name that leads back to it, a doc, and fields that fit.
func TestKindSpecs(t *testing.T) {
	for k := Kind(1); k < NumKinds; k++ {
		s := k.Spec()
		if s.Kind != k || s.Name == "" || s.Doc == "" {
			t.Errorf("kind %d: spec %+v is not its own or not whole", k, s)
		}
		if KindByName(s.Name) != k {
			t.Errorf("KindByName(%q) = %v", s.Name, KindByName(s.Name))
		}
		seen := map[Field]bool{}
		for _, f := range s.Fields {
			if seen[f] {
				t.Errorf("%s has %v twice", s.Name, f)
			}
			seen[f] = true
			if f.Spec().Type == TypeNone {
				t.Errorf("%s: field %d has no type", s.Name, f)
			}
		}
	}
	if NumKinds.String() != "unknown" || Kind(255).Spec().Name != "unknown" {
		t.Error("a kind outside the table must be unknown, not a panic")
	}
}

func TestFieldSpecs(t *testing.T) {
	names := map[string]Field{}
	for f := Field(1); f < NumFields; f++ {
		s := f.Spec()
		if s.Field != f || s.Name == "" || s.Doc == "" {
			t.Errorf("field %d: spec %+v is not its own or not whole", f, s)
		}
		if o, dup := names[s.Name]; dup {
			t.Errorf("fields %d and %d are both %q", o, f, s.Name)
		}
		names[s.Name] = f
		if FieldByName(s.Name) != f {
			t.Errorf("FieldByName(%q) = %v", s.Name, FieldByName(s.Name))
		}
	}
	if Field(255).String() != "" {
		t.Error("a field outside the table has a name")
	}
}

// A field is unknown until set, whatever its value, and each field of each
// kind has a place of its own.
func TestFieldsKeepTheirValues(t *testing.T) {
	for k := Kind(1); k < NumKinds; k++ {
		e := New(k, 7)
		for _, f := range k.Spec().Fields {
			if e.Has(f) {
				t.Errorf("%v: %v is known before it is set", k, f)
			}
		}
		for i, f := range k.Spec().Fields {
			if isString(f) {
				e.SetStr(f, string(rune('a'+i)))
			} else {
				e.SetUint(f, uint64(i))
			}
		}
		for i, f := range k.Spec().Fields {
			if isString(f) {
				if got := e.Str(f); got != string(rune('a'+i)) {
					t.Errorf("%v: %v = %q", k, f, got)
				}
				continue
			}
			if got, ok := e.Uint(f); !ok || got != uint64(i) {
				t.Errorf("%v: %v = %d, %v", k, f, got, ok)
			}
		}
	}
}

func TestAccessorsNeverPanic(t *testing.T) {
	for k := Kind(0); k < NumKinds; k++ {
		e := New(k, NoTime)
		for f := Field(0); f < NumFields; f++ {
			e.Has(f)
			e.Uint(f)
			e.Int(f)
			e.Float(f)
			e.Bool(f)
			e.Str(f)
			e.TimeOf(f)
			e.Clear(f)
		}
	}
}

func TestZeroIsKnownAndEmptyIsNot(t *testing.T) {
	e := New(KindCounter, 0)
	e.SetFloat(FieldValue, 0)
	if v, ok := e.Float(FieldValue); !ok || v != 0 {
		t.Error("a zero that was set must be known")
	}
	e.SetStr(FieldUnit, "")
	if e.Has(FieldUnit) {
		t.Error("an empty string is unknown")
	}
	e.Clear(FieldValue)
	if e.Has(FieldValue) {
		t.Error("a cleared field must be unknown")
	}
	s := New(KindSlice, 5)
	s.SetTime(FieldStart, NoTime)
	if s.Has(FieldStart) || s.TimeOf(FieldStart) != NoTime {
		t.Error("NoTime must leave a time unknown")
	}
}

func TestFenceKeys(t *testing.T) {
	e := New(KindJobDep, 1)
	if _, ok := e.OnFence(); ok {
		t.Error("a fence out of nothing")
	}
	e.SetUint(FieldOnFenceContext, 5<<32|3)
	if _, ok := e.OnFence(); ok {
		t.Error("half a fence is no fence")
	}
	e.SetUint(FieldOnFenceSeqno, math.MaxUint64)
	k, ok := e.OnFence()
	if !ok || k != (FenceKey{5<<32 | 3, math.MaxUint64}) {
		t.Errorf("fence = %v, %v", k, ok)
	}
	if k.Low32() != (FenceKey{3, math.MaxUint32}) || k.String() != "21474836483:18446744073709551615" {
		t.Errorf("low %v, text %v", k.Low32(), k)
	}
}

func TestBatchForgetsItsPast(t *testing.T) {
	var b Batch
	e := b.Add(KindMark, 1)
	e.SetStr(FieldName, "old")
	e.Comm = "old"
	b.Reset()
	e = b.Add(KindMark, 2)
	if e.Has(FieldName) || e.Comm != "" || e.PID != NoID || len(b.Events) != 1 {
		t.Errorf("a reused event remembers: %+v", e)
	}
}

func TestCounters(t *testing.T) {
	lost := &AnomalySpec{Name: "b_lost", Severity: SeverityLoss}
	odd := &AnomalySpec{Name: "a_odd", Severity: SeverityInfo}
	var c, d Counters
	if _, any := c.Worst(); any || len(c.List()) != 0 {
		t.Error("new counters are not empty")
	}
	c.Add(lost, 0)
	if _, any := c.Worst(); any {
		t.Error("nothing was counted")
	}
	c.AddAt(odd, 2, "line 3")
	d.AddAt(odd, 1, "line 9")
	d.Add(lost, 5)
	c.Merge(&d)
	l := c.List()
	if len(l) != 2 || l[0].Name != "b_lost" || l[0].Count != 5 || l[1].Count != 3 || l[1].Sample != "line 3" {
		t.Errorf("list = %+v", l)
	}
	if w, _ := c.Worst(); w != SeverityLoss || c.Get(odd) != 3 {
		t.Errorf("worst %v, odd %d", w, c.Get(odd))
	}
}

func TestEnumsNameTheUnknown(t *testing.T) {
	if API(200).String() != "unknown" || Role(200).String() != "unknown" || APIByName("hip") != APIHIP || APIByName("?") != APIUnknown {
		t.Error("enum outside of its table")
	}
	if Direction(DirHtoD).String() != "HtoD" || Activity(ActivityMemset).String() != "memset" || TaskExec.String() != "exec" {
		t.Error("enum names")
	}
}

func BenchmarkSetAndGet(b *testing.B) {
	var bt Batch
	for b.Loop() {
		bt.Reset()
		e := bt.Add(KindJobQueue, 1)
		e.SetStr(FieldRing, "gfx")
		e.SetUint(FieldFenceContext, 4)
		e.SetUint(FieldFenceSeqno, 9)
		if _, ok := e.Fence(); !ok {
			b.Fatal("lost")
		}
	}
}
