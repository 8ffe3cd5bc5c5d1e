package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// Losses are told once per stream and CPU, however many gaps there are.
func TestInfoSumsLosses(t *testing.T) {
	var b strings.Builder
	b.WriteString(strings.SplitAfter(smallTrace, "\n")[0])
	want := map[int]uint64{}
	for i := range 3000 {
		cpu := i % 3
		mark := fmt.Sprintf("CPU:%d [LOST %d EVENTS]\n", cpu, i+1)
		if i%100 == 7 {
			mark = fmt.Sprintf("CPU:%d [LOST EVENTS]\n", cpu)
		} else {
			want[cpu] += uint64(i + 1)
		}
		b.WriteString(mark)
		fmt.Fprintf(&b, "           app-10    [%03d] .....     1.%06d: sched_waking: comm=a pid=1 prio=120 target_cpu=000\n", cpu, 100+i)
	}
	trace := writeFile(t, "lost.txt", b.String())
	var i info
	if err := json.Unmarshal([]byte(must(t, "info", "--json", trace)), &i); err != nil {
		t.Fatal(err)
	}
	if len(i.Losses) != 3 || i.Rows["losses"] != 3000 {
		t.Fatalf("%d losses of %d rows", len(i.Losses), i.Rows["losses"])
	}
	var uncounted uint64
	for _, l := range i.Losses {
		uncounted += l.Uncounted
		if l.CPU == nil || l.Count == nil || *l.Count != want[int(*l.CPU)] || l.Gaps != 1000 {
			t.Errorf("%+v, want %v", l, want)
		}
	}
	if uncounted != 30 {
		t.Errorf("%d uncounted", uncounted)
	}
	if out := must(t, "info", trace); strings.Count(out, "\nloss ") != 3 {
		t.Errorf("text: %s", out)
	}
}

func TestSeconds(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0.000000000", 1: "0.000000001", -1: "-0.000000001", -1_500_000_000: "-1.500000000",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		if got := seconds(ns); got != want {
			t.Errorf("%d: %s, want %s", ns, got, want)
		}
	}
}

// What a log knows of its making is told: as text and as JSON.
func TestInfoTellsTheOrigin(t *testing.T) {
	meta := &event.Meta{Tool: "gpurec", ToolVersion: "1.2.3", Format: "live", Clock: event.ClockBoottime,
		Host:    event.Host{Name: "node7", Kernel: "6.12.1", Machine: "x86_64", BootID: "b-1", CPUs: 48},
		Command: []string{"python3", "train.py", "--name", "a b"}, ExitStatus: event.Some(130),
		Start: event.Some(event.Time(5e9)),
		// BOOTTIME 4 s was 1,700,000,000 s of Unix time: 2023-11-14 22:13:20 UTC.
		Snapshots: []event.ClockSnapshot{{Boottime: 4e9, Realtime: 1_700_000_000e9}}}
	d := event.New(event.KindDevice, 5e9)
	d.SetStr(event.FieldDevice, "0000:81:00.0")
	d.SetStr(event.FieldName, "NVIDIA H100")
	d.SetStr(event.FieldDriver, "nvidia")
	d.SetStr(event.FieldVersion, "550.54")
	log := writeLogFile(t, "run.gpurec", meta, []event.Event{d})
	out := must(t, "info", log)
	if want := "file      " + log + " (gpurec, written by gpurec 1.2.3)\n"; !strings.HasPrefix(out, want) {
		t.Errorf("%q does not begin %s", want, out)
	}
	for _, line := range []string{
		"command   python3 train.py --name 'a b' (exit status 130)",
		"recorded  2023-11-14 22:13:21.000 UTC",
		"host      node7 (Linux 6.12.1 x86_64, 48 CPUs, boot b-1)",
		"GPU 0     NVIDIA H100 (0000:81:00.0, nvidia 550.54)",
	} {
		if !strings.Contains(out, "\n"+line+"\n") {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	var i info
	if err := json.Unmarshal([]byte(must(t, "info", "--json", log)), &i); err != nil {
		t.Fatal(err)
	}
	if *i.ExitStatus != 130 || *i.RecordedNS != 1_700_000_001e9 || i.WrittenBy != "gpurec 1.2.3" || i.Source != "live" ||
		i.Host.Name != "node7" || strings.Join(i.Command, "|") != "python3|train.py|--name|a b" || i.Devices[0].Version != "550.54" {
		t.Errorf("%+v", i)
	}
	// Unknown has no line, and is null.
	bare := writeLogFile(t, "bare.gpurec", &event.Meta{Tool: "gpurec", Format: "live", Clock: event.ClockBoottime}, []event.Event{d})
	out = must(t, "info", bare)
	for _, key := range []string{"command", "recorded", "host", "source"} {
		if strings.Contains(out, "\n"+key+" ") {
			t.Errorf("%s is not known: %s", key, out)
		}
	}
	if js := must(t, "info", "--json", bare); !strings.Contains(js, `"recorded_unix_ns": null`) || !strings.Contains(js, `"exit_status": null`) {
		t.Errorf("%s", js)
	}
}

// Where it is not a log of ours, the file's own base tells when it was.
func TestInfoTellsWhenKinetoWas(t *testing.T) {
	trace := writeFile(t, "k.json", `{"schemaVersion": 1, "deviceProperties": [{"id": 9, "name": "H100"}, {"id": 2}], "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
{"ph": "X", "cat": "kernel", "name": "k", "pid": 9, "tid": 7, "ts": 1000000.000, "dur": 10.000, "args": {"device": 9, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": 7, "ts": 1500000.000, "dur": 10.000, "args": {"device": 2, "stream": 7}}]}`)
	out := must(t, "info", trace)
	for _, line := range []string{"recorded  2023-11-14 22:13:21.000 UTC", "GPU 2     unnamed", "GPU 9     H100"} {
		if !strings.Contains(out, "\n"+line+"\n") {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	// One number a GPU, the source's, in the report and in the picture, which
	// comes back as it went.
	if out := must(t, "report", trace); !strings.Contains(out, "GPU 2: busy") || !strings.Contains(out, "GPU 9 (H100): busy") || strings.Contains(out, "(GPU") {
		t.Errorf("%s", out)
	}
	pf := filepath.Join(t.TempDir(), "k.pftrace")
	must(t, "convert", "-q", trace, pf)
	b, err := os.ReadFile(pf)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "GPU 9 (H100)") || !strings.Contains(string(b), "GPU 2") || strings.Contains(string(b), "(GPU") {
		t.Error("the picture names GPUs otherwise")
	}
	if out := must(t, "info", pf); !strings.Contains(out, "\nGPU 2 ") || !strings.Contains(out, "\nGPU 9 ") || strings.Contains(out, "\nGPU 0") {
		t.Errorf("%s", out)
	}
}
