package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

var _ export.Sink = (*Builder)(nil)

func build(t *testing.T, rows *correlate.Rows) *Report {
	t.Helper()
	b := NewBuilder("gpurec test")
	sum := &correlate.Summary{Start: 1000, End: 5_001_000, Rows: map[string]uint64{"jobs": 2}}
	sum.Meta.Clock = event.ClockBoottime
	if err := b.Begin(&sum.Meta); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := b.End(sum); err != nil {
		t.Fatal(err)
	}
	return b.Report()
}

func rowsByHand() *correlate.Rows {
	dur := func(v int64) correlate.OptDur { return event.Some(v) }
	at := func(v event.Time) correlate.OptTime { return event.Some(v) }
	return &correlate.Rows{
		Jobs: []correlate.Job{
			{ID: 1, DeviceID: 1, Ring: "gfx", QueueDelayNS: dur(100), DeviceTimeNS: dur(3000)},
			{ID: 2, DeviceID: 1, Ring: "gfx", QueueDelayNS: dur(300)}, // never ran to its end
		},
		Rings: []correlate.Ring{{ID: 1, DeviceID: 1, Ring: "gfx", Jobs: 2, Done: 1, BusyNS: dur(3000), IdleNS: dur(50), MaxBacklog: 2}},
		IdleGaps: []correlate.IdleGap{
			{DeviceID: 1, Ring: "gfx", StartNS: at(10), EndNS: at(30), Cause: "dependency"},
			{DeviceID: 1, Ring: "gfx", StartNS: at(40), EndNS: at(70), Cause: "nothing_submitted"},
		},
		APICalls: []correlate.APICall{
			{BaseName: "cuLaunchKernel", API: "cuda_driver", DurNS: dur(500), EndKind: "returned", Result: event.Some(int64(0))},
			{BaseName: "cuLaunchKernel", API: "cuda_driver", EndKind: "open"},
			{BaseName: "cuMemAlloc", API: "cuda_driver", DurNS: dur(900), EndKind: "returned", Result: event.Some(int64(2))},
			{BaseName: "cuStreamQuery", API: "cuda_driver", DurNS: dur(10), EndKind: "returned", Result: event.Some(int64(600))},
		},
		Ioctls: []correlate.Ioctl{
			{Driver: "amdgpu", Name: "AMDGPU_CS", Role: "submit", DurNS: dur(40), Errno: event.Some(int64(12))},
			{Driver: "amdgpu", Name: "AMDGPU_CS", Role: "submit", DurNS: dur(60)},
		},
		Unmatched: []correlate.Unmatched{{SrcTable: "jobs", SrcID: 2, Link: "done", Reason: "after_stop"}},
		Devices:   []correlate.Device{{ID: 1, Index: 0, Driver: "amdgpu"}},
		Losses:    []correlate.Loss{{ID: 1, Stream: "bpf", Count: event.Some(uint64(37)), Remedy: "raise the ring"}},
	}
}

func TestReportByHand(t *testing.T) {
	r := build(t, rowsByHand())
	if len(r.Rings) != 1 {
		t.Fatalf("rings %+v", r.Rings)
	}
	g := r.Rings[0]
	if g.GPU != "0 (amdgpu)" || g.QueueDelay.Count != 2 || g.QueueDelay.MaxNS != 300 || g.QueueDelay.P50NS != 100 ||
		g.DeviceTime.Count != 1 || g.DeviceTime.SumNS != 3000 || g.MaxBacklog != 2 {
		t.Errorf("ring %+v", g)
	}
	if len(g.IdleByCause) != 2 || g.IdleByCause[0].Cause != "nothing_submitted" || g.IdleByCause[0].Count != 1 || g.IdleByCause[0].SumNS != 30 {
		t.Errorf("idle %+v", g.IdleByCause)
	}
	if a := r.API; a[0].Name != "cuMemAlloc" || a[0].Failed != 1 || a[1].Calls != 2 || a[1].Open != 1 || a[1].Time.Count != 1 || a[2].Failed != 0 {
		t.Errorf("api %+v", a)
	}
	if f := r.FailedIoctls; len(f) != 1 || *f[0].Errno != 12 || f[0].Error != "cannot allocate memory" || f[0].Count != 1 {
		t.Errorf("failed %+v", f)
	}
}

func TestReportForms(t *testing.T) {
	r := build(t, rowsByHand())
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0 (amdgpu)", "AMDGPU_CS", "cannot allocate memory (12)", "after stop", "37 events in 1 gap\n", "raise the ring", "3.00 µs", "nothing submitted"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("text lacks %q:\n%s", want, &b)
		}
	}
	j, err := json.Marshal(r)
	if err != nil || !json.Valid(j) {
		t.Fatal(err)
	}
	empty := build(t, &correlate.Rows{})
	b.Reset()
	if err := empty.WriteText(&b); err != nil || !strings.Contains(b.String(), "losses    none") {
		t.Errorf("empty report: %v\n%s", err, &b)
	}
}

