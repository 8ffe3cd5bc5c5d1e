package gpulog

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// The golden log of version 1, and what it holds, in words. The log is never
// written again: whatever later versions change, they must read it so.
var (
	goldenLog   = filepath.Join("..", "..", "testdata", "golden", "log-v1.gpurec")
	goldenTruth = filepath.Join("..", "..", "testdata", "golden", "log-v1.txt")
)

// truth is what a text of the form of log-v1.txt says.
type truth struct {
	meta   map[string]string
	blocks [][]event.Event
}

func (tr *truth) events() (l []event.Event) {
	for _, b := range tr.blocks {
		l = append(l, b...)
	}
	return l
}

func readTruth(t *testing.T, path string) truth {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tr := truth{blocks: make([][]event.Event, 1)}
	for n, l := range strings.Split(string(b), "\n") {
		word, rest, _ := strings.Cut(l, " ")
		switch {
		case word == "" || word == "#":
		case word == "meta":
			tr.meta = pairs(t, n+1, rest)
		case word == "block":
			tr.blocks = append(tr.blocks, nil)
		default:
			last := &tr.blocks[len(tr.blocks)-1]
			*last = append(*last, truthEvent(t, n+1, word, pairs(t, n+1, rest)))
		}
	}
	return tr
}

// pairs splits key=value and key="quoted value".
func pairs(t *testing.T, line int, s string) map[string]string {
	t.Helper()
	m := make(map[string]string)
	for s != "" {
		key, rest, ok := strings.Cut(s, "=")
		if !ok {
			t.Fatalf("line %d: %q", line, s)
		}
		v := rest
		if strings.HasPrefix(rest, `"`) {
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			if v, err = strconv.Unquote(q); err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			rest = rest[len(q):]
		} else {
			v, rest, _ = strings.Cut(rest, " ")
			rest = " " + rest
		}
		m[key] = v
		s = strings.TrimLeft(rest, " ")
	}
	return m
}

func truthEvent(t *testing.T, line int, kind string, m map[string]string) event.Event {
	t.Helper()
	e := event.New(event.KindByName(kind), event.NoTime)
	if e.Kind == event.KindUnknown {
		t.Fatalf("line %d: kind %q", line, kind)
	}
	num := func(v string) uint64 {
		if strings.HasPrefix(v, "-") {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			return uint64(n)
		}
		n, err := strconv.ParseUint(v, 0, 64)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		return n
	}
	for k, v := range m {
		switch k {
		case "time":
			e.Time = event.Time(num(v))
		case "cpu":
			e.CPU = int32(num(v))
		case "pid":
			e.PID = int32(num(v))
		case "tid":
			e.TID = int32(num(v))
		case "comm":
			e.Comm = v
		case "source":
			e.Source = v
		case "flags":
			e.Flags = event.Flags(num(v))
		default:
			f := event.FieldByName(k)
			switch f.Spec().Type {
			case event.TypeNone:
				t.Fatalf("line %d: field %q", line, k)
			case event.TypeString, event.TypeText:
				e.SetStr(f, v)
			case event.TypeFloat:
				x, err := strconv.ParseFloat(v, 64)
				if err != nil {
					t.Fatalf("line %d: %v", line, err)
				}
				e.SetUint(f, math.Float64bits(x))
			default:
				e.SetUint(f, num(v))
			}
		}
	}
	return e
}

func writeTruth(t *testing.T, tr truth) []byte {
	t.Helper()
	m := &event.Meta{Tool: tr.meta["tool"], ToolVersion: tr.meta["tool_version"], Format: tr.meta["format"], Clock: event.Clock(tr.meta["clock"]),
		Command: []string{tr.meta["command"]}}
	var buf bytes.Buffer
	w, err := NewWriter(&buf, m, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range tr.blocks {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	m.ExitStatus = event.Some(0)
	if err := w.Close(m); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestGolden(t *testing.T) {
	tr := readTruth(t, goldenTruth)
	if _, err := os.Stat(goldenLog); *update && os.IsNotExist(err) {
		if err := os.WriteFile(goldenLog, writeTruth(t, tr), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.ReadFile(goldenLog)
	if err != nil {
		t.Fatal(err)
	}
	got, r := readAll(t, log)
	compare(t, got, tr.events())
	if l := r.Counters().List(); len(l) > 0 || !r.Stats().Complete || r.Stats().BlocksByType["events"] != uint64(len(tr.blocks)) {
		t.Fatalf("%+v, %+v", l, r.Stats())
	}
	m := r.Meta()
	said := map[string]string{"tool": m.Tool, "tool_version": m.ToolVersion, "format": m.Format, "clock": string(m.Clock),
		"command": strings.Join(m.Command, " "), "exit_status": fmt.Sprint(m.ExitStatus.V)}
	for k, v := range tr.meta {
		if said[k] != v {
			t.Errorf("metadata: %s is %q, want %q", k, said[k], v)
		}
	}
	seen := make(map[event.Kind]bool)
	for _, e := range got {
		seen[e.Kind] = true
	}
	if len(seen) < 41 { // the kinds of version 1.0
		t.Errorf("%d kinds in the golden log", len(seen))
	}
}

// The same events give the same bytes.
func TestSameBytes(t *testing.T) {
	tr := readTruth(t, goldenTruth)
	if !bytes.Equal(writeTruth(t, tr), writeTruth(t, tr)) {
		t.Fatal("two logs of the same events differ")
	}
}
