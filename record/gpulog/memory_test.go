package gpulog

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// TestStringsStandAlone: who keeps one long name of each block keeps that name,
// not the names of the whole block.
func TestStringsStandAlone(t *testing.T) {
	const blocks, names, length = 40, 500, 1000 // 20 MB of names
	evs := make([]event.Event, 0, blocks*names)
	long := strings.Repeat("k", length)
	for i := range blocks * names {
		e := event.New(event.KindMark, event.Time(i))
		e.SetStr(event.FieldName, strconv.Itoa(i)+long)
		evs = append(evs, e)
	}
	log := write(t, evs, WriterOptions{BlockEvents: names})
	evs = nil
	r, err := NewReader(bytes.NewReader(log), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	var b event.Batch
	for n := 0; ; {
		if err := r.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Events {
			if n%names == 0 {
				kept = append(kept, b.Events[i].Str(event.FieldName))
			}
			n++
		}
	}
	b, r = event.Batch{}, nil
	log = nil
	with := liveHeap()
	if len(kept) != blocks || !strings.HasPrefix(kept[1], strconv.Itoa(names)) {
		t.Fatalf("%d names kept", len(kept))
	}
	kept = nil
	if held := with - min(with, liveHeap()); held > 2<<20 {
		t.Errorf("%d names of %d bytes hold %d bytes", blocks, length, held)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
