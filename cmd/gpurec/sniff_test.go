package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/record/importer"
)

// formatOfKind is which importer claims the foreign traces of each kind in
// INDEX.tsv. What is broken or of a flavour is still of its format.
var formatOfKind = map[string][]string{
	"kineto": {"kineto", "chrome-json"}, "chrome-json": {"chrome-json", "kineto"},
	"ftrace": {"ftrace-text"}, "trace.dat": {"trace-dat"}, "perf-script": {"perf-script"},
	"nsys-sqlite": {"nsys-sqlite"}, "perfetto": {"perfetto"}, "perfetto-encoded": {"perfetto"},
	"perfetto-textproto": {"perfetto-text"},
}

// Every foreign trace is claimed by one format, the right one.
func TestSniffMatrix(t *testing.T) {
	b, err := os.ReadFile(shared(t, "traces", "INDEX.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		f := strings.Split(line, "\t")
		if len(f) < 3 || f[0] == "number" {
			continue
		}
		path := filepath.Join("..", "..", "..", "shared", "traces", f[1])
		if _, err := os.Stat(path); err != nil {
			continue // listed, but not in this copy of the folder
		}
		n++
		s, err := importer.OpenStream(path)
		if err != nil {
			t.Errorf("%s: %v", f[1], err)
			continue
		}
		claims := claimsOf(s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		want := formatOfKind[f[2]]
		if len(claims) != 1 || len(want) == 0 || claims[0] != want[0] && (len(want) < 2 || claims[0] != want[1]) {
			t.Errorf("%s (%s): claimed by %v, want %v", f[1], f[2], claims, want)
		}
	}
	t.Logf("%d files, each claimed by one format", n)
}

func claimsOf(s *importer.Stream) []string {
	var claims []string
	if gpulog.Sniff(s.Head) {
		claims = append(claims, "gpurec")
	}
	for _, f := range importers() {
		if s.Dir == nil && f.Sniff != nil && f.Sniff(s.Head) || s.Dir != nil && f.SniffDir != nil && f.SniffDir(s.Dir) {
			claims = append(claims, f.Name)
		}
	}
	return claims
}

// What we write ourselves is claimed by one format too.
func TestSniffOwnOutputs(t *testing.T) {
	dir := t.TempDir()
	trace := writeFile(t, "trace.txt", smallTrace)
	must(t, "import", trace, "-o", filepath.Join(dir, "run.gpurec"))
	must(t, "convert", trace, filepath.Join(dir, "run.pftrace"))
	must(t, "convert", trace, filepath.Join(dir, "run.pftrace.gz"))
	must(t, "convert", trace, filepath.Join(dir, "run.json"))
	for name, want := range map[string]string{"run.gpurec": "gpurec", "run.pftrace": "perfetto", "run.pftrace.gz": "perfetto", "run.json": "chrome-json"} {
		s, err := importer.OpenStream(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if claims := claimsOf(s); len(claims) != 1 || claims[0] != want {
			t.Errorf("%s: claimed by %v, want %s", name, claims, want)
		}
		s.Close()
	}
}
