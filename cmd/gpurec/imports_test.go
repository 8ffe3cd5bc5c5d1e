package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/gpurec/gpurec/"

// room is a row of the table of rooms: what a package's production code may
// import of this module, and which of the guarded outside packages.
type room struct {
	prefix string   // the package, or with a trailing / every package below it
	may    []string // own packages; a trailing / means all below
	ext    []string // guarded outside modules
}

// The table of rooms in docs/ARCHITECTURE.md. The first prefix that fits counts.
var rooms = []room{
	{"cmd/gpurec", []string{"/"}, []string{"urfave/cli", "x/sys", "klauspost/compress"}},
	{"bpf", nil, []string{"cilium/ebpf", "x/sys"}},
	{"protos/", nil, []string{"protobuf"}},
	{"record/event", nil, nil},
	{"record/gpulog", []string{"record/event", "record/ftrace", "protos/"}, []string{"klauspost/compress", "protobuf", "x/sys"}},
	{"record/clock", []string{"record/event"}, []string{"x/sys"}},
	{"record/ftrace", []string{"record/event"}, nil},
	{"record/gpu", []string{"record/event"}, nil},
	{"record/symbol", []string{"record/event"}, []string{"ianlancetaylor/demangle"}},
	{"record/live", []string{"record/event"}, []string{"x/sys"}},
	{"record/live/", []string{"record/event", "record/gpulog", "record/ftrace", "record/gpu", "bpf", "record/live"}, []string{"cilium/ebpf", "x/sys"}},
	{"record/importer", []string{"record/event"}, []string{"klauspost/compress"}},
	{"record/importer/sqlitefile", []string{"record/importer"}, []string{"modernc.org/sqlite"}},
	{"record/importer/own", []string{"record/event"}, nil},
	{"record/importer/", []string{"record/event", "record/clock", "record/ftrace", "record/gpu", "protos/", "record/importer", "record/importer/args", "record/importer/own", "record/importer/sqlitefile"}, []string{"protobuf", "klauspost/compress"}},
	{"record/merge", []string{"record/event", "record/clock", "record/gpu", "record/gpulog"}, nil},
	{"record", []string{"record/event", "record/live", "record/live/", "record/gpulog", "record/clock"}, []string{"x/sys"}},
	{"correlate", []string{"record/event", "record/gpu", "record/clock", "record/symbol"}, nil},
	{"export", []string{"correlate", "record/event", "protos/"}, nil},
	{"export/parquet", []string{"correlate", "record/event", "protos/", "export"}, []string{"parquet-go", "klauspost/compress"}},
	{"export/picture", []string{"correlate", "record/event", "record/symbol", "export"}, nil},
	{"export/report", []string{"correlate", "record/event", "record/symbol", "export"}, nil},
	{"export/perfetto", []string{"correlate", "record/event", "protos/", "export", "export/picture"}, []string{"protobuf", "klauspost/compress"}},
	{"export/chromejson", []string{"correlate", "record/event", "export", "export/picture"}, []string{"klauspost/compress"}},
	{"export/chromejson/", []string{"export/chromejson"}, nil},
	{"export/perfetto/", []string{"correlate", "record/event", "protos/", "export", "export/perfetto"}, []string{"protobuf", "klauspost/compress"}},
	{"export/", []string{"correlate", "record/event", "protos/", "export"}, []string{"protobuf", "klauspost/compress"}},
}

// Outside packages that only some rooms may use.
var guarded = []string{"cilium/ebpf", "parquet-go", "urfave/cli", "modernc.org/sqlite", "protobuf", "klauspost/compress", "x/sys", "ianlancetaylor/demangle"}

func roomOf(path string) *room {
	for i := range rooms {
		r := &rooms[i]
		if path == r.prefix || strings.HasSuffix(r.prefix, "/") && strings.HasPrefix(path, r.prefix) {
			return r
		}
	}
	return nil
}

func allowed(list []string, path string) bool {
	for _, p := range list {
		if p == path || p == "/" || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

func TestImportTable(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	n := 0
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(path, "testdata/") {
			continue // tools for tests, in no room
		}
		n++
		r := roomOf(path)
		if r == nil {
			t.Errorf("%s is in no room: add it to the table in docs/ARCHITECTURE.md and here", path)
			continue
		}
		checkImports(t, path, r, p.Imports)
	}
	if n < 10 {
		t.Fatalf("only %d packages seen", n)
	}
}

func checkImports(t *testing.T, path string, r *room, imports []string) {
	for _, imp := range imports {
		if own, ok := strings.CutPrefix(imp, module); ok {
			if !allowed(r.may, own) {
				t.Errorf("%s may not import %s", path, own)
			}
			continue
		}
		for _, g := range guarded {
			if strings.Contains(imp, g) && !allowed(r.ext, g) {
				t.Errorf("%s may not import %s", path, imp)
			}
		}
	}
}
