// Package scenario reads the lab's scenarios: what a guest runs, and what must
// then be true.
package scenario

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Mode says which generation of the scheduler's tracepoints is recorded.
type Mode string

// The modes.
const (
	Legacy Mode = "legacy" // those of the guest's kernel; the module has no others
	Newer  Mode = "newer"  // those of Linux 6.17, which the module defines
	Both   Mode = "both"
)

// Log says what the logs must hold that gpurec wrote in the guest, if it ran.
type Log string

// The kinds of logs.
const (
	Whole Log = "whole" // all of the run
	Part  Log = "part"  // recording began late and stopped early
	Lossy Log = "lossy" // buffers were too small
)

// Scenario is one file of the directory scenarios.
type Scenario struct {
	Name   string
	Title  string   // the first line of comment
	Modes  []Mode   // at least one
	Module []string // parameters
	Buffer int      // KiB of ring buffer a CPU
	Log    Log
	Run    []string // command lines that run at once, in sh
	Expect []Expectation

	small [][2]string
}

// Expectation is a measure (see check.Measures) compared with a number.
type Expectation struct {
	Measure string
	Op      string // = < > <= >=
	Value   int64
}

// Holds compares v with the expected value.
func (e Expectation) Holds(v int64) bool {
	switch e.Op {
	case "=":
		return v == e.Value
	case "<":
		return v < e.Value
	case ">":
		return v > e.Value
	case "<=":
		return v <= e.Value
	case ">=":
		return v >= e.Value
	}
	return false
}

func (e Expectation) String() string { return fmt.Sprintf("%s %s %d", e.Measure, e.Op, e.Value) }

// Small is the scenario in the form that captures hold: with fewer jobs, where
// all of them would be too large to keep.
func (s *Scenario) Small() (*Scenario, error) {
	c := *s
	c.Run = slices.Clone(s.Run)
	c.Expect = slices.Clone(s.Expect)
	for _, r := range s.small {
		to, err := strconv.ParseInt(r[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: small: %q is no number", s.Name, r[1])
		}
		for i, run := range c.Run {
			words := strings.Split(run, " ")
			for k := range words {
				if words[k] == r[0] {
					words[k] = r[1]
				}
			}
			c.Run[i] = strings.Join(words, " ")
		}
		for i := range c.Expect {
			if fmt.Sprint(c.Expect[i].Value) == r[0] {
				c.Expect[i].Value = to
			}
		}
	}
	return &c, nil
}

// Load reads all scenarios of a directory, in the order of their file names.
func Load(dir string) ([]*Scenario, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.scn"))
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var all []*Scenario
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s, err := Parse(strings.TrimSuffix(filepath.Base(name), ".scn"), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no scenario (*.scn) in %s", dir)
	}
	return all, nil
}

// Parse reads one scenario. Its lines are a word and a value:
//
//	# a comment; the first one is the title
//	modes   legacy newer both     (default: both)
//	module  name=value …
//	buffer  KiB                   (default: 8192)
//	log     whole, part or lossy  (default: whole)
//	run     a command line        (one line each; all run at once)
//	expect  measure op number
//	small   this that             (of captures: that in place of this, a word of run or a number of expect)
func Parse(name, text string) (*Scenario, error) {
	s := &Scenario{Name: name, Buffer: 8192, Log: Whole}
	in := bufio.NewScanner(strings.NewReader(text))
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if title, ok := strings.CutPrefix(line, "#"); ok {
			if s.Title == "" {
				s.Title = strings.TrimSpace(title)
			}
			continue
		}
		if line == "" {
			continue
		}
		word, value, _ := strings.Cut(line, " ")
		if err := s.set(word, strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if len(s.Run) == 0 {
		return nil, fmt.Errorf("no line says what to run")
	}
	if len(s.Modes) == 0 {
		s.Modes = []Mode{Both}
	}
	return s, in.Err()
}

func (s *Scenario) set(word, value string) error {
	switch word {
	case "modes":
		for _, m := range strings.Fields(value) {
			if m != string(Legacy) && m != string(Newer) && m != string(Both) {
				return fmt.Errorf("mode %q is none of legacy, newer, both", m)
			}
			s.Modes = append(s.Modes, Mode(m))
		}
	case "module":
		s.Module = append(s.Module, strings.Fields(value)...)
	case "buffer":
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			return fmt.Errorf("buffer %q is no number of KiB", value)
		}
		s.Buffer = n
	case "log":
		if s.Log = Log(value); s.Log != Whole && s.Log != Part && s.Log != Lossy {
			return fmt.Errorf("log %q is none of whole, part, lossy", value)
		}
	case "run":
		s.Run = append(s.Run, value)
	case "small":
		f := strings.Fields(value)
		if len(f) != 2 {
			return fmt.Errorf("small %q is not: this that", value)
		}
		s.small = append(s.small, [2]string{f[0], f[1]})
	case "expect":
		f := strings.Fields(value)
		if len(f) != 3 {
			return fmt.Errorf("expect %q is not: measure op number", value)
		}
		n, err := strconv.ParseInt(f[2], 10, 64)
		e := Expectation{Measure: f[0], Op: f[1], Value: n}
		if err != nil || !strings.Contains(" = < > <= >= ", " "+e.Op+" ") {
			return fmt.Errorf("expect %q is not: measure op number", value)
		}
		s.Expect = append(s.Expect, e)
	default:
		return fmt.Errorf("no word %q in scenarios", word)
	}
	return nil
}
