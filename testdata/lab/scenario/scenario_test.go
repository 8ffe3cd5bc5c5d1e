package scenario

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	s, err := Parse("two", `
# Two clients.
# A second comment is not the title.
modes  legacy both
module ndev=2 emit=1
buffer 64
log    part
run    gpuload -n 10; echo "a b"
run    true
expect jobs = 10
expect lost >= 1
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		Name: "two", Title: "Two clients.", Modes: []Mode{Legacy, Both}, Module: []string{"ndev=2", "emit=1"}, Buffer: 64, Log: Part,
		Run:    []string{`gpuload -n 10; echo "a b"`, "true"},
		Expect: []Expectation{{"jobs", "=", 10}, {"lost", ">=", 1}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"modes legacy":                  "what to run",
		"run true\nmodes old":           `line 2: mode "old"`,
		"run true\nbuffer -1":           "buffer",
		"run true\nlog half":            `log "half"`,
		"run true\nexpect jobs == 3":    "expect",
		"run true\nexpect jobs = three": "expect",
		"run true\nexpects jobs = 3":    `no word "expects"`,
	} {
		if _, err := Parse("x", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		op                string
		less, equal, more bool // of a value against 5
	}{
		{"=", false, true, false}, {"<", true, false, false}, {">", false, false, true},
		{"<=", true, true, false}, {">=", false, true, true}, {"?", false, false, false},
	} {
		e := Expectation{"m", c.op, 5}
		if e.Holds(4) != c.less || e.Holds(5) != c.equal || e.Holds(6) != c.more {
			t.Errorf("%s: %v %v %v", c.op, e.Holds(4), e.Holds(5), e.Holds(6))
		}
	}
}

// All scenarios of the lab can be read, and say what they are for.
func TestLoad(t *testing.T) {
	all, err := Load("../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Title == "" || len(s.Expect) == 0 {
			t.Errorf("%s: no title, or nothing expected", s.Name)
		}
	}
}

func TestSmall(t *testing.T) {
	s, err := Parse("x", "# t\nrun a -n 500 -b 5000\nexpect jobs = 500\nexpect errors = 0\nsmall 500 20\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Small()
	if err != nil {
		t.Fatal(err)
	}
	if c.Run[0] != "a -n 20 -b 5000" || c.Expect[0].Value != 20 || c.Expect[1].Value != 0 {
		t.Errorf("small: %q, %v", c.Run, c.Expect)
	}
	if s.Run[0] != "a -n 500 -b 5000" || s.Expect[0].Value != 500 {
		t.Errorf("the scenario itself changed: %q, %v", s.Run, s.Expect)
	}
	if _, err := Parse("x", "# t\nrun a\nsmall 500\n"); err == nil {
		t.Error("no error for small without the other")
	}
}
