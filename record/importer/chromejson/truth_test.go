package chromejson

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// indexed lists the shared traces of the formats of this package.
func indexed(t *testing.T) (all []string) {
	for _, f := range importtest.Rows(t, "INDEX.tsv") {
		if f[2] == "kineto" || f[2] == "chrome-json" {
			all = append(all, f[1])
		}
	}
	return all
}

// openShared opens a shared trace, also the one in a zip file.
func openShared(t *testing.T, name string) *importer.Stream {
	t.Helper()
	path := importtest.Shared(t, "traces", name)
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		f, err := z.File[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		s, err := importer.NewStream(name, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, err := importer.OpenStream(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readAll reads an input to its end, or to the error that ends it.
func readAll(t testing.TB, in io.Reader) ([]event.Event, *reader, error) {
	t.Helper()
	got, err := open(importer.Input{Name: "in", R: in}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := got.(*reader)
	var all []event.Event
	var b event.Batch
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			return all, r, nil
		}
		if err != nil {
			return all, r, err
		}
		if len(b.Events) == 0 {
			t.Fatal("a batch without events")
		}
		all = append(all, b.Events...)
	}
}

// shape counts what the truths count, in what was imported.
type shape struct {
	events uint64
	phases [256]uint64
	cats   map[string]int64
	flows  map[flowKey]uint8
}

type flowKey struct {
	cat string
	id  uint64
}

func measure(evs []event.Event, r *reader) *shape {
	s := &shape{phases: r.m.phases, cats: map[string]int64{}, flows: map[flowKey]uint8{}}
	for _, n := range r.m.phases {
		s.events += n
	}
	for i := range evs {
		e := &evs[i]
		cat := e.Str(event.FieldCategory)
		switch e.Kind {
		case event.KindAPI, event.KindGPUActivity:
			cat = strings.TrimPrefix(e.Source, "kineto:")
		case event.KindFlow:
			id, _ := e.Uint(event.FieldFlowID)
			step, _ := e.Uint(event.FieldStep)
			s.flows[flowKey{cat, id}] |= 1 << step
			continue
		case event.KindSlice:
		default:
			continue
		}
		if cat == "" {
			cat = "None"
		}
		s.cats[cat]++
	}
	return s
}

// value returns what the truth of a quantity should be; ok is false if it is
// none of this package's.
func (s *shape) value(quantity string) (string, bool) {
	n := int64(0)
	switch {
	case quantity == "events":
		n = int64(s.events)
	case strings.HasPrefix(quantity, "ph ") && len(quantity) == 4:
		n = int64(s.phases[quantity[3]])
	case strings.HasPrefix(quantity, "X cat "):
		n = s.cats[quantity[len("X cat "):]]
	case quantity == "flow s without f":
		for _, steps := range s.flows {
			if steps&1 != 0 && steps&4 == 0 {
				n++
			}
		}
	case quantity == "flow f without s":
		for _, steps := range s.flows {
			if steps&4 != 0 && steps&1 == 0 {
				n++
			}
		}
	default:
		return "", false
	}
	return strconv.FormatInt(n, 10), true
}

// TestTruths compares what the shared traces hold with what is known of them.
func TestTruths(t *testing.T) {
	met, elsewhere, failed := 0, 0, 0
	for _, name := range indexed(t) {
		st := openShared(t, name)
		evs, r, err := readAll(t, st.R)
		st.Close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s := measure(evs, r)
		for _, truth := range importtest.Truths(t, name) {
			got, ok := s.value(truth[0])
			switch {
			case !ok:
				elsewhere++
			case got == truth[1]:
				met++
			default:
				failed++
				t.Errorf("%s: %s is %s, want %s", name, truth[0], got, truth[1])
			}
		}
	}
	t.Logf("truths: %d met, %d failed, %d need correlation (tested with the command)", met, failed, elsewhere)
	if met == 0 {
		t.Error("no truth was found")
	}
}

// TestSniffClaimsItsOwn: every shared trace is claimed by its format alone.
func TestSniffClaimsItsOwn(t *testing.T) {
	chrome, kineto := Format(), Kineto()
	for _, f := range importtest.Rows(t, "INDEX.tsv") {
		if strings.HasSuffix(f[1], ".zip") {
			continue // its members are opened one by one
		}
		st, err := importer.OpenStream(importtest.Shared(t, "traces", f[1]))
		if err != nil {
			continue
		}
		gotChrome, gotKineto := chrome.Sniff(st.Head), kineto.Sniff(st.Head)
		st.Close()
		wantKineto := f[2] == "kineto" || strings.HasPrefix(f[1], "177-") // that one holds Kineto's events
		wantChrome := f[2] == "chrome-json" && !wantKineto
		if gotChrome != wantChrome || gotKineto != wantKineto {
			t.Errorf("%s (%s): chrome-json %v, kineto %v", f[1], f[2], gotChrome, gotKineto)
		}
	}
}