func TestTextOfDevicesWithoutRings(t *testing.T) {
	at := func(v event.Time) correlate.OptTime { return event.Some(v) }
	var b bytes.Buffer
	r := build(t, &correlate.Rows{
		Devices:  []correlate.Device{{ID: 1, Name: "H100"}},
		IdleGaps: []correlate.IdleGap{{DeviceID: 1, StartNS: at(0), EndNS: at(30), Cause: "launch_latency"}, {DeviceID: 1, StartNS: at(40), EndNS: at(50), Cause: "nothing_submitted"}},
	})
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "GPU rings") || !strings.Contains(b.String(), "0 (H100)  -     launch latency") || !strings.Contains(b.String(), "30 ns       75.0    30 ns\n") {
		t.Errorf("%s", &b)
	}
}

func TestNoLossesIsNotSaidOfHalfALog(t *testing.T) {
	for name, want := range map[string]string{"log_unfinished": "losses    none known", "log_cut": "losses    none known", "other": "losses    none\n"} {
		var b bytes.Buffer
		r := build(t, &correlate.Rows{Anomalies: []correlate.AnomalyRow{{Name: name, Severity: "warning", Count: 1}}})
		if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v\n%s", name, err, &b)
		}
	}
}

func TestTextFits(t *testing.T) {
	rows := rowsByHand()
	rows.Devices[0].Name = "NVIDIA H100 80GB HBM3"
	for i := range rows.Jobs {
		rows.Jobs[i].QueueDelayNS = event.Some(int64(123_456_789))
		rows.Jobs[i].HWQueueNS = event.Some(int64(123_456_789))
	}
	rows.APICalls[1].BaseName = strings.Repeat("x", 100) + "WithFlags"
	rows.APICalls[0].BaseName = "cuGreat\x1b[2J\tName\n"
	for i := range 50 { // more of everything than fits
		n := strings.Repeat("n", i+1)
		rows.GPUActivities = append(rows.GPUActivities, correlate.GPUActivity{ID: 1, Kind: "kernel", Name: n, DurNS: event.Some(int64(i))})
		rows.Ioctls = append(rows.Ioctls, correlate.Ioctl{Name: n, Errno: event.Some(int64(i))})
		rows.Resets = append(rows.Resets, correlate.Reset{Ring: n})
		rows.IdleGaps = append(rows.IdleGaps, correlate.IdleGap{Ring: n, StartNS: event.Some(event.Time(0)), EndNS: event.Some(event.Time(9e7)), Cause: "dependency"})
		rows.Rings = append(rows.Rings, correlate.Ring{Ring: n, Jobs: 1, IdleNS: event.Some(int64(9e7)), BusyNS: event.Some(int64(9e7))})
		rows.Anomalies = append(rows.Anomalies, correlate.AnomalyRow{Name: n, Severity: "warning", Doc: strings.Repeat("word ", 30), Remedy: strings.Repeat("do ", 50)})
	}
	var b bytes.Buffer
	if err := build(t, rows).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n > maxLines {
		t.Errorf("%d lines", n)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > 120 || strings.ContainsAny(line, "\x1b\t") || strings.HasSuffix(line, " \n") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// Who reads the JSON iterates over lists: an empty one must not be null.
func TestJSONListsAreNeverNull(t *testing.T) {
	for _, rows := range []*correlate.Rows{{}, rowsByHand(), {Jobs: []correlate.Job{{ID: 1, Ring: "gfx"}}}} {
		r := build(t, rows)
		v := reflect.ValueOf(r).Elem()
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag.Get("json")
			if f := v.Field(i); f.Kind() == reflect.Slice && f.IsNil() && !strings.Contains(tag, "omitempty") {
				t.Errorf("%s is null", tag)
			}
		}
		for _, x := range r.Rings {
			if x.IdleByCause == nil {
				t.Error("idle_by_cause is null")
			}
		}
	}
}

func TestExitStatus(t *testing.T) {
	for n, want := range map[int]string{0: "exit status 0", 3: "exit status 3", 128: "exit status 128", 139: "exit status 139: segmentation fault", 255: "exit status 255"} {
		if got := exitStatus(n); got != want {
			t.Errorf("exitStatus(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDurations(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1500: "1.50 µs", -2_000_000: "-2.00 ms", 3_250_000_000: "3.250 s"} {
		if got := duration(ns, 1); got != want {
			t.Errorf("dur(%d) = %q, want %q", ns, got, want)
		}
	}
}
