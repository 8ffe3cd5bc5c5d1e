package gpulog

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

func fullMeta() *event.Meta {
	return &event.Meta{
		Tool: "gpurec", ToolVersion: "0.1.0", Format: "live", Clock: event.ClockBoottime,
		Host:    event.Host{Name: "h\xff", Kernel: "6.12.1", Machine: "x86_64", BootID: "b-1", CPUs: 128},
		Command: []string{"./train.py", "", "\xfe"}, ExitStatus: event.Some(0), Start: event.Some(event.Time(-5)), End: event.Some(event.Time(0)),
		Snapshots: []event.ClockSnapshot{{Boottime: 1, Monotonic: -2, MonotonicRaw: 3, Realtime: math.MaxInt64}},
		Probes:    []event.Probe{{Name: "cuLaunchKernel", Mechanism: "uprobe_multi", State: "attached", Reason: "r", Hits: math.MaxUint64, Misses: 2, Lost: 3, RunTimeNS: 4}},
		Cost:      event.Cost{CPUTimeNS: 1, BytesWritten: 2, Events: 3},
		Inputs:    []string{"a.txt"},
		Anomalies: []event.Anomaly{{AnomalySpec: &event.AnomalySpec{Name: "x", Severity: event.SeverityLoss, Doc: "d", Remedy: "r"}, Count: 4, Sample: "line 3"}},
		Facts:     []event.Fact{{Key: "k", Value: "v"}, {Key: "k", Value: "w"}},
	}
}

// Every field of the metadata is set above, so that none is forgotten here.
func TestMetaRoundTrip(t *testing.T) {
	want := fullMeta()
	v := reflect.ValueOf(*want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("field %s is not tested", v.Type().Field(i).Name)
		}
	}
	var buf bytes.Buffer
	w, err := NewWriter(&buf, want, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(bytes.NewReader(buf.Bytes()), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Meta(), want) {
		t.Fatalf("\n got %+v\nwant %+v", r.Meta(), want)
	}
	// Unknown stays unknown.
	if err := w.Close(&event.Meta{}); err != nil {
		t.Fatal(err)
	}
	_, r = readAll(t, buf.Bytes())
	if !reflect.DeepEqual(r.Meta(), &event.Meta{}) {
		t.Fatalf("%+v, want nothing", r.Meta())
	}
}

// Snapshots that are added each second cost their own bytes only, and are all
// there wherever the log ends.
func TestSnapshotsAreAdded(t *testing.T) {
	var buf bytes.Buffer
	m := fullMeta()
	m.Facts = []event.Fact{{Key: "big", Value: strings.Repeat("0123456789abcdef", 4000)}}
	w, err := NewWriter(&buf, m, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := buf.Len()
	for i := range 500 {
		m.Snapshots = append(m.Snapshots, event.ClockSnapshot{Boottime: event.Time(i) * 1e9, Realtime: event.Time(i)*1e9 + 17})
		if err := w.WriteMeta(m); err != nil {
			t.Fatal(err)
		}
		if i == 250 {
			m.Probes[0].Hits++
		}
	}
	if err := w.WriteMeta(m); err != nil { // nothing new
		t.Fatal(err)
	}
	if n := buf.Len() - before; n > 500*130+70000 {
		t.Errorf("500 snapshots took %d bytes", n)
	}
	r, err := NewReader(bytes.NewReader(buf.Bytes()), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Meta(), m) {
		t.Fatalf("%d snapshots, want %d", len(r.Meta().Snapshots), len(m.Snapshots))
	}
}

// Metadata larger than a block is written in parts; too much of it is an error.
func TestLargeMeta(t *testing.T) {
	m := &event.Meta{}
	for i := range 100000 {
		m.Probes = append(m.Probes, event.Probe{Name: fmt.Sprint("function_", i), Reason: "the library has no such function"})
	}
	log := func() []byte {
		var buf bytes.Buffer
		w, err := NewWriter(&buf, m, WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(nil); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}()
	_, r := readAll(t, log)
	if !reflect.DeepEqual(r.Meta(), m) {
		t.Fatalf("%d probes, want %d", len(r.Meta().Probes), len(m.Probes))
	}
	if n := r.Stats().BlocksByType["meta"]; n < 8 {
		t.Fatalf("%d metadata blocks", n)
	}
	m.Facts = []event.Fact{{Value: strings.Repeat("x", MaxBody*MaxMetaParts)}}
	if _, err := NewWriter(new(bytes.Buffer), m, WriterOptions{}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Fatalf("error %v", err)
	}
}
