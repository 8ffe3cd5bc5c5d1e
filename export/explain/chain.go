package explain

import (
	"cmp"
	"reflect"
	"slices"
	"sort"

	"github.com/gpurec/gpurec/correlate"
)

// row is a row of the chain: its columns that are not NULL.
type row struct {
	at     correlate.OptTime // its first moment
	fields map[string]any
}

// Chain is what is known of one row and of all that it is linked with.
type Chain struct {
	Of      string    `json:"of"`
	ZeroNS  *int64    `json:"zero_ns"` // the first moment; at_ns count from it; null if nothing has a time
	Rows    []Row     `json:"rows"`    // causes first
	Links   []Link    `json:"links"`
	Deps    []Dep     `json:"dependencies"`
	Missing []Missing `json:"missing"`
	Events  []Said    `json:"job_events"`    // what drivers told of the chain's jobs beside
	LeftOut int       `json:"rows_left_out"` // beyond MaxRows
}

// Row is a row of the chain.
type Row struct {
	Row     string         `json:"row"`
	Columns map[string]any `json:"columns"` // those that are not NULL
	Moments []Moment       `json:"moments"`
	ref     Ref
	at      correlate.OptTime
}

// Moment is a point in time of a row.
type Moment struct {
	Column string `json:"column"`
	AtNS   int64  `json:"at_ns"` // since ZeroNS
}

// Link joins two rows of the chain.
type Link struct {
	Src        string `json:"src"`
	Dst        string `json:"dst"`
	Rule       string `json:"rule"`
	Section    int    `json:"section"` // of docs/correlation.md; 0 for a call in a call
	Confidence string `json:"confidence"`
	Key        string `json:"key"`
}

// Dep is a job that another one depends on; one of the two is in the chain.
type Dep struct {
	Job    string `json:"job"`
	On     string `json:"on,omitempty"` // "" if no job here has the fence
	Fence  string `json:"fence"`
	Waited *bool  `json:"waited"` // null if it is not known
}

// Said is what a driver told of a job.
type Said struct {
	Row    string `json:"row"`
	AtNS   *int64 `json:"at_ns"` // since ZeroNS; null if it has no time
	What   string `json:"what"`
	Error  *int64 `json:"error"`
	Source string `json:"source"`
	Args   string `json:"args,omitempty"`
}

// Missing is a partner that a row of the chain should have.
type Missing struct {
	Row     string `json:"row"`
	Link    string `json:"link"`
	Reason  string `json:"reason"`
	Meaning string `json:"meaning"`
	Loss    string `json:"loss,omitempty"`
}

// collect copies the wanted rows.
func (f *Finder) collect(r *correlate.Rows) {
	keep(f, "api_calls", r.APICalls, func(v *correlate.APICall) correlate.ID { return v.ID })
	keep(f, "ioctls", r.Ioctls, func(v *correlate.Ioctl) correlate.ID { return v.ID })
	keep(f, "jobs", r.Jobs, func(v *correlate.Job) correlate.ID { return v.ID })
	keep(f, "fences", r.Fences, func(v *correlate.Fence) correlate.ID { return v.ID })
	keep(f, "fence_waits", r.FenceWaits, func(v *correlate.FenceWait) correlate.ID { return v.ID })
	keep(f, "gpu_activities", r.GPUActivities, func(v *correlate.GPUActivity) correlate.ID { return v.ID })
	keep(f, "resets", r.Resets, func(v *correlate.Reset) correlate.ID { return v.ID })
}

func keep[T any](f *Finder, table string, rows []T, id func(*T) correlate.ID) {
	for i := range rows {
		n := id(&rows[i])
		if table == f.start.Table {
			f.last = max(f.last, n)
		}
		ref := Ref{table, n}
		if f.want[ref] != 0 {
			f.rows[ref] = rowOf(reflect.ValueOf(&rows[i]).Elem())
		}
	}
}

