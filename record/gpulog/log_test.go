package gpulog

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

func TestLogRanges(t *testing.T) {
	evs := marked(250000, func(i int) event.Time { return event.Time(i) })
	log := write(t, evs, WriterOptions{BlockEvents: 100}) // 2500 blocks: three index blocks
	l, err := openBytes(t, log)
	if err != nil {
		t.Fatal(err)
	}
	if start, end := l.Range(); !l.Indexed() || l.Events() != uint64(len(evs)) || start != 0 || end != 249999 {
		t.Fatalf("indexed %v, %d events, %d to %d", l.Indexed(), l.Events(), start, end)
	}
	r, err := l.ReaderBetween(100050, 100149)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, drain(t, r), evs[100000:100200])
	if len(r.Counters().List()) > 0 || r.Truncated() != nil {
		t.Fatalf("%+v, %v", r.Counters().List(), r.Truncated())
	}
	if r, err = l.ReaderBetween(1<<40, 1<<41); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, r); len(got) > 0 {
		t.Fatalf("%d events", len(got))
	}
	// Without its end the log has the same blocks.
	cut, err := openBytes(t, log[:len(log)-10])
	if err != nil {
		t.Fatal(err)
	}
	if cut.Indexed() || !reflect.DeepEqual(cut.index, l.index) {
		t.Fatal("the index made anew is not the log's own")
	}
	if r, err = cut.ReaderBetween(100050, 100149); err != nil {
		t.Fatal(err)
	}
	compare(t, drain(t, r), evs[100000:100200])
}

// A reader of a closed file knows its last metadata from the beginning.
func TestLogMeta(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.gpurec")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(f, &event.Meta{Tool: "gpurec"}, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(randomEvents(1, 10)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(fullMeta()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open(path, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Meta(), fullMeta()) {
		t.Fatalf("%+v", r.Meta())
	}
	drain(t, r)
	if !reflect.DeepEqual(r.Meta(), fullMeta()) {
		t.Fatalf("then %+v", r.Meta())
	}
	if _, err := Open(filepath.Dir(path), ReaderOptions{}); err == nil {
		t.Fatal("a directory was opened")
	}
}
