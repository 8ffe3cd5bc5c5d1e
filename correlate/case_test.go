package correlate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
)

// A case is a text file: a story in # lines, a section of events, a section
// of what is expected. testdata/correlate/README.md describes it.

type testCase struct {
	events []event.Event
	expect []string
	file   bool // the events are in the order of a file, to be sorted
	o      Options
}

// splitFields splits at blanks; "…" after = holds blanks.
func splitFields(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end, quoted := 0, false
		for end < len(s) && (quoted || s[end] != ' ') {
			if s[end] == '"' {
				quoted = !quoted
			}
			end++
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}

func readCase(t *testing.T, file string) testCase {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), "# ") {
		t.Fatalf("%s: a case opens with its story", file)
	}
	var c testCase
	section := ""
	for n, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line == "events" || line == "expect":
			section = line
		case line == "file":
			section, c.file = "events", true
		case strings.HasPrefix(line, "max_open ") && section == "":
			n, err := strconv.Atoi(strings.TrimPrefix(line, "max_open "))
			if err != nil {
				t.Fatalf("%s:%d: %v", file, n+1, err)
			}
			c.o.MaxOpen = n
		case section == "events":
			times, step, rest := repeated(line)
			e, err := parseEvent(rest)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, n+1, err)
			}
			for i := range times {
				c.events = append(c.events, later(e, event.Time(i)*step))
			}
		case section == "expect":
			c.expect = append(c.expect, line)
		default:
			t.Fatalf("%s:%d: outside of a section", file, n+1)
		}
	}
	return c
}

// repeated takes "429*2" off a line: so often, each time so much later.
func repeated(line string) (times int, step event.Time, rest string) {
	head, rest, _ := strings.Cut(line, " ")
	a, b, ok := strings.Cut(head, "*")
	n, err1 := strconv.Atoi(a)
	d, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil {
		return 1, 0, line
	}
	return n, event.Time(d), rest
}

// later is an event that happens later, with its begin.
func later(e event.Event, by event.Time) event.Event {
	e.Time += by
	if s := e.TimeOf(event.FieldStart); s.Known() {
		e.SetTime(event.FieldStart, s+by)
	}
	return e
}

// parseEvent reads "TIME KIND name=value …".
func parseEvent(line string) (event.Event, error) {
	f := splitFields(line)
	if len(f) < 2 {
		return event.Event{}, fmt.Errorf("%q is no event", line)
	}
	k := event.KindByName(f[1])
	if k == event.KindUnknown {
		return event.Event{}, fmt.Errorf("no kind %q", f[1])
	}
	at := event.NoTime
	if f[0] != "-" {
		v, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return event.Event{}, err
		}
		at = event.Time(v)
	}
	e := event.New(k, at)
	for _, kv := range f[2:] {
		name, v, ok := strings.Cut(kv, "=")
		if !ok {
			return e, fmt.Errorf("%q is no name=value", kv)
		}
		if err := setField(&e, name, strings.Trim(v, `"`)); err != nil {
			return e, err
		}
	}
	return e, nil
}

func setField(e *event.Event, name, v string) error {
	pair := func(c, s event.Field) error {
		a, b, _ := strings.Cut(v, ":")
		x, err1 := strconv.ParseUint(a, 0, 64)
		y, err2 := strconv.ParseUint(b, 0, 64)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("%q is no context:seqno", v)
		}
		e.SetUint(c, x)
		e.SetUint(s, y)
		return nil
	}
	switch name {
	case "cpu", "pid", "tid":
		n, err := strconv.Atoi(v)
		*map[string]*int32{"cpu": &e.CPU, "pid": &e.PID, "tid": &e.TID}[name] = int32(n)
		return err
	case "comm":
		e.Comm = v
		return nil
	case "src":
		e.Source = v
		return nil
	case "low32":
		e.Flags |= event.FlagLow32
		return nil
	case "hashed":
		e.Flags |= event.FlagHashed
		return nil
	case "fence":
		return pair(event.FieldFenceContext, event.FieldFenceSeqno)
	case "hw":
		return pair(event.FieldHWFenceContext, event.FieldHWFenceSeqno)
	case "on":
		return pair(event.FieldOnFenceContext, event.FieldOnFenceSeqno)
	}
	return setNamed(e, name, v)
}