func rowOf(v reflect.Value) row {
	r := row{fields: map[string]any{}}
	for _, c := range correlate.ColumnsOf(v.Type()) {
		switch x := v.Field(c.Index).Interface().(type) {
		case correlate.ID:
			if x != 0 {
				r.fields[c.Name] = int64(x)
			}
		case correlate.OptTime:
			if x.OK {
				r.fields[c.Name] = int64(x.V)
				if !r.at.OK || x.V < r.at.V {
					r.at = x
				}
			}
		case correlate.OptInt:
			set(r, c.Name, x.OK, x.V)
		case correlate.OptUint:
			set(r, c.Name, x.OK, x.V)
		case correlate.OptReal:
			set(r, c.Name, x.OK, x.V)
		case correlate.OptBool:
			set(r, c.Name, x.OK, x.V)
		case string:
			set(r, c.Name, x != "", x)
		case bool:
			set(r, c.Name, x, x)
		default:
			r.fields[c.Name] = x
		}
	}
	return r
}

func set(r row, name string, ok bool, v any) {
	if ok {
		r.fields[name] = v
	}
}

// chain puts what was found in order: by first moment, causes before effects.
func (f *Finder) chain() *Chain {
	c := &Chain{Of: f.start.String(), Rows: []Row{}, Links: []Link{}, Deps: []Dep{}, Missing: []Missing{}, Events: []Said{}, LeftOut: len(f.left)}
	zero := correlate.OptTime{}
	for ref, r := range f.rows {
		c.Rows = append(c.Rows, Row{Row: ref.String(), Columns: r.fields, ref: ref, at: r.at})
		if r.at.OK && (!zero.OK || r.at.V < zero.V) {
			zero = r.at
		}
	}
	if zero.OK {
		z := int64(zero.V)
		c.ZeroNS = &z
	}
	slices.SortFunc(c.Rows, func(a, b Row) int {
		if a.at.OK && b.at.OK && a.at.V != b.at.V {
			return cmp.Compare(a.at.V, b.at.V)
		}
		return cmp.Or(cmp.Compare(rank(a.ref.Table), rank(b.ref.Table)), cmp.Compare(a.ref.ID, b.ref.ID))
	})
	for i := range c.Rows {
		c.Rows[i].moments(zero)
		c.inCall(&c.Rows[i], f)
	}
	for i := range f.order {
		if l := &f.order[i]; l.Rule != correlate.RuleJobDep && f.have(l.SrcTable, l.SrcID) && f.have(l.DstTable, l.DstID) {
			n := Link{Ref{l.SrcTable, l.SrcID}.String(), Ref{l.DstTable, l.DstID}.String(), l.Rule, 0, l.Confidence, l.Key}
			if s := correlate.RuleByName(l.Rule); s != nil {
				n.Section = s.Section
			}
			c.Links = append(c.Links, n)
		}
	}
	c.depend(f)
	c.missing(f)
	c.said(f, zero)
	return c
}

func (f *Finder) have(table string, id correlate.ID) bool {
	return f.rows[Ref{table, id}].fields != nil
}

// inCall names the call around a call as a link of its own.
func (c *Chain) inCall(r *Row, f *Finder) {
	id, ok := r.Columns["parent_id"].(int64)
	if ok && r.ref.Table == "api_calls" && f.have("api_calls", correlate.ID(id)) {
		c.Links = append(c.Links, Link{Ref{"api_calls", correlate.ID(id)}.String(), r.Row, "in-call", 0, string(correlate.Nested), ""})
	}
}

func (r *Row) moments(zero correlate.OptTime) {
	r.Moments = []Moment{}
	t := correlate.TableByName(r.ref.Table)
	if t == nil {
		return
	}
	for _, col := range t.Columns() {
		if v, ok := r.Columns[col.Name].(int64); ok && col.Type == correlate.ColTime {
			r.Moments = append(r.Moments, Moment{col.Name, v - int64(zero.V)})
		}
	}
	sort.SliceStable(r.Moments, func(i, k int) bool { return r.Moments[i].AtNS < r.Moments[k].AtNS })
}

