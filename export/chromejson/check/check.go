package check

import (
	"encoding/json"
	"fmt"
	"sort"
)

const (
	maxProblems = 100
	firstMadeID = 1 << 29 // numbers from here on are no kernel's
)

type rowKey struct{ pid, tid uint64 }

type end struct {
	row  rowKey
	at   int64
	name string
	n    int
}

type checker struct {
	rep      Report
	rows     map[rowKey]*Row
	procs    map[uint64]string
	counters map[string]int64 // last time
	starts   map[string]*end  // of arrows, by id
	finishes map[string]*end
	ids      []string // of arrows, in order
}

func newChecker() *checker {
	return &checker{rows: map[rowKey]*Row{}, procs: map[uint64]string{}, counters: map[string]int64{}, starts: map[string]*end{}, finishes: map[string]*end{},
		rep: Report{Categories: map[string]int{}, FlowPairs: map[string]int{}, Counters: map[string]int{}}}
}

func (c *checker) problem(rule, format string, args ...any) {
	if len(c.rep.Problems) >= maxProblems {
		c.rep.more++
		return
	}
	c.rep.Problems = append(c.rep.Problems, Problem{rule, fmt.Sprintf(format, args...)})
}

// id reads a pid or tid: readers take 0 for the idle process, and what does not
// fit 32 bits for 0.
func (c *checker) id(i int, e map[string]any, key string) uint64 {
	n, ok := e[key].(json.Number)
	v, err := n.Int64()
	if !ok || err != nil || v <= 0 || v > 1<<31-1 {
		c.problem("id", "event %d: %s is %v", i, key, e[key])
	}
	return uint64(v)
}

func (c *checker) event(i int, e map[string]any) {
	ph, _ := e["ph"].(string)
	pid := c.id(i, e, "pid")
	name, _ := e["name"].(string)
	if name == "" {
		c.problem("name", "event %d has no name", i)
	}
	switch ph {
	case "M":
		c.metadata(i, e, name, pid)
	case "C":
		c.counter(i, e, name, pid)
	case "X", "i", "s", "f":
		c.onThread(i, e, ph, name, rowKey{pid, c.id(i, e, "tid")})
	default:
		c.problem("phase", "event %d has phase %q", i, ph)
	}
}

func (c *checker) onThread(i int, e map[string]any, ph, name string, k rowKey) {
	r := c.rows[k]
	if r == nil {
		c.problem("thread", "event %d: thread %d of process %d is not described before", i, k.tid, k.pid)
		r = c.row(k)
	}
	at := c.time(i, e, "ts")
	cat, _ := e["cat"].(string)
	switch ph {
	case "X":
		s := &Slice{Row: r, Start: at, End: at + c.time(i, e, "dur"), Name: name, Category: cat}
		if s.End < at {
			c.problem("time", "event %d: dur is %v", i, e["dur"])
		}
		if e["args"] != nil {
			var ok bool
			if s.Args, ok = e["args"].(map[string]any); !ok {
				c.problem("args", "event %d: args is no object", i)
			}
		}
		r.Slices = append(r.Slices, s)
		c.rep.Slices = append(c.rep.Slices, s)
		c.rep.Categories[cat]++
	case "i":
		if e["s"] != "t" {
			c.problem("phase", "event %d: scope %v", i, e["s"])
		}
		c.rep.Instants++
		c.rep.Categories[cat]++
	default:
		c.arrow(i, e, ph, cat+"/"+name, k, at)
	}
}

func (c *checker) arrow(i int, e map[string]any, ph, name string, k rowKey, at int64) {
	n, ok := e["id"].(json.Number)
	if !ok {
		c.problem("flow", "event %d: id %v: text is read as hexadecimal", i, e["id"])
	}
	ends := c.starts
	if ph == "f" {
		ends = c.finishes
		if e["bp"] != "e" {
			c.problem("flow", "event %d: bp is %v: it would bind to the next slice", i, e["bp"])
		}
	} else {
		c.ids = append(c.ids, string(n))
	}
	if ends[string(n)] != nil {
		c.problem("flow", "event %d: a second %s with id %s", i, ph, n)
	}
	ends[string(n)] = &end{row: k, at: at, name: name, n: i}
}

func (c *checker) row(k rowKey) *Row {
	r := c.rows[k]
	if r == nil {
		r = &Row{PID: k.pid, TID: k.tid}
		c.rows[k] = r
		c.rep.Rows = append(c.rep.Rows, r)
	}
	return r
}

func (c *checker) metadata(i int, e map[string]any, name string, pid uint64) {
	args, _ := e["args"].(map[string]any)
	text, _ := args["name"].(string)
	switch name {
	case "process_name":
		if _, ok := c.procs[pid]; ok {
			c.problem("process", "event %d: process %d is named twice", i, pid)
		}
		c.procs[pid] = text
	case "thread_name", "thread_sort_index":
		r := c.row(rowKey{pid, c.id(i, e, "tid")})
		if name == "thread_name" {
			if r.Name != "" {
				c.problem("thread", "event %d: thread %d is named twice", i, r.TID)
			}
			r.Name = text
			return
		}
		c.sortIndex(i, args, &r.Sort)
	case "process_sort_index":
		c.sortIndex(i, args, new(int64))
	case "process_labels":
	default:
		c.problem("phase", "event %d: metadata %q", i, name)
	}
}

