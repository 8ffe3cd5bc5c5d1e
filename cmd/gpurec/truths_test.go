package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/importer/importtest"
)

// truthHomes says which test holds which rows of TRUTHS.tsv, by the kind of the
// file (INDEX.tsv) and the quantity; each of these tests fails on a row that it
// cannot answer.
var truthHomes = []struct {
	kinds, quantity *regexp.Regexp
	test            string
}{
	{rx("kineto|chrome-json"), rx("events|ph .|X cat .*|flow . without ."), "record/importer/chromejson TestTruths"},
	{rx("kineto"), rx(".*"), "TestKinetoTruths"},
	{rx("ftrace"), rx("lines not matched .*|event .*|event lines.*|distinct cpus|times lower than .*|(first|last) ts in file order|lost marks.*"), "record/importer/ftracetext TestTruths"},
	{rx("ftrace"), rx(".*"), "TestFtraceTruths"},
	{rx("trace.dat"), rx(".*"), "TestTraceDatTruths"},
	{rx("perf-script"), rx(".*"), "record/importer/perfscript TestTruths"},
	{rx("nsys-sqlite"), rx(".*"), "TestNsysTruths"},
	{rx("perfetto(-encoded|-textproto)?"), rx(".*"), "TestPerfettoTruths"},
}

// notExpressible are the rows that nothing holds, and why.
var notExpressible = map[[2]string]string{
	{"062-trappy-surfaceflinger-systrace.html", notMatched}: "the expression that counted misses tasks of certain names; a wider one agrees with us",
	{"158-catapult-sync_parser.ftrace.txt", notMatched}:     "the expression that counted misses tasks of certain names; a wider one agrees with us",
	{"064-catapult-android_systrace.html", notMatched}:      "the lines of an HTML page around the trace are no lines of it",
}

const notMatched = "lines not matched (no comment, not blank)"

func rx(s string) *regexp.Regexp { return regexp.MustCompile("^(?:" + s + ")$") }

// TestEveryTruthHasAHome: each row of TRUTHS.tsv, of all files, is held by one
// of the tests, or is not expressible for a reason.
func TestEveryTruthHasAHome(t *testing.T) {
	kind := map[string]string{}
	for _, r := range importtest.Rows(t, "INDEX.tsv") {
		kind[r[1]] = r[2]
	}
	held, not, total := map[string]int{}, map[string]int{}, 0
	for _, r := range importtest.Rows(t, "TRUTHS.tsv") {
		total++
		i := slices.IndexFunc(truthHomes, func(h struct {
			kinds, quantity *regexp.Regexp
			test            string
		}) bool {
			return h.kinds.MatchString(kind[r[0]]) && h.quantity.MatchString(r[1])
		})
		why := notExpressible[[2]string{r[0], r[1]}]
		switch {
		case why != "":
			not[why]++
		case i < 0:
			t.Errorf("%s: no test holds %q", r[0], r[1])
		default:
			held[truthHomes[i].test]++
		}
	}
	for _, k := range slices.Sorted(maps.Keys(held)) {
		t.Logf("%4d %s", held[k], k)
	}
	t.Logf("%d rows; not expressible: %s", total, fmt.Sprint(not))
}

// TestEveryTraceImports: every trace comes in, but for those that INDEX.tsv says
// are broken, which say so at the place that it gives and keep what is whole, and
// Perfetto's text form, which is named and refused.
func TestEveryTraceImports(t *testing.T) {
	if testing.Short() {
		t.Skip("all traces: not with -short")
	}
	out := filepath.Join(t.TempDir(), "x.gpurec")
	place := regexp.MustCompile(`^"?BROKEN JSON: .*\(char (\d+)\)`)
	sound, broken, refused := 0, 0, 0
	for _, r := range importtest.Rows(t, "INDEX.tsv") {
		in := importtest.Shared(t, "traces", r[1])
		res := gpurec(t, "import", "-q", in, "-o", out)
		said := strings.TrimPrefix(res.stderr, "gpurec: ")
		switch m := place.FindStringSubmatch(r[8]); {
		case r[2] == "perfetto-textproto":
			refused++
			if res.code != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "text form of a Perfetto trace") || !strings.Contains(said, "protoc --encode") {
				t.Errorf("%s: status %d: %s", r[1], res.code, said)
			}
		case m != nil && openArray[r[1]]:
			broken++
			// A list of events may lack its end: it is told, and no damage.
			if i := infoOf(t, in); res.code != 0 || !slices.ContainsFunc(i.Anomalies, func(a struct {
				Name, Severity string
				Count          uint64
			}) bool {
				return a.Name == "chrome_json_list_not_closed"
			}) {
				t.Errorf("%s: status %d, anomalies %v", r[1], res.code, i.Anomalies)
			}
		case m != nil:
			broken++
			if res.code != 3 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "byte "+m[1]+";") {
				t.Errorf("%s: status %d: %s, want byte %s", r[1], res.code, said, m[1])
			}
			if i := infoOfPartial(t, in); len(i.Events) == 0 {
				t.Errorf("%s: nothing is kept", r[1])
			}
		default:
			sound++
			if res.code != 0 || said != "" {
				t.Errorf("%s: status %d: %s", r[1], res.code, said)
			}
		}
	}
	t.Logf("%d sound, %d broken, %d refused", sound, broken, refused)
	if sound == 0 || broken == 0 || refused == 0 {
		t.Error("none of one sort")
	}
}

// openArray are lists of events that were cut: the format allows it.
var openArray = map[string]bool{"083-speedscope-partial-trailing-comma.json": true, "143-perfetto-json-json_incomplete.json": true}

// infoOfPartial is infoOf a file of which a part cannot be read.
func infoOfPartial(t *testing.T, file string) (i infoJSON) {
	t.Helper()
	r := gpurec(t, "info", "--json", file)
	if err := json.Unmarshal([]byte(r.stdout), &i); err != nil || r.code != 3 {
		t.Errorf("%s: status %d, %v", file, r.code, err)
	}
	return i
}
