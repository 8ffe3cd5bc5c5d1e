package main

import (
	"os"
	"strings"
	"testing"
)

// The report in the README is how that of the demo begins today.
func TestReadmeReport(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "What a report begins with")
	if !ok {
		t.Fatal("the README shows no report")
	}
	_, rest, _ = strings.Cut(rest, "```\n")
	want, _, ok := strings.Cut(rest, "```\n")
	if !ok || strings.Count(want, "\n") < 8 {
		t.Fatalf("the README shows %q", want)
	}
	if got := must(t, "report", demoLog); !strings.HasPrefix(got, want) {
		t.Errorf("the README shows\n%s\nthe report begins with\n%s", want, strings.Join(strings.SplitAfter(got, "\n")[:strings.Count(want, "\n")+2], ""))
	}
}
