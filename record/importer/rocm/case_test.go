package rocm

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// build makes a database of SQL statements.
func build(t testing.TB, script string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.rpd")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(script)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, f importer.Format, data []byte) (events, counted []string, m *event.Meta, err error) {
	t.Helper()
	r, err := f.Open(importer.Input{Name: "trace", R: bytes.NewReader(data)}, importer.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	l, err := importtest.Read(r)
	for i := range l {
		events = append(events, importtest.Show(&l[i]))
	}
	for _, a := range r.Counters().List() {
		counted = append(counted, fmt.Sprintf("%s %d", a.Name, a.Count))
	}
	slices.Sort(counted)
	if cerr := r.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	return events, counted, r.Meta(), err
}

func split(t testing.TB, name string) (input string, want, counted []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(importtest.Root(t), "testdata", "rocm", name))
	if err != nil {
		t.Fatal(err)
	}
	input, rest, _ := strings.Cut(string(text), "-- want\n")
	w, c, _ := strings.Cut(rest, "-- counted\n")
	return input, strings.Split(strings.TrimSpace(w), "\n"), strings.Split(strings.TrimSpace(c), "\n")
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d\n got  %s\n want %s", i+1, g, w)
		}
	}
}

func TestRPD(t *testing.T) {
	script, want, counted := split(t, "calls.sql")
	data := build(t, script)
	if !RPD().Sniff(data) || JSON().Sniff(data) {
		t.Error("not recognised")
	}
	got, gotCounted, m, err := read(t, RPD(), data)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, want)
	compare(t, gotCounted, counted)
	if m.Clock != event.ClockMonotonic || fmt.Sprint(m.Facts) != "[{rpd.schema_version 2}]" || m.Start != event.Some(event.Time(90)) {
		t.Errorf("meta %+v", m)
	}
}

func TestJSON(t *testing.T) {
	text, want, counted := split(t, "rocprofv3.json.case")
	if !JSON().Sniff([]byte(text)) || RPD().Sniff([]byte(text)) || JSON().Sniff([]byte(`{"traceEvents":[]}`)) {
		t.Error("not recognised")
	}
	got, gotCounted, m, err := read(t, JSON(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, want)
	compare(t, gotCounted, counted)
	if m.Host.Name != "n1" || fmt.Sprint(m.Command) != "[/usr/bin/python3 train.py]" {
		t.Errorf("meta %+v", m)
	}
}

// A file that ends at any byte gives its whole records, then one line.
func TestCutJSON(t *testing.T) {
	text, want, _ := split(t, "rocprofv3.json.case")
	text = strings.TrimSpace(text)
	for n := 1; n < len(text); n++ {
		got, _, _, err := read(t, JSON(), []byte(text[:n]))
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "byte ") {
			t.Fatalf("cut at byte %d: error %v", n, err)
		}
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("cut at byte %d: other events than those of the whole", n)
		}
	}
}

func TestCutRPD(t *testing.T) {
	script, want, _ := split(t, "calls.sql")
	data := build(t, "PRAGMA page_size = 512;\n"+script)
	for n := len(data) - 1; n > 0; n -= 509 {
		got, _, _, err := read(t, RPD(), data[:n])
		if err == nil || strings.Contains(err.Error(), "\n") || len(got) > len(want) {
			t.Errorf("cut to %d bytes: %d events, %v", n, len(got), err)
		}
	}
}

// A value that never ends is not read to memory.
func TestEndlessMember(t *testing.T) {
	r, err := openJSON(importer.Input{R: &endless{head: []byte(`{"rocprofiler-sdk-tool":[{"metadata":{"command":"`)}}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = importtest.Read(r)
	if !errors.Is(err, errTooLong) {
		t.Errorf("error %v", err)
	}
}

type endless struct{ head []byte }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	return len(p), nil
}

// rocprofv3's own database: parts by the suffixes of their tables.
func TestROCPD(t *testing.T) {
	script, want, counted := split(t, "rocpd.sql")
	data := build(t, script)
	if !ROCPD().Sniff(data) || RPD().Sniff(data) || JSON().Sniff(data) {
		t.Error("not recognised, or by others")
	}
	got, gotCounted, m, err := read(t, ROCPD(), data)
	if err != nil {
		t.Fatal(err)
	}
	inOrder := slices.Clone(got)
	slices.Sort(inOrder)
	slices.Sort(want)
	compare(t, inOrder, want)
	compare(t, gotCounted, counted)
	if m.Clock != event.ClockBoottime || m.Host.Name != "n1" || fmt.Sprint(m.Facts) != "[{rocpd.schema_version 3}]" || fmt.Sprint(m.Command) != "[/usr/bin/python3 train.py]" {
		t.Errorf("meta %+v", m)
	}
	if strings.Contains(strings.Join(got, ""), "SECRET") {
		t.Error("the environment is in the events")
	}
}

func TestCutROCPD(t *testing.T) {
	script, want, _ := split(t, "rocpd.sql")
	data := build(t, "PRAGMA page_size = 512;\n"+script)
	for n := len(data) - 1; n > 0; n -= 1021 {
		got, _, _, err := read(t, ROCPD(), data[:n])
		if err == nil || strings.Contains(err.Error(), "\n") || len(got) > len(want) {
			t.Errorf("cut to %d bytes: %d events, %v", n, len(got), err)
		}
	}
}

// A database of the other tool is named.
func TestOtherDatabase(t *testing.T) {
	_, _, _, err := read(t, RPD(), build(t, "CREATE TABLE rocpd_kernel_dispatch_00 (id INTEGER)"))
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "--from rocpd") {
		t.Errorf("error %v", err)
	}
	_, _, _, err = read(t, ROCPD(), build(t, "CREATE TABLE rocpd_api (id INTEGER)"))
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "--from rpd") {
		t.Errorf("error %v", err)
	}
}

// No shared file is of these formats.
func TestSniff(t *testing.T) {
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		s, err := importer.OpenStream(importtest.Shared(t, "traces", row[1]))
		if err != nil {
			continue
		}
		if RPD().Sniff(s.Head) || ROCPD().Sniff(s.Head) || JSON().Sniff(s.Head) {
			t.Errorf("%s: claimed", row[1])
		}
		s.Close()
	}
}

func FuzzJSON(f *testing.F) {
	text, _, _ := split(f, "rocprofv3.json.case")
	f.Add([]byte(text))
	f.Add([]byte(`{"rocprofiler-sdk-tool":[{"buffer_records":{"hip_api":[{"kind":-1,"operation":-5}]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		JSON().Sniff(data)
		if _, _, _, err := read(t, JSON(), data); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		}
	})
}

// FuzzDatabase changes bytes of a small database of each sort.
func FuzzDatabase(f *testing.F) {
	var whole [2][]byte
	for i, name := range []string{"calls.sql", "rocpd.sql"} {
		script, _, _ := split(f, name)
		whole[i] = build(f, "PRAGMA page_size = 512;\n"+script)
	}
	f.Add(false, uint32(20000), []byte{0xff, 0xff})
	f.Add(true, uint32(3000), []byte("rocpd_"))
	f.Fuzz(func(t *testing.T, other bool, at uint32, with []byte) {
		i := 0
		if other {
			i = 1
		}
		data := slices.Clone(whole[i])
		copy(data[int(at)%len(data):], with)
		for _, format := range []importer.Format{RPD(), ROCPD()} {
			format.Sniff(data)
			if _, _, _, err := read(t, format, data); err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
		}
	})
}