// mark checks that the first event, and no other, says by what the file is to be
// read when it is imported again.
func (c *checker) mark(events []any) {
	for i, e := range events {
		m, _ := e.(map[string]any)
		args, _ := m["args"].(map[string]any)
		version, marked := args["export"]
		if i > 0 {
			if marked && m["ph"] == "M" {
				c.problem("mark", "event %d is a second mark", i)
			}
			continue
		}
		if m["name"] != "process_name" || args["name"] != "gpurec" || version != json.Number("1") {
			c.problem("mark", "the first event is no mark")
		}
		for _, key := range []string{"clock", "start_ns"} {
			if args[key] != c.rep.Other[key] {
				c.problem("mark", "%s is %v in the mark, %v in otherData", key, args[key], c.rep.Other[key])
			}
		}
	}
}

// sortIndex must fit 32 bits with its sign.
func (c *checker) sortIndex(i int, args map[string]any, to *int64) {
	n, ok := args["sort_index"].(json.Number)
	v, err := n.Int64()
	if !ok || err != nil || v > 1<<31-1 || v < -1<<31 {
		c.problem("args", "event %d: sort_index is %v", i, args["sort_index"])
	}
	*to = v
}

func (c *checker) counter(i int, e map[string]any, name string, pid uint64) {
	at := c.time(i, e, "ts")
	args, _ := e["args"].(map[string]any)
	if len(args) != 1 {
		c.problem("counter", "event %d has %d values", i, len(args))
	}
	for _, v := range args {
		n, ok := v.(json.Number)
		if _, err := n.Float64(); !ok || err != nil {
			c.problem("counter", "event %d: value %v", i, v)
		}
	}
	k := fmt.Sprintf("%s > %s", c.procs[pid], name)
	if last, ok := c.counters[k]; ok && at < last {
		c.problem("counter", "event %d: %s goes back in time", i, k)
	}
	c.counters[k] = at
	c.rep.Counters[k]++
	c.rep.Samples++
}

func (c *checker) finish() {
	names, tids := map[string]bool{}, map[uint64]bool{}
	for _, r := range c.rep.Rows {
		r.Process = c.procs[r.PID]
		if r.TID >= firstMadeID {
			if r.Name == "" || r.Process == "" && r.PID >= firstMadeID {
				c.problem("thread", "thread %d of process %d has no name", r.TID, r.PID)
			}
			if k := fmt.Sprint(r.PID, " ", r.Name); names[k] {
				c.problem("thread", "two threads of process %d are named %q", r.PID, r.Name)
			} else {
				names[k] = true
			}
			if tids[r.TID] {
				c.problem("thread", "thread %d is in two processes", r.TID)
			}
			tids[r.TID] = true
		}
		c.nest(r)
	}
	for _, id := range c.ids {
		c.bind(id)
	}
	for id := range c.finishes {
		if c.starts[id] == nil {
			c.problem("flow", "id %s has no start", id)
		}
	}
}

// nest replays the slices of a thread in the order in which readers take them:
// by time, longer ones first. The file has that order already, but that what
// has no length may stand before what starts with it.
func (c *checker) nest(r *Row) {
	for i := 1; i < len(r.Slices); i++ {
		a, b := r.Slices[i-1], r.Slices[i]
		if b.Start < a.Start || b.Start == a.Start && b.End > a.End && a.End > a.Start {
			c.problem("order", "%s: %q at %d stands before %q at %d", r.Path(), a.Name, a.Start, b.Name, b.Start)
		}
	}
	sort.SliceStable(r.Slices, func(i, j int) bool {
		a, b := r.Slices[i], r.Slices[j]
		return a.Start < b.Start || a.Start == b.Start && a.End > b.End
	})
	var stack []*Slice
	for _, s := range r.Slices {
		for len(stack) > 0 && stack[len(stack)-1].End <= s.Start {
			stack = stack[:len(stack)-1]
		}
		if len(stack) > 0 {
			s.Parent = stack[len(stack)-1]
			if s.End > s.Parent.End {
				c.problem("nesting", "%s: %q %d-%d ends after %q %d-%d around it", r.Path(), s.Name, s.Start, s.End, s.Parent.Name, s.Parent.Start, s.Parent.End)
			}
		}
		stack = append(stack, s)
	}
}

// bind finds the slices at the ends of an arrow as readers do: the last one
// that began at or before the time.
func (c *checker) bind(id string) {
	a, b := c.starts[id], c.finishes[id]
	if b == nil {
		c.problem("flow", "id %s has no finish", id)
		return
	}
	if a.name != b.name {
		c.problem("flow", "id %s: %s and %s are two", id, a.name, b.name)
	}
	if b.at < a.at {
		c.problem("flow", "id %s goes back in time", id)
	}
	from, to := c.slice(a), c.slice(b)
	if from == nil || to == nil {
		c.problem("flow", "id %s has an end at no slice", id)
		return
	}
	c.rep.Flows = append(c.rep.Flows, Flow{a.name, from, to})
	c.rep.FlowPairs[from.Category+" > "+to.Category]++
}

func (c *checker) slice(e *end) *Slice {
	r := c.rows[e.row]
	i := sort.Search(len(r.Slices), func(i int) bool { return r.Slices[i].Start > e.at }) - 1
	if i < 0 || r.Slices[i].End < e.at {
		return nil
	}
	if s := r.Slices[i]; s.Start != e.at {
		c.problem("flow", "event %d: the slice at %d starts at %d", e.n, e.at, s.Start)
	}
	return r.Slices[i]
}
