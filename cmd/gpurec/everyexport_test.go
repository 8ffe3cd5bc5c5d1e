package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsoncheck "github.com/gpurec/gpurec/export/chromejson/check"
	pfcheck "github.com/gpurec/gpurec/export/perfetto/check"
)

// everyInput is what the exports are tried on: the sources' own recordings, the
// lab's captures in each form that they hold, and, where they are beside the
// checkout, the captures and the foreign traces. With -short a few of each.
func everyInput(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	in := map[string]string{"demo": demoLog, "golden": filepath.Join(root, "testdata", "golden", "log-v1.gpurec")}
	tars, err := filepath.Glob(filepath.Join(root, "testdata", "lab", "captures", "*.tar.gz"))
	if err != nil || len(tars) == 0 {
		t.Fatal("no captures of the lab", err)
	}
	for i, f := range tars {
		if testing.Short() && i%10 != 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(f), ".tar.gz")
		dir := filepath.Join(t.TempDir(), name)
		untar(t, f, dir)
		in["lab "+name+" raw"] = filepath.Join(dir, "pages")
		for _, log := range []string{"bpf.gpurec", "ftrace.gpurec"} {
			if p := filepath.Join(dir, log); exists(p) {
				in["lab "+name+" "+log] = p
			}
		}
	}
	beside := filepath.Join(root, "..", "shared")
	if !exists(beside) {
		t.Log("no captures and foreign traces beside the checkout (../shared): tried without them")
		return in
	}
	for _, kernel := range []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"} {
		for _, form := range []string{"raw", "trace.txt", "trace.dat"} {
			if p := filepath.Join(beside, "captures", kernel, form); exists(p) && (!testing.Short() || form == "raw") {
				in["capture "+kernel+" "+form] = p
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(beside, "traces", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if ext := filepath.Ext(f); ext != ".tsv" && ext != ".textproto" && (!testing.Short() || st.Size() < 600) {
			in[filepath.Base(f)] = f
		}
	}
	return in
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// untar unpacks a capture of the lab, its raw pages so that they can be read as a folder.
func untar(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := h.Name
		switch base := filepath.Base(name); {
		case strings.HasPrefix(name, "formats/"):
			name = "pages/events/" + base + ".format"
		case strings.HasPrefix(name, "raw/"), strings.HasPrefix(name, "header_"), strings.HasPrefix(name, "saved_"):
			name = "pages/" + base
		}
		p := filepath.Join(dir, filepath.Clean("/"+name))
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// largeExport is from where on an export is tried with one set of flags only:
// they go by rows, of which smaller ones have all kinds.
const largeExport = 1 << 20

// exportCase is an input with what the flags need to know of it.
type exportCase struct {
	path     string
	duration int64
	process  string
}

func caseOf(t *testing.T, path string) (c exportCase, ok bool) {
	t.Helper()
	var i struct {
		StartNS, EndNS *int64
		Start          *int64 `json:"start_ns"`
		End            *int64 `json:"end_ns"`
		Processes      []struct {
			PID  *int64 `json:"pid"`
			Name string `json:"name"`
		} `json:"processes"`
	}
	r := gpurec(t, "info", "--json", path)
	if r.code != 0 && r.code != exitPartial {
		return c, false
	}
	if err := json.Unmarshal([]byte(r.stdout), &i); err != nil {
		t.Fatal(err)
	}
	c.path = path
	if i.Start != nil && i.End != nil {
		c.duration = *i.End - *i.Start
	}
	for _, p := range i.Processes {
		if p.PID != nil {
			c.process = fmt.Sprint(*p.PID)
		}
	}
	return c, true
}

// variants are the flags by what they are called here; nil where the input has
// nothing that they could choose.
func (c exportCase) variants(size int64) map[string][]string {
	v := map[string][]string{
		"whole":   {},
		"stages":  {"--render-stages"},
		"packed":  {"--compress-packets", "--render-stages"},
		"kinds":   {"--exclude", "sched", "--exclude", "ioctls", "--exclude", "slices"},
		"include": {"--include", "jobs", "--include", "activities", "--include", "api"},
		"small":   {"--max-output", fmt.Sprint(max(size*2/3, 600))},
	}
	if c.duration > 10 {
		v["window"] = []string{"--from-time", fmt.Sprintf("%dns", c.duration/3), "--to-time", fmt.Sprintf("%dns", c.duration*2/3)}
	}
	if c.process != "" {
		v["process"] = []string{"--process", c.process}
	}
	return v
}

// someOf takes the whole and three other variants, the next ones for the next
// input, so that each comes to dozens of inputs; all of them if that is asked
// for by GPUREC_EVERY_FLAG, which takes a quarter of an hour.
func someOf(all map[string][]string, n int, size int64) map[string][]string {
	if os.Getenv("GPUREC_EVERY_FLAG") != "" {
		return all
	}
	take := 3
	if size > largeExport {
		take = 1
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(s string) bool { return s == "whole" })
	some := map[string][]string{"whole": all["whole"]}
	for i := range take {
		v := names[(n+i*3)%len(names)]
		some[v] = all[v]
	}
	return some
}

// Whatever is exported, with whatever flags: the strict readers find nothing
// wrong, and another decoder of the Perfetto format finds as much as ours.
func TestEveryExportIsSound(t *testing.T) {
	dir := t.TempDir()
	read, exports := 0, 0
	inputs := everyInput(t)
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		in := inputs[name]
		c, ok := caseOf(t, in)
		if !ok {
			t.Logf("%s: cannot be read", name)
			continue
		}
		read++
		whole := filepath.Join(dir, "whole.pftrace")
		if r := gpurec(t, "convert", "-q", in, whole); r.code != 0 && r.code != exitPartial {
			t.Errorf("%s: status %d: %s", name, r.code, r.stderr)
			continue
		}
		rep := soundPerfetto(t, name, whole)
		if rep == nil {
			continue
		}
		decodedAlike(t, name, whole, rep)
		st, err := os.Stat(whole)
		if err != nil {
			t.Fatal(err)
		}
		again(t, name, whole)
		for variant, flags := range someOf(c.variants(st.Size()), read, st.Size()) {
			for _, suffix := range []string{".pftrace", ".json"} {
				if suffix == ".json" && (variant == "stages" || variant == "packed" || variant == "small") {
					continue // flags of Perfetto, and a size for it
				}
				out := filepath.Join(dir, "x"+suffix)
				r := gpurec(t, append([]string{"convert", "-q", in, out}, flags...)...)
				if variant == "small" && r.code == exitFailed && strings.Contains(r.stderr, "--max-output allows") {
					continue // all that is left is what must stay
				}
				if r.code != 0 && r.code != exitPartial {
					t.Errorf("%s, %s: status %d: %s", name, variant, r.code, r.stderr)
					continue
				}
				exports++
				if suffix == ".json" {
					soundJSON(t, name+", "+variant, out)
				} else {
					soundPerfetto(t, name+", "+variant, out)
				}
			}
		}
	}
	t.Logf("%d inputs, %d exports with flags", read, exports)
}

// again exports what was exported, through the other trace format.
func again(t *testing.T, name, whole string) {
	t.Helper()
	js, pf := filepath.Join(filepath.Dir(whole), "again.json"), filepath.Join(filepath.Dir(whole), "again.pftrace")
	for _, step := range [][2]string{{whole, js}, {js, pf}} {
		if r := gpurec(t, "convert", "-q", step[0], step[1]); r.code != 0 {
			t.Errorf("%s, again: status %d: %s", name, r.code, r.stderr)
			return
		}
	}
	soundJSON(t, name+", again", js)
	soundPerfetto(t, name+", again", pf)
}

func soundPerfetto(t *testing.T, name, file string) *pfcheck.Report {
	t.Helper()
	rep, err := pfcheck.File(file)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	if err := rep.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return rep
}

func soundJSON(t *testing.T, name, file string) {
	t.Helper()
	rep, err := jsoncheck.File(file)
	if err == nil {
		err = rep.Err()
	}
	if err != nil {
		t.Errorf("%s: JSON: %v", name, err)
	}
}

var unknownProtoField = regexp.MustCompile(`(?m)^\s+\d+: `)

// decodedAlike compares with what protoc decodes, by the committed .proto file.
func decodedAlike(t *testing.T, name, file string, rep *pfcheck.Report) {
	t.Helper()
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Log("protoc is not installed: counts are not compared with its")
		return
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(protoc, "-I", filepath.Join("..", "..", "protos", "perfetto"), "--decode", "gpurec.perfetto.Trace", "perfetto.proto")
	cmd.Stdin = f
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: protoc: %v", name, err)
		return
	}
	for what, n := range map[string]int{
		"\npacket {\n":                 rep.Packets - 1, // the first has nothing before it
		"    type: TYPE_SLICE_BEGIN\n": len(rep.Slices), "    type: TYPE_SLICE_END\n": len(rep.Slices), "    type: TYPE_COUNTER\n": rep.Samples,
		"    type: TYPE_INSTANT\n": len(rep.Instants), "\n  track_descriptor {\n": len(rep.Tracks) + 1, "\n    flow_ids: ": 2 * rep.Flows,
		"\n      sched_switch {\n": rep.Switches, "\n      sched_waking {\n": rep.Wakings,
	} {
		if got := bytes.Count(out, []byte(what)); got != n {
			t.Errorf("%s: protoc finds %d × %q, the checker %d", name, got, strings.TrimSpace(what), n)
		}
	}
	if m := unknownProtoField.Find(out); m != nil {
		t.Errorf("%s: protoc finds an unknown field: %q", name, m)
	}
}
