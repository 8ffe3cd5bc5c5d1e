package correlate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readDoc(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repoRoot(t), "docs", "correlation.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDocRules: the page's table of links and its sections are the code's list.
func TestDocRules(t *testing.T) {
	doc := readDoc(t)
	row := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| `([a-z_]+)` → `([a-z_]+)` \\| ([a-z, ]+) \\| (\\d+) \\|$")
	got := row.FindAllStringSubmatch(doc, -1)
	if len(got) != len(Rules) {
		t.Fatalf("%d rules on the page, %d in the code", len(got), len(Rules))
	}
	for i, r := range Rules {
		var c []string
		for _, x := range r.Confidences {
			c = append(c, string(x))
		}
		want := []string{r.Name, r.Src, r.Dst, strings.Join(c, ", "), fmt.Sprint(r.Section)}
		if !slices.Equal(got[i][1:], want) {
			t.Errorf("page has %v, code %v", got[i][1:], want)
		}
		if !strings.Contains(doc, fmt.Sprintf("\n### %d. %s\n", r.Section, r.Name)) {
			t.Errorf("no section %d. %s", r.Section, r.Name)
		}
		if TableByName(r.Src) == nil || TableByName(r.Dst) == nil {
			t.Errorf("rule %s: no table %s or %s", r.Name, r.Src, r.Dst)
		}
	}
}

// TestDocReasons: every reason and every missing partner is explained, and no other.
func TestDocReasons(t *testing.T) {
	doc := readDoc(t)
	_, part, ok := strings.Cut(doc, "## Missing partners")
	if !ok {
		t.Fatal("no section on missing partners")
	}
	part, _, _ = strings.Cut(part, "\n## ")
	links, reasons, ok := strings.Cut(part, "| reason | when |")
	if !ok {
		t.Fatal("no table of reasons")
	}
	check := func(what, text string, want []string) {
		first := regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\|")
		var got []string
		for _, m := range first.FindAllStringSubmatch(text, -1) {
			for _, s := range strings.Split(m[1], ", ") {
				got = append(got, strings.Trim(s, "`"))
			}
		}
		slices.Sort(got)
		want = slices.Clone(want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: page has %v, code %v", what, got, want)
		}
	}
	var r []string
	for _, x := range Reasons {
		r = append(r, string(x))
	}
	check("reasons", reasons, r)
	check("partners", links, Missing)
}

// TestDocAnomalies: anomalies have names of their own, and a remedy.
func TestDocAnomalies(t *testing.T) {
	doc := readDoc(t)
	b, err := os.ReadFile("anomalies.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`Name: "([a-z_]+)"`).FindAllStringSubmatch(string(b), -1) {
		if names[m[1]] {
			t.Errorf("anomaly %s twice", m[1])
		}
		names[m[1]] = true
	}
	for _, m := range regexp.MustCompile("`([a-z]+(?:_[a-z]+)+)`[,)]").FindAllStringSubmatch(doc, -1) {
		if strings.Contains(doc, "(`"+m[1]+"`)") && !names[m[1]] && !slices.Contains([]string{"driver_rule"}, m[1]) {
			t.Errorf("the page names anomaly %s, which no tracker counts", m[1])
		}
	}
}
