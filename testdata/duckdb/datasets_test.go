package duckdb

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/testdata/lab/check"
)

// notRead are files of the field that no importer takes, or that hold no event.
var notRead = []string{".textproto", "143-perfetto-json-json_incomplete.json"}

// everyDataset asks for all datasets, which takes minutes.
var everyDataset = flag.Bool("all", false, "compare all datasets, not only one of each kind")

// few are the datasets of a run without -all: one of each kind.
var few = []string{"demo.gpurec", "6.12.117", "024-", "028-", "041-", "045-", "055-", "123-", "130-", "156-", "160-", "180-", "6.12-recorded-newer", "6.12-starved-legacy", "6.12-hang-both"}

// datasets lists what the tests have, by name: the demo, captures of kernels,
// traces from the field, recordings and raw pages of the lab.
func datasets(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"demo.gpurec": "../demo/demo.gpurec"}
	add := func(pattern string) (n int) {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name := filepath.Base(f)
			if name == "trace.txt" || name == "raw" {
				name = filepath.Base(filepath.Dir(f)) + "/" + name
			}
			all[name] = f
		}
		return len(files)
	}
	add("../golden/*.gpurec")
	if add("../../../shared/traces/[0-9]*")+add("../../../shared/captures/*/trace.txt") == 0 {
		t.Log("no traces and captures beside the checkout (../shared): only what is of the project itself")
	}
	packed, _ := filepath.Glob("../lab/captures/*.tar.gz")
	if len(packed) == 0 {
		t.Fatal("no captures of the lab")
	}
	for _, p := range packed {
		name := strings.TrimSuffix(filepath.Base(p), ".tar.gz")
		if !*everyDataset && !slices.ContainsFunc(few, func(f string) bool { return strings.HasPrefix(name, f) }) {
			continue
		}
		dir := t.TempDir()
		if err := check.Unpack(p, dir); err != nil {
			t.Fatal(err)
		}
		logs, _ := filepath.Glob(filepath.Join(dir, "*.gpurec"))
		for _, l := range logs {
			all[name+"/"+filepath.Base(l)] = l
		}
		all[name+"/raw"] = rawFolder(t, dir)
	}
	return all
}

// rawFolder lays a capture of the lab out as a folder of raw pages.
func rawFolder(t *testing.T, dir string) string {
	t.Helper()
	formats, _ := filepath.Glob(filepath.Join(dir, "formats", "*.*"))
	pages, _ := filepath.Glob(filepath.Join(dir, "raw", "*"))
	if len(formats) == 0 || len(pages) == 0 {
		t.Fatalf("%s: no formats or no pages", dir)
	}
	for _, f := range formats {
		system, name, _ := strings.Cut(filepath.Base(f), ".")
		to := filepath.Join(dir, "events", system, name)
		if err := os.MkdirAll(to, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(f, filepath.Join(to, "format")); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range pages {
		if err := os.Rename(f, filepath.Join(dir, filepath.Base(f))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// On every dataset every figure of the report is what the views compute, every
// query of a finding finds something, and every view runs.
func TestReportOfEveryDataset(t *testing.T) {
	gpurec := buildAny(t)
	all := views(t)
	figures, findings, compared, left := 0, 0, 0, 0
	for name, file := range datasets(t) {
		if slices.ContainsFunc(notRead, func(s string) bool { return strings.HasSuffix(name, s) }) {
			continue
		}
		if !*everyDataset && !slices.ContainsFunc(few, func(f string) bool { return strings.HasPrefix(name, f) }) {
			left++
			continue
		}
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			for _, args := range [][]string{{"convert", "--quiet", file, out + "/"}, {"report", "--json", file}} {
				text, err := gpurec(args...)
				var exit *exec.ExitError
				if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 3) { // 3: a part could not be read
					t.Fatal(err)
				}
				if args[0] == "convert" {
					continue
				}
				rep := decode(t, text)
				db := open(t, out)
				load(t, db)
				figures += compare(t, db, rep)
				findings += len(rep["findings"].([]any))
				compared++
				runSQL(t, db, rep)
				for _, v := range all {
					query(t, db, "SELECT * FROM "+v)
				}
			}
		})
	}
	t.Logf("%d datasets, %d figures compared, %d findings; %d datasets more with -all", compared, figures, findings, left)
}