func setNamed(e *event.Event, name, v string) error {
	field := event.FieldByName(name)
	if field == event.FieldNone {
		return fmt.Errorf("no field %q", name)
	}
	if !slices.Contains(e.Kind.Spec().Fields, field) {
		return fmt.Errorf("%v has no field %q", e.Kind, name)
	}
	switch field {
	case event.FieldAPI:
		e.SetUint(field, uint64(event.APIByName(v)))
		return nil
	case event.FieldActivity, event.FieldRole, event.FieldTaskOp:
		for i := range 16 {
			for _, s := range []fmt.Stringer{event.Activity(i), event.Role(i), event.TaskOp(i)} {
				if s.String() == v && enumOf(field) == reflect.TypeOf(s) {
					e.SetUint(field, uint64(i))
					return nil
				}
			}
		}
		return fmt.Errorf("no %s %q", name, v)
	}
	switch field.Spec().Type {
	case event.TypeString, event.TypeText:
		e.SetStr(field, v)
	case event.TypeFloat:
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return err
		}
		e.SetFloat(field, n)
	default:
		n, err := strconv.ParseInt(v, 0, 64)
		if err != nil {
			u, err := strconv.ParseUint(v, 0, 64)
			if err != nil {
				return err
			}
			n = int64(u)
		}
		e.SetInt(field, n)
	}
	return nil
}

func enumOf(f event.Field) reflect.Type {
	switch f {
	case event.FieldActivity:
		return reflect.TypeFor[event.Activity]()
	case event.FieldRole:
		return reflect.TypeFor[event.Role]()
	}
	return reflect.TypeFor[event.TaskOp]()
}

// tableRows returns the rows of a table as values.
func tableRows(r *Rows, table string) []reflect.Value {
	tb := TableByName(table)
	if tb == nil {
		return nil
	}
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if v.Field(i).Type().Elem() == reflect.TypeOf(tb.Zero) {
			out := make([]reflect.Value, v.Field(i).Len())
			for k := range out {
				out[k] = v.Field(i).Index(k)
			}
			return out
		}
	}
	return nil
}

// cell returns the text of a column of a row.
func cell(row reflect.Value, col string) (string, bool) {
	for _, c := range ColumnsOf(row.Type()) {
		if c.Name != col {
			continue
		}
		switch v := row.Field(c.Index).Interface().(type) {
		case ID:
			if v == 0 {
				return "NULL", true
			}
			return strconv.FormatInt(int64(v), 10), true
		case OptTime:
			return optText(v), true
		case OptInt:
			return optText(v), true
		case OptUint:
			return optText(v), true
		case OptBool:
			return optText(v), true
		case OptReal:
			return optText(v), true
		case string:
			if v == "" {
				return "NULL", true
			}
			return v, true
		default:
			return fmt.Sprint(v), true
		}
	}
	return "", false
}

func optText[T any](o event.Opt[T]) string {
	if !o.OK {
		return "NULL"
	}
	return fmt.Sprint(o.V)
}

// findRow returns row n of a table: by its id, else the n-th given.
func findRow(r *Rows, table string, n int) (reflect.Value, bool) {
	rows := tableRows(r, table)
	for _, v := range rows {
		if id, ok := cell(v, "id"); ok && id == strconv.Itoa(n) {
			return v, true
		}
	}
	if len(rows) > 0 {
		if _, ok := cell(rows[0], "id"); !ok && n >= 1 && n <= len(rows) {
			return rows[n-1], true
		}
	}
	return reflect.Value{}, false
}

// checkCase compares rows with what a case expects. Its lines:
//
//	TABLE N column=value …           row N has these values (NULL: none)
//	TABLE = COUNT                    the table has so many rows
//	link RULE SRC DST CONFIDENCE     there is this link (ids; the rule tells the tables)
//	unmatched TABLE:ID LINK REASON [LOSS]   all rows of unmatched must be listed
//	unmatched TABLE:* LINK REASON    every one of the table that misses it
//	anomaly NAME COUNT
func checkCase(t *testing.T, c testCase, r *Rows, sum *Summary) {
	t.Helper()
	left := map[string]string{}
	for _, u := range r.Unmatched {
		k := fmt.Sprintf("%s:%d %s", u.SrcTable, u.SrcID, u.Link)
		if _, twice := left[k]; twice {
			t.Errorf("unmatched twice: %s", k)
		}
		left[k] = u.Reason
		if u.LossID != 0 {
			left[k] += fmt.Sprintf(" %d", u.LossID)
		}
	}
	for _, line := range c.expect {
		f := splitFields(line)
		switch {
		case f[0] == "link":
			checkLink(t, r, f)
		case f[0] == "unmatched":
			if tb, ok := strings.CutSuffix(f[1], ":*"); ok {
				checkAll(t, left, tb, f[2], strings.Join(f[3:], " "))
				continue
			}
			k := f[1] + " " + f[2]
			if got, ok := left[k]; !ok {
				t.Errorf("no unmatched %s", k)
			} else if want := strings.Join(f[3:], " "); want != "any" && got != want {
				t.Errorf("unmatched %s: %s, want %s", k, got, want)
			}
			delete(left, k)
		case f[0] == "anomaly":
			n := uint64(0)
			for _, a := range sum.Counters.List() {
				if a.Name == f[1] {
					n = a.Count
				}
			}
			if strconv.FormatUint(n, 10) != f[2] {
				t.Errorf("anomaly %s: %d, want %s", f[1], n, f[2])
			}
		case f[1] == "=":
			if got := len(tableRows(r, f[0])); strconv.Itoa(got) != f[2] {
				t.Errorf("%s: %d rows, want %s", f[0], got, f[2])
			}
		default:
			checkRow(t, r, f)
		}
	}
	for k, reason := range left {
		t.Errorf("unexpected: unmatched %s %s", k, reason)
	}
}

