package gpulog

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

var update = flag.Bool("update", false, "rewrite the generated tables of docs/format.md and the golden log")

const page = "../../docs/format.md"

// tableOf returns the rows of the first table below a heading of the page.
func tableOf(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("the page has no heading %q", heading)
	}
	for _, l := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(l, "|") {
			if len(rows) > 0 || strings.HasPrefix(l, "#") {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(l, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("no table below %q", heading)
	}
	return rows[2:]
}

// numbered checks a table whose first columns are number and name.
func numbered(t *testing.T, heading string, first int, names []string) {
	t.Helper()
	rows := tableOf(t, heading)
	if len(rows) != len(names)-first {
		t.Fatalf("%s: %d rows, the code has %d", heading, len(rows), len(names)-first)
	}
	for i, r := range rows {
		if r[0] != strconv.Itoa(first+i) || r[1] != names[first+i] {
			t.Errorf("%s: row %v, the code has %d %s", heading, r, first+i, names[first+i])
		}
	}
}

func TestPageTables(t *testing.T) {
	numbered(t, "### Block types", 1, blockNames[:])
	numbered(t, "### Codecs", 0, []string{CodecNone: "none", CodecZstd: "zstd"})
	numbered(t, "### Encodings", 0, encodingNames[:])
	numbered(t, "### Bases", 0, baseNames[:])
	numbered(t, "### Time modes", 0, []string{timeNone: "none", timeKnown: "known", timePlace: "place"})
	numbered(t, "### Types", 1, typeNames[:])
	bounds := map[string]int{"HeaderSize": HeaderSize, "MaxBody": MaxBody, "MaxBlockEvents": MaxBlockEvents, "MaxBlockTable": MaxBlockTable,
		"MaxShapeFields": MaxShapeFields, "MaxBlockKeyed": MaxBlockKeyed, "MaxMetaParts": MaxMetaParts, "TrailerSize": TrailerSize}
	rows := tableOf(t, "### Bounds")
	if len(rows) != len(bounds) {
		t.Errorf("%d bounds, the code has %d", len(rows), len(bounds))
	}
	for _, r := range rows {
		if r[1] != strconv.Itoa(bounds[r[0]]) {
			t.Errorf("bound %v, the code has %d", r, bounds[r[0]])
		}
	}
	flags := []event.Flags{event.FlagLow32, event.FlagHashed, event.FlagPIDInferred, event.FlagRingInferred, event.FlagUnaligned}
	for i, r := range tableOf(t, "### Flags") {
		if i >= len(flags) || flags[i] != 1<<i || r[0] != strconv.Itoa(i) {
			t.Errorf("flag %v", r)
		}
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("# The log format, version %d.%d\n", Major, Minor); !strings.HasPrefix(string(b), want) {
		t.Errorf("the page does not begin with %q", want)
	}
	if want := fmt.Sprintf("begins %d bytes before the end", HeaderSize+TrailerSize); !strings.Contains(string(b), want) {
		t.Errorf("the page does not say %q", want)
	}
}

var typeNames = [...]string{1: "int", 2: "uint", 3: "pointer", 4: "time", 5: "float", 6: "bool", 7: "string", 8: "text"}

func kindTable() string {
	var b strings.Builder
	b.WriteString("| number | kind | meaning | fields |\n|---|---|---|---|\n")
	for n, name := range wireKinds[1:] {
		s := event.KindByName(name).Spec()
		var fields []string
		for _, f := range s.Fields {
			fields = append(fields, f.String())
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", n+1, name, s.Doc, strings.Join(fields, " "))
	}
	return b.String()
}

func fieldTable() string {
	var b strings.Builder
	b.WriteString("| number | field | type | meaning |\n|---|---|---|---|\n")
	for n, name := range wireFields[1:] {
		s := event.FieldByName(name).Spec()
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", n+1, name, typeNames[wireTypeOf[s.Type]], s.Doc)
	}
	return b.String()
}

// The tables of kinds and fields are generated: go test -run Page -update.
func TestPageKindsAndFields(t *testing.T) {
	for k := event.Kind(1); k < event.NumKinds; k++ {
		if wireKindOf[k] >= wireSpare {
			t.Errorf("kind %v has no number: add it at the end of wireKinds", k)
		}
	}
	for f := event.Field(1); f < event.NumFields; f++ {
		if wireFieldOf[f] >= wireSpare {
			t.Errorf("field %v has no number: add it at the end of wireFields", f)
		}
	}
	if len(wireKinds) != int(event.NumKinds) || len(wireFields) != int(event.NumFields) {
		t.Errorf("%d kinds and %d fields, package event has %d and %d", len(wireKinds)-1, len(wireFields)-1, event.NumKinds-1, event.NumFields-1)
	}
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	now := replaceTable(t, string(old), "### Kinds\n", kindTable())
	now = replaceTable(t, now, "### Fields\n", fieldTable())
	if now == string(old) {
		return
	}
	if !*update {
		t.Fatal("docs/format.md does not list the kinds and fields of the code: go test ./record/gpulog -run Page -update, and read the difference")
	}
	if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replaceTable puts table in the place of what stands between a heading and the next.
func replaceTable(t *testing.T, text, heading, table string) string {
	t.Helper()
	before, rest, ok := strings.Cut(text, heading)
	i := strings.Index(rest, "\n#")
	if !ok || i < 0 {
		t.Fatalf("no %q", heading)
	}
	return before + heading + table + rest[i:]
}

// Each field of a header stands where the page says.
func TestPageHeader(t *testing.T) {
	h := header{typ: BlockIndex, codec: CodecZstd, major: 3, minor: 4, stored: 5, raw: 6, events: 7, seq: 8, log: 9,
		ordinal: 10, min: 11, max: -12, bodyCRC: 13}
	var b [HeaderSize]byte
	h.put(b[:])
	minus12 := uint64(1<<64 - 12)
	want := map[string]uint64{"type": 4, "codec": 1, "major": 3, "minor": 4, "stored": 5, "raw": 6, "events": 7, "seq": 8, "log": 9,
		"ordinal": 10, "min": 11, "max": minus12, "body_crc": 13,
		"header_crc": uint64(crc32.Checksum(b[:60], crc32.MakeTable(crc32.Castagnoli)))}
	next := 0
	for _, r := range tableOf(t, "## Blocks") {
		off, err1 := strconv.Atoi(r[0])
		size, err2 := strconv.Atoi(r[1])
		if err1 != nil || err2 != nil || off != next {
			t.Fatalf("row %v, want offset %d", r, next)
		}
		next = off + size
		if r[2] == "marker" {
			if string(b[:size]) != Marker || !strings.Contains(r[3], fmt.Sprintf("% X", Marker)) {
				t.Errorf("marker %v", r)
			}
			continue
		}
		var v [8]byte
		copy(v[:], b[off:off+size])
		if got := binary.LittleEndian.Uint64(v[:]); got != want[r[2]] {
			t.Errorf("%s is %d, want %d", r[2], got, want[r[2]])
		}
		delete(want, r[2])
	}
	if len(want) > 0 || next != HeaderSize {
		t.Errorf("not on the page: %v; header of %d bytes", want, next)
	}
}
