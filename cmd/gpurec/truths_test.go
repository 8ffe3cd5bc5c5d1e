package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
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