// checkAll takes every row that misses link off those left to explain.
func checkAll(t *testing.T, left map[string]string, table, link, want string) {
	t.Helper()
	n := 0
	for k, got := range left {
		if !strings.HasPrefix(k, table+":") || !strings.HasSuffix(k, " "+link) {
			continue
		}
		if n++; got != want && want != "any" {
			t.Errorf("unmatched %s: %s, want %s", k, got, want)
		}
		delete(left, k)
	}
	if n == 0 {
		t.Errorf("no unmatched %s:* %s", table, link)
	}
}

func checkLink(t *testing.T, r *Rows, f []string) {
	t.Helper()
	spec := RuleByName(f[1])
	if spec == nil || len(f) < 5 {
		t.Fatalf("no link line: %v", f)
	}
	want := fmt.Sprintf("%s:%s %s:%s %s", spec.Src, f[2], spec.Dst, f[3], f[4])
	var have []string
	for _, l := range r.Links {
		if l.Rule != f[1] {
			continue
		}
		got := fmt.Sprintf("%s:%d %s:%d %s", l.SrcTable, l.SrcID, l.DstTable, l.DstID, l.Confidence)
		if got == want && (len(f) < 6 || l.Key == strings.Trim(f[5], `"`)) {
			return
		}
		have = append(have, got+" "+l.Key)
	}
	t.Errorf("no link %s %s; have %q", f[1], want, have)
}

func checkRow(t *testing.T, r *Rows, f []string) {
	t.Helper()
	n, err := strconv.Atoi(f[1])
	if err != nil || TableByName(f[0]) == nil {
		t.Fatalf("no expectation: %v", f)
	}
	row, ok := findRow(r, f[0], n)
	if !ok {
		t.Errorf("no row %d in %s", n, f[0])
		return
	}
	for _, kv := range f[2:] {
		col, want, _ := strings.Cut(kv, "=")
		want = strings.Trim(want, `"`)
		got, ok := cell(row, col)
		if !ok {
			t.Errorf("%s has no column %s", f[0], col)
		} else if got != want {
			t.Errorf("%s %d: %s = %s, want %s", f[0], n, col, got, want)
		}
	}
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repoRoot(t), "testdata", "correlate", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			c := readCase(t, file)
			if c.file {
				c.events = sorted(t, c.events)
			}
			r, sum := collect(t, c.events, c.o)
			checkCase(t, c, r, sum)
			checkRules(t, r)
		})
	}
}

// sorted puts events in order as readers of logs do.
func sorted(t *testing.T, events []event.Event) []event.Event {
	t.Helper()
	s := gpulog.Sort(&memSource{events: events}, gpulog.SortOptions{})
	defer s.Close()
	var out []event.Event
	var b event.Batch
	for {
		err := s.Next(&b)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Events...)
	}
}

// checkRules holds every link and every reason to the closed lists.
func checkRules(t *testing.T, r *Rows) {
	t.Helper()
	for _, l := range r.Links {
		s := RuleByName(l.Rule)
		switch {
		case s == nil:
			t.Errorf("link with unknown rule %q", l.Rule)
		case s.Src != l.SrcTable || s.Dst != l.DstTable:
			t.Errorf("rule %s joins %s to %s", l.Rule, l.SrcTable, l.DstTable)
		case !slices.Contains(s.Confidences, Confidence(l.Confidence)):
			t.Errorf("rule %s has confidence %s", l.Rule, l.Confidence)
		}
	}
	for _, u := range r.Unmatched {
		if !slices.Contains(Reasons, Reason(u.Reason)) || !slices.Contains(Missing, u.Link) {
			t.Errorf("unmatched %+v is not in the closed lists", u)
		}
		if (u.LossID != 0) != (u.Reason == string(Lost)) {
			t.Errorf("unmatched %+v: loss_id goes with reason lost", u)
		}
	}
}
