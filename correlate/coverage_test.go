package correlate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// caseTexts are the cases by name.
func caseTexts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repoRoot(t), "testdata", "correlate", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	texts := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(f), ".txt")] = string(b)
	}
	return texts
}

var quoted = regexp.MustCompile("`([a-zA-Z0-9_.-]+)`")

// TestRulesHaveCases: the section of each rule on the page says its key, what
// breaks it and its cases; they exist, and one of them expects a link of the
// rule in each confidence that it may have.
func TestRulesHaveCases(t *testing.T) {
	doc, texts := readDoc(t), caseTexts(t)
	for _, r := range Rules {
		head := fmt.Sprintf("\n### %d. %s\n", r.Section, r.Name)
		_, body, ok := strings.Cut(doc, head)
		if !ok {
			t.Errorf("no section %q", head)
			continue
		}
		if i := strings.Index(body, "\n### "); i >= 0 {
			body = body[:i]
		}
		_, notes, ok := strings.Cut(body, "*Key:* ")
		if !ok || !strings.Contains(notes, "*Breaks it:* ") {
			t.Errorf("%s: the page does not say key and what breaks it", r.Name)
		}
		_, list, ok := strings.Cut(notes, "*Cases:* ")
		if !ok {
			t.Errorf("%s: the page names no cases", r.Name)
			continue
		}
		list, _, _ = strings.Cut(list, "\n")
		var all string
		for _, m := range quoted.FindAllStringSubmatch(list, -1) {
			text, ok := texts[m[1]]
			if !ok {
				t.Errorf("%s: there is no case %s", r.Name, m[1])
			}
			all += text + "\n"
		}
		for _, c := range r.Confidences {
			link := regexp.MustCompile("(?m)^link " + regexp.QuoteMeta(r.Name) + ` \d+ \d+ ` + string(c) + `\b`)
			if !link.MatchString(all) {
				t.Errorf("%s: none of its cases expects a link of confidence %s", r.Name, c)
			}
		}
	}
}

// TestReasonsHaveCases: every reason and every missing partner is expected by
// some case, and the cases that the page names for a reason expect it.
func TestReasonsHaveCases(t *testing.T) {
	doc, texts := readDoc(t), caseTexts(t)
	_, part, _ := strings.Cut(doc, "\n## Missing partners\n")
	_, list, ok := strings.Cut(part, "\nCases: ")
	if !ok {
		t.Fatal("the page names no cases of the reasons")
	}
	list, _, _ = strings.Cut(list, "\n")
	reasonOf := func(name, reason string) bool {
		return regexp.MustCompile(`(?m)^unmatched \S+ \S+ ` + reason + `\b`).MatchString(texts[name])
	}
	named := map[string]bool{}
	for _, item := range strings.Split(list, ";") {
		words := quoted.FindAllStringSubmatch(item, -1)
		for _, m := range words[min(1, len(words)):] {
			if !reasonOf(m[1], words[0][1]) {
				t.Errorf("case %s does not expect %s", m[1], words[0][1])
			}
			named[words[0][1]] = true
		}
	}
	for _, r := range Reasons {
		if !named[string(r)] {
			t.Errorf("the page names no case of %s", r)
		}
	}
	for _, link := range Missing {
		found := false
		for _, text := range texts {
			found = found || regexp.MustCompile(`(?m)^unmatched \S+ `+link+` (?:`+reasonAlternatives()+`)`).MatchString(text)
		}
		if !found {
			t.Errorf("no case misses the partner %s", link)
		}
	}
}

func reasonAlternatives() string {
	var l []string
	for _, r := range Reasons {
		l = append(l, string(r))
	}
	return strings.Join(l, "|")
}