// depend tells what the chain's jobs depend on, and which jobs on them.
func (c *Chain) depend(f *Finder) {
	for i := range f.deps {
		d := &f.deps[i]
		n := Dep{Job: Ref{"jobs", d.JobID}.String()}
		if d.OnJobID != 0 {
			n.On = Ref{"jobs", d.OnJobID}.String()
		}
		if d.OnFenceContext.OK && d.OnFenceSeqno.OK {
			n.Fence = fence(d.OnFenceContext.V, d.OnFenceSeqno.V)
		}
		if d.Waited.OK {
			w := d.Waited.V
			n.Waited = &w
		}
		c.Deps = append(c.Deps, n)
	}
	for i := range f.order {
		l := &f.order[i]
		if l.Rule == correlate.RuleJobDep && !f.have("jobs", l.DstID) {
			c.Deps = append(c.Deps, Dep{Job: Ref{"jobs", l.DstID}.String(), On: Ref{"jobs", l.SrcID}.String(), Fence: l.Key})
		}
	}
}

func (c *Chain) missing(f *Finder) {
	for _, u := range f.miss {
		m := Missing{Row: Ref{u.SrcTable, u.SrcID}.String(), Link: u.Link, Reason: u.Reason, Meaning: Meaning(u.SrcTable, u.Link, correlate.Reason(u.Reason))}
		if l, ok := f.loss[u.LossID]; ok {
			m.Loss = lossText(&l)
		}
		c.Missing = append(c.Missing, m)
	}
	slices.SortStableFunc(c.Missing, func(a, b Missing) int {
		return cmp.Compare(c.place(a.Row), c.place(b.Row))
	})
}

// said tells what drivers told of the chain's jobs.
func (c *Chain) said(f *Finder, zero correlate.OptTime) {
	for i := range f.said {
		e := &f.said[i]
		n := Said{Row: Ref{"jobs", e.JobID}.String(), What: e.What, Source: e.Source, Args: e.Args}
		if e.TSNS.OK && zero.OK {
			at := int64(e.TSNS.V - zero.V)
			n.AtNS = &at
		}
		if e.Error.OK {
			v := e.Error.V
			n.Error = &v
		}
		c.Events = append(c.Events, n)
	}
}

func (c *Chain) place(name string) int {
	for i := range c.Rows {
		if c.Rows[i].Row == name {
			return i
		}
	}
	return len(c.Rows)
}

// Meaning says in words why a row of a table has no partner of the sort link.
func Meaning(table, link string, r correlate.Reason) string {
	if r == correlate.NotPossible && table == "api_calls" {
		return "this driver has none: launches go to the device from user space"
	}
	if r == correlate.NotPossible && (link == "dependency" || link == "job" && table == "fence_waits") {
		return "the fence is of no job: a stub, signalled from the start, or a chain or array of others"
	}
	if r == correlate.NotPossible && link == "queue" {
		return "this driver tells no queueing"
	}
	return meanings[r]
}

// meanings says the reasons in words.
var meanings = map[correlate.Reason]string{
	correlate.NotRecorded:    "the recording holds no such event",
	correlate.NotPossible:    "this driver has none",
	correlate.BeforeStart:    "it happened before the recording began",
	correlate.AfterStop:      "the recording ended first",
	correlate.Open:           "it was still running when the recording ended",
	correlate.Killed:         "its thread or its client was killed",
	correlate.Faulted:        "it was still running at the end; an Xid named its process since it began",
	correlate.KernelInternal: "the driver's own work: no program asked for it",
	correlate.Lost:           "events were lost where it would be",
	correlate.Evicted:        "left out to stay within a cap of memory",
	correlate.Ambiguous:      "more than one candidate, and nothing tells which",
}
