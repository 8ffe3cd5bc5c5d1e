package duckdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gpurec/gpurec/correlate"
)

// build builds the program and returns a function that runs it.
func build(t *testing.T) func(args ...string) []byte {
	t.Helper()
	run := buildAny(t)
	return func(args ...string) []byte {
		t.Helper()
		out, err := run(args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// buildAny is build for inputs of which a part may not be readable.
func buildAny(t *testing.T) func(args ...string) ([]byte, error) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "gpurec")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/gpurec")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(args ...string) ([]byte, error) {
		var stderr bytes.Buffer
		cmd := exec.Command(bin, args...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("gpurec %q: %w: %s", args, err, stderr.Bytes())
		}
		return out, err
	}
}

// queueEvent is a line of a job that enters a queue, in either generation of
// the scheduler's events.
var queueEvent = regexp.MustCompile(`(?m)^ *\S.* (drm_sched_job|drm_sched_job_queue): `)

// Captures of real kernels: the tables hold what info says, each queue event
// is one job, and every view runs.
func TestCaptures(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/captures/*/trace.txt")
	if len(files) == 0 {
		t.Skip("no captures beside the checkout (../shared/captures)")
	}
	gpurec := build(t)
	all := views(t)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			gpurec("convert", file, dir+"/")
			var info struct {
				Rows map[string]int64 `json:"rows"`
			}
			if err := json.Unmarshal(gpurec("info", "--json", file), &info); err != nil {
				t.Fatal(err)
			}
			db := open(t, dir)
			for _, table := range correlate.Tables {
				if got := query(t, db, "SELECT count(*) FROM "+table.Name)[0][0]; got != info.Rows[table.Name] {
					t.Errorf("%s has %v rows, and info says %d", table.Name, got, info.Rows[table.Name])
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			queued := int64(len(queueEvent.FindAll(text, -1)))
			if got := query(t, db, "SELECT count(queued_ns) FROM jobs")[0][0]; got != queued || queued == 0 {
				t.Errorf("%v jobs were queued, and the text has %d queue events", got, queued)
			}
			for _, name := range all {
				query(t, db, "SELECT * FROM "+name)
			}
			// The ring summary and the chain are about the same jobs.
			if got := fmt.Sprint(query(t, db, "SELECT (SELECT sum(jobs) FROM ring_summary) = (SELECT count(*) FROM jobs), (SELECT count(*) FROM job_chain) = (SELECT count(*) FROM jobs)")); got != "[[true true]]" {
				t.Error("views about jobs count other jobs: ", got)
			}
		})
	}
}
