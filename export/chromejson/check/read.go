// Package check reads trace-event JSON strictly: it fails on what readers would
// refuse, drop, misplace or join wrongly without a word. It knows the format
// and docs/chromejson.md, not the writer.
package check

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong.
type Problem struct {
	Rule string // what kind: "json", "nesting", "flow", …
	Text string
}

func (p Problem) String() string { return p.Rule + ": " + p.Text }

// Row is a thread as the file has it.
type Row struct {
	PID, TID uint64
	Name     string
	Process  string
	Sort     int64
	Slices   []*Slice // in order of the file
}

// Path is the name of the process and the thread.
func (r *Row) Path() string { return r.Process + " > " + r.Name }

// Slice is a complete event. Times are ns from the start of the trace.
type Slice struct {
	Row        *Row
	Start, End int64
	Name       string
	Category   string
	Args       map[string]any // string, json.Number, bool or map
	Parent     *Slice
}

// Flow is an arrow with the slices that its ends are bound to.
type Flow struct {
	Name     string
	From, To *Slice
}

// Report is what a file holds, and what is wrong with it.
type Report struct {
	Events     int
	Slices     []*Slice
	Instants   int
	Samples    int
	Counters   map[string]int // values by "process > name"
	Flows      []Flow
	Rows       []*Row
	Categories map[string]int // of slices and instants
	FlowPairs  map[string]int // "ioctl > job.queued"
	Other      map[string]any // otherData
	Problems   []Problem
	more       int
}

// Err returns nil, or an error that names the problems, one a line.
func (r *Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems", len(r.Problems)+r.more)
	for _, p := range r.Problems {
		b.WriteString("\n\t" + p.String())
	}
	return errors.New(b.String())
}

// Has reports whether a problem of the rule was found.
func (r *Report) Has(rule string) bool {
	for _, p := range r.Problems {
		if p.Rule == rule {
			return true
		}
	}
	return false
}

// File checks a file, plain or gzip. The error says that it could not be read
// at all; what is wrong in it stands in the report.
func File(path string) (*Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if b, err = io.ReadAll(z); err != nil {
			return nil, err
		}
	}
	return Bytes(b)
}

const prefix = `{"traceEvents":[`

// Bytes is [File] for what is in memory.
func Bytes(b []byte) (*Report, error) {
	c := newChecker()
	if !bytes.HasPrefix(b, []byte(prefix)) {
		c.problem("head", "the file does not begin with %s", prefix)
	}
	if !utf8.Valid(b) {
		c.problem("utf-8", "the file is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := c.value(d)
	if err != nil {
		return nil, fmt.Errorf("byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		c.problem("json", "something stands after the end, at byte %d", d.InputOffset())
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the file is no object")
	}
	if top["displayTimeUnit"] != "ns" {
		c.problem("head", "displayTimeUnit is %v", top["displayTimeUnit"])
	}
	c.rep.Other, _ = top["otherData"].(map[string]any)
	events, _ := top["traceEvents"].([]any)
	for i, e := range events {
		m, ok := e.(map[string]any)
		if !ok {
			c.problem("json", "event %d is no object", i)
			continue
		}
		c.event(i, m)
	}
	c.rep.Events = len(events)
	c.mark(events)
	c.finish()
	return &c.rep, nil
}

// value reads a value, and sees members that stand twice, which encoding/json
// would not tell.
func (c *checker) value(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := c.value(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ := k.(string)
			if _, ok := m[key]; ok {
				c.problem("json", "member %q stands twice before byte %d", key, d.InputOffset())
			}
			if m[key], err = c.value(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return m, err
	}
	if n, ok := t.(json.Number); ok {
		c.number(n)
	}
	return t, nil
}

// number refuses whole numbers that a reader with doubles only would change.
func (c *checker) number(n json.Number) {
	if strings.ContainsAny(string(n), ".eE") {
		return
	}
	if v, err := strconv.ParseInt(string(n), 10, 64); err != nil || v > 1<<53 || v < -1<<53 {
		c.problem("number", "%s is beyond 2^53 and no text", n)
	}
}

var micros = regexp.MustCompile(`^-?(0|[1-9]\d*)\.\d{3}$`)

// time reads a member that must be microseconds with three decimals, as ns.
func (c *checker) time(i int, e map[string]any, key string) int64 {
	n, _ := e[key].(json.Number)
	if !micros.MatchString(string(n)) {
		c.problem("time", "event %d: %s is %v", i, key, e[key])
		return 0
	}
	v, err := strconv.ParseInt(strings.Replace(string(n), ".", "", 1), 10, 64)
	if err != nil {
		c.problem("time", "event %d: %s is %v", i, key, n)
	}
	return v
}
