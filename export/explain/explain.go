// Package explain prints one chain: from an API call through ioctl, job and
// fences to the waits for it, from any row of it, with the rule of every link
// and the reason for every partner that is missing.
package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/correlate"
)

// MaxRows bounds the rows of a chain; what a busy call leads to beyond it is
// counted and left out.
const MaxRows = 500

// maxPasses bounds the passes over the rows. A chain has fewer levels.
const maxPasses = 16

// Ref names a row: "jobs:54".
type Ref struct {
	Table string
	ID    correlate.ID
}

// String is what ParseRef reads.
func (r Ref) String() string { return r.Table + ":" + strconv.FormatInt(int64(r.ID), 10) }

// Tables lists the tables whose rows have a chain.
var Tables = []string{"api_calls", "ioctls", "jobs", "fences", "fence_waits", "gpu_activities", "resets"}

// ParseRef reads TABLE:ID.
func ParseRef(s string) (Ref, error) {
	table, num, ok := strings.Cut(s, ":")
	id, err := strconv.ParseInt(num, 10, 64)
	if !ok || err != nil || id <= 0 {
		return Ref{}, fmt.Errorf("%q names no row; write TABLE:ID, as in jobs:54", s)
	}
	if rank(table) == len(Tables) {
		return Ref{}, fmt.Errorf("%q: rows of %q have no chain; those of %s have", s, table, strings.Join(Tables, ", "))
	}
	return Ref{table, correlate.ID(id)}, nil
}

// rank is the place of a table in a chain.
func rank(table string) int {
	for i, t := range Tables {
		if t == table {
			return i
		}
	}
	return len(Tables)
}

// dir says which way a row is followed.
type dir uint8

const (
	up   dir = 1 << iota // to its causes
	down                 // to its effects
)

// Finder collects a chain. Correlation gives links as it makes them, often
// before the other end of the chain is known to belong to it; so the rows are
// read several times, until a pass adds none: memory is that of the chain.
//
//	for f.Next() { give every Rows of a run to f.Write }
type Finder struct {
	start  Ref
	want   map[Ref]dir
	grown  bool
	passes int

	rows  map[Ref]row
	links map[correlate.Link]bool
	order []correlate.Link
	deps  []correlate.JobDep
	miss  []correlate.Unmatched
	said  []correlate.JobEvent
	loss  map[correlate.ID]correlate.Loss
	devs  map[correlate.ID]correlate.Device
	last  correlate.ID // greatest id seen in the table of the start
	left  map[Ref]bool
}

// New begins a search.
func New(start Ref) *Finder {
	return &Finder{start: start, want: map[Ref]dir{start: up | down}}
}

// Next reports whether another pass over all rows is needed, and begins it.
func (f *Finder) Next() bool {
	if f.passes > 0 && (!f.grown || f.passes >= maxPasses || f.rows[f.start].fields == nil) {
		return false
	}
	f.passes++
	f.grown = false
	f.rows = map[Ref]row{}
	f.links, f.order, f.deps, f.miss, f.said = map[correlate.Link]bool{}, nil, nil, nil, nil
	f.loss, f.devs = map[correlate.ID]correlate.Loss{}, map[correlate.ID]correlate.Device{}
	f.left = map[Ref]bool{}
	return true
}

// Write takes rows of the pass.
func (f *Finder) Write(r *correlate.Rows) {
	for i := range r.Links {
		f.link(&r.Links[i])
	}
	for i := range r.APICalls {
		f.parent(&r.APICalls[i])
	}
	f.collect(r)
	for i := range r.JobDeps {
		if d := &r.JobDeps[i]; f.want[Ref{"jobs", d.JobID}] != 0 && len(f.deps) < MaxRows {
			f.deps = append(f.deps, *d)
		}
	}
	for i := range r.JobEvents {
		if e := &r.JobEvents[i]; f.want[Ref{"jobs", e.JobID}] != 0 && len(f.said) < MaxRows {
			f.said = append(f.said, *e)
		}
	}
	for i := range r.Unmatched {
		if u := &r.Unmatched[i]; f.want[Ref{u.SrcTable, u.SrcID}] != 0 {
			f.miss = append(f.miss, *u)
		}
	}
	for i := range r.Losses {
		if len(f.loss) < MaxRows {
			f.loss[r.Losses[i].ID] = r.Losses[i]
		}
	}
	for i := range r.Devices {
		if len(f.devs) < MaxRows {
			f.devs[r.Devices[i].ID] = r.Devices[i]
		}
	}
}

// add takes a row into the chain, or learns a further direction of it.
func (f *Finder) add(r Ref, d dir) {
	if r.ID == 0 {
		return
	}
	// A job is the middle of its chain; a wait has its own call around it.
	switch r.Table {
	case "jobs":
		d = up | down
	case "fence_waits", "gpu_activities":
		d |= up
	}
	old, ok := f.want[r]
	if !ok && len(f.want) >= MaxRows {
		f.left[r] = true
		return
	}
	if old|d != old {
		f.want[r] = old | d
		f.grown = true
	}
}

// link follows a link that touches the chain. What a job depends on is told,
// not followed: it would lead through the whole run.
func (f *Finder) link(l *correlate.Link) {
	src, dst := Ref{l.SrcTable, l.SrcID}, Ref{l.DstTable, l.DstID}
	if l.Rule == correlate.RuleJobDep {
		if f.want[src] != 0 || f.want[dst] != 0 {
			f.keep(l)
		}
		return
	}
	woken := l.Rule == correlate.RuleJobWake // an ioctl that waits for many jobs
	if f.want[dst]&up != 0 && (!woken || dst == f.start) {
		f.add(src, up)
	}
	switch {
	case f.want[src]&down == 0:
	case woken:
		f.add(dst, up)
	default:
		f.add(dst, down)
	}
	if f.want[src] != 0 && f.want[dst] != 0 {
		f.keep(l)
	}
}

func (f *Finder) keep(l *correlate.Link) {
	if !f.links[*l] && len(f.order) < 4*MaxRows {
		f.links[*l] = true
		f.order = append(f.order, *l)
	}
}

// parent follows the calls around a call, and those in it.
func (f *Finder) parent(c *correlate.APICall) {
	me, around := Ref{"api_calls", c.ID}, Ref{"api_calls", c.ParentID}
	if f.want[me]&up != 0 {
		f.add(around, up)
	}
	if c.ParentID != 0 && f.want[around]&down != 0 {
		f.add(me, down)
	}
}

// Result returns the chain, or an error if there is no such row.
func (f *Finder) Result() (*Chain, error) {
	if f.rows[f.start].fields == nil {
		if f.last == 0 {
			return nil, fmt.Errorf("there is no row %s: the table %s is empty", f.start, f.start.Table)
		}
		return nil, fmt.Errorf("there is no row %s: %s goes from 1 to %d", f.start, f.start.Table, f.last)
	}
	return f.chain(), nil
}
