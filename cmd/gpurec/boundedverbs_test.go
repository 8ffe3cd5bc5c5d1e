package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/testdata/stress"
)

// peakOf runs a command that must succeed and returns the most memory that it
// held, in MiB.
func peakOf(t *testing.T, args ...string) int {
	t.Helper()
	peak := filepath.Join(t.TempDir(), "peak")
	c := exec.Command(os.Args[0], append(args, "-q")...)
	c.Env = append(os.Environ(), mainEnv+"=1", peakEnv+"="+peak)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil {
		t.Errorf("%v: %v: %s", args, err, stderr.String())
		return 0
	}
	b, err := os.ReadFile(peak)
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.Atoi(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// hostileRings is ftrace text of n jobs that run and never end, on so many rings.
func hostileRings(t *testing.T, n, rings int) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("# tracer: nop\n#\n")
	for i := range n {
		us, fence := 100_000_000+4*i, 0xffff000000000000+64*uint64(i)
		ring := "sdma" + strconv.Itoa(i%rings)
		fmt.Fprintf(&b, "           train-1290    [001] ..... %d.%06d: drm_sched_job: entity=00000000abcd5678, id=%d, fence=%016x, ring=%s, job count:1, hw job count:0\n",
			us/1e6, us%1e6, i+1, fence, ring)
		us++
		fmt.Fprintf(&b, "          %s-300     [001] ..... %d.%06d: drm_run_job: entity=00000000abcd5678, id=%d, fence=%016x, ring=%s, job count:0, hw job count:1\n",
			ring[:min(len(ring), 15)], us/1e6, us%1e6, i+1, fence, ring)
	}
	return writeFile(t, "rings.txt", b.String())
}

// stressLog is a log of a stream of package stress.
func stressLog(t *testing.T, variant string, n int) string {
	t.Helper()
	src, err := stress.New(variant, n)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := gpulog.NewWriter(&out, src.Meta(), gpulog.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	for err = src.Next(&b); err == nil; err = src.Next(&b) {
		if err := w.Write(b.Events); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := w.Close(src.Meta()); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, variant+".gpurec", out.String())
}

// TestVerbsAreBounded: a file of very many rings, open jobs or devices takes no
// verb more than hostile input may.
func TestVerbsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("half a million rows through every export: not with -short")
	}
	inputs := map[string]string{
		"a ring a job":   hostileRings(t, 100000, 100000),
		"open jobs":      hostileRings(t, 100000, 7),
		"a device a job": stressLog(t, "devices", 300000),
	}
	dir := t.TempDir()
	for name, in := range inputs {
		for _, verb := range [][]string{
			{"info", in}, {"correlate", in}, {"report", in}, {"export", in, "-o", filepath.Join(dir, "x.pftrace")},
			{"export", in, "-o", filepath.Join(dir, "x.json")}, {"export", in, "-o", filepath.Join(dir, "tables") + "/"},
		} {
			if mib := peakOf(t, verb...); mib > hostileMemory {
				t.Errorf("%s: %s took %d MiB", name, strings.Join(append(verb[:1:1], verb[2:]...), " "), mib)
			}
		}
	}
}

// TestRingsOfAReport: rings beyond those that have a line are summed up in
// one, and counted.
func TestRingsOfAReport(t *testing.T) {
	const rings, own = 9000, 8192
	var r struct {
		Rings []struct {
			Ring string `json:"ring"`
			Jobs int    `json:"jobs"`
		} `json:"rings"`
		Capped int `json:"rows_without_own_line"`
	}
	if err := json.Unmarshal([]byte(must(t, "report", hostileRings(t, rings, rings), "--json", "-q")), &r); err != nil {
		t.Fatal(err)
	}
	jobs, rest := 0, 0
	for _, x := range r.Rings {
		jobs += x.Jobs
		if x.Ring == "" {
			rest += x.Jobs
		}
	}
	if len(r.Rings) != own+1 || jobs != rings || rest != rings-own {
		t.Errorf("%d lines with %d jobs, %d of them in the last; want %d with %d, %d", len(r.Rings), jobs, rest, own+1, rings, rings-own)
	}
	if r.Capped < rings-own {
		t.Errorf("%d rows have no line of their own", r.Capped)
	}
}
