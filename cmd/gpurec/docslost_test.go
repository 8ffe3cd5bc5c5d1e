package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page on imports says in words what does not come back from an export: the
// tables that the round trips are held to.
func TestDocsOfLostFields(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "import-perfetto.md"))
	if err != nil {
		t.Fatal(err)
	}
	var lost, lostIf strings.Builder
	lost.WriteString("| what | why |\n|---|---|\n")
	lostIf.WriteString("| where | what | why |\n|---|---|---|\n")
	for _, c := range cannotHold {
		only := ""
		if c.format != "" {
			only = " (" + c.format + ")"
		}
		fmt.Fprintf(&lost, "| `%s`%s | %s |\n", c.kind, only, c.why)
	}
	for _, c := range cannotHoldIf {
		fmt.Fprintf(&lostIf, "| `%s` | `%s` | %s |\n", c.said, c.kind, c.why)
	}
	for mark, want := range map[string]string{"lost": lost.String(), "lost-if": lostIf.String()} {
		_, rest, ok := strings.Cut(string(page), "<!-- "+mark+" -->\n")
		got, _, end := strings.Cut(rest, "<!-- /"+mark+" -->\n")
		if !ok || !end || got != want {
			t.Errorf("docs/import-perfetto.md must have between the marks %s:\n%s", mark, want)
		}
	}
}
