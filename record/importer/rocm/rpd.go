package rocm

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/args"
	"github.com/gpurec/gpurec/record/importer/sqlitefile"
)

// rpd reads a file of rpd_tracer; of rocpd files it holds what is the same. Calls, work on devices and samples are read
// side by side, the earliest first. What a call launched stands in tables of
// its number (rocpd_kernelapi, rocpd_copyapi), which are read along with the
// calls; which call launched a piece of work stands in rocpd_api_ops, which is
// read before.
type rpd struct {
	name    string
	file    *sqlitefile.File
	count   event.Counters
	meta    event.Meta
	strings map[int64]string
	launch  map[int64]int64 // call by op
	pids    []int32         // process by call
	cursors []*cursor
	kernels *side
	copies  *side
	sides   []*side
	first   []event.Event // who is there
	obj     args.Object
	failed  error
}

// cursor is a table on its way.
type cursor struct {
	table string
	rows  *sqlitefile.Rows
	make  func(r *rpd, rows *sqlitefile.Rows) event.Event // no kind: the row is no event
	next  event.Event
}

// side is a table of further facts of calls, in the order of their numbers.
type side struct {
	rows *sqlitefile.Rows
	id   int64
	ok   bool
}

// Bounds of what is held.
const (
	maxLinks   = 2 << 20
	maxPIDs    = 8 << 20
	maxStrings = 64 << 20 // bytes
	maxText    = 64 << 10
)

func openRPD(in importer.Input, o importer.Options) (importer.Reader, error) {
	// rpd_tracer stamps calls with CLOCK_MONOTONIC (rpd_tracer/Utility.h), and
	// roctracer brings the times of devices to it.
	r, err := openFile(in, o, event.Meta{Format: "rpd", Clock: event.ClockMonotonic})
	if err != nil {
		return nil, err
	}
	if r.file.Tables["rocpd_api"] == nil && r.file.Tables["rocpd_op"] == nil {
		r.file.Close()
		return nil, &importer.Error{Name: in.Name, Offset: -1, Err: errors.New("holds neither rocpd_api nor rocpd_op, so it is no file of rpd_tracer"),
			Remedy: "if it is rocprofv3's own database, name it: --from rocpd"}
	}
	r.prepare()
	return r, nil
}

// openFile opens the database.
func openFile(in importer.Input, o importer.Options, m event.Meta) (*rpd, error) {
	f, err := sqlitefile.Open(in)
	if err != nil {
		return nil, err
	}
	r := &rpd{name: in.Name, file: f, strings: map[int64]string{}, launch: map[int64]int64{}, meta: m}
	if o.Clock != "" {
		r.meta.Clock = o.Clock
	}
	if f.Missing > 0 {
		r.count.AddAt(&AnomalyDamaged, 1, fmt.Sprintf("%d bytes are missing at the end", f.Missing))
		r.failed = &importer.Error{Name: in.Name, Offset: -1, Err: fmt.Errorf("the file is cut: %d bytes are missing at its end", f.Missing), Remedy: "copy it again; what is whole of its tables is kept"}
	}
	return r, nil
}

// prepare reads names, links and facts, and opens the tables of events.
func (r *rpd) prepare() {
	left := maxStrings
	r.each("rocpd_string", []string{"id", "string"}, func(rows *sqlitefile.Rows) {
		id, ok := rows.Int(0)
		s := cut(rows.Text(1))
		if left -= len(s) + 64; ok && left > 0 {
			r.strings[id] = s
		}
	})
	r.each("rocpd_metadata", []string{"tag", "value"}, func(rows *sqlitefile.Rows) {
		if len(r.meta.Facts) < 1000 {
			r.meta.Facts = append(r.meta.Facts, event.Fact{Key: "rpd." + cut(rows.Text(0)), Value: cut(rows.Text(1))})
		}
	})
	r.each("rocpd_api_ops", []string{"api_id", "op_id"}, func(rows *sqlitefile.Rows) {
		api, ok1 := rows.Int(0)
		op, ok2 := rows.Int(1)
		if !ok1 || !ok2 {
			return
		}
		if len(r.launch) >= maxLinks {
			r.count.Add(&AnomalyTooMany, 1)
			return
		}
		r.launch[op] = api
	})
	if len(r.launch) > 0 {
		r.each("rocpd_api", []string{"id", "pid"}, func(rows *sqlitefile.Rows) {
			id, ok1 := rows.Int(0)
			pid, ok2 := rows.Int(1)
			if !ok1 || !ok2 || id < 0 || id >= maxPIDs {
				return
			}
			for int64(len(r.pids)) <= id {
				r.pids = append(r.pids, event.NoID)
			}
			r.pids[id] = int32(pid)
		})
	}
	r.kernels = r.side("rocpd_kernelapi", kernelAPICols)
	r.copies = r.side("rocpd_copyapi", copyAPICols)
	r.sides = []*side{r.kernels, r.copies}
	r.start("rocpd_api", []string{"start", "end", "id", "pid", "tid", "apiName_id", "args_id"}, (*rpd).api)
	r.start("rocpd_op", []string{"start", "end", "id", "gpuId", "queueId", "sequenceId", "description_id", "opType_id"}, (*rpd).op)
	r.start("rocpd_monitor", []string{"start", "end", "deviceType", "deviceId", "monitorType", "value"}, (*rpd).monitor)
	known := map[string]bool{"rocpd_string": true, "rocpd_ustring": true, "rocpd_metadata": true, "rocpd_api_ops": true, "rocpd_kernelapi": true,
		"rocpd_copyapi": true, "rocpd_api": true, "rocpd_op": true, "rocpd_monitor": true}
	r.leftOut(known)
}

func cut(s string) string {
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "")
	}
	return s
}

func (r *rpd) each(table string, cols []string, do func(*sqlitefile.Rows)) {
	rows, err := r.file.Rows(table, cols...)
	if err != nil {
		r.damaged(table, 0, err)
		return
	}
	defer rows.Close()
	for {
		ok, err := rows.Next()
		if err != nil {
			r.damaged(table, rows.Read, err)
		}
		if !ok {
			return
		}
		do(rows)
	}
}

func (r *rpd) damaged(table string, row int64, err error) {
	where := fmt.Sprintf("table %s after row %d", table, row)
	r.count.AddAt(&AnomalyDamaged, 1, where+": "+err.Error())
	if r.failed == nil {
		r.failed = &importer.Error{Name: r.name, Offset: -1, Err: fmt.Errorf("%s: %w", where, err), Remedy: "what was read of all tables is kept"}
	}
}

func (r *rpd) start(table string, cols []string, do func(*rpd, *sqlitefile.Rows) event.Event) {
	rows, err := r.file.Rows(table, cols...)
	r.begin(table, rows, err, do)
}

// begin goes to the first row of a table.
func (r *rpd) begin(table string, rows *sqlitefile.Rows, err error, do func(*rpd, *sqlitefile.Rows) event.Event) {
	if err != nil {
		r.damaged(table, 0, err)
		return
	}
	c := &cursor{table: table, rows: rows, make: do}
	if r.advance(c) {
		r.cursors = append(r.cursors, c)
	}
}

func (r *rpd) advance(c *cursor) bool {
	for {
		ok, err := c.rows.Next()
		if err != nil {
			r.damaged(c.table, c.rows.Read, err)
		}
		if !ok {
			return false
		}
		if c.next = c.make(r, c.rows); c.next.Kind != event.KindUnknown {
			return true
		}
	}
}

// side opens a table of further facts at its first row.
func (r *rpd) side(table string, cols []string) *side {
	rows, err := r.file.Rows(table, cols...)
	if err != nil {
		r.damaged(table, 0, err)
		return &side{}
	}
	s := &side{rows: rows}
	r.step(table, s)
	return s
}

func (r *rpd) step(table string, s *side) {
	ok, err := s.rows.Next()
	if err != nil {
		r.damaged(table, s.rows.Read, err)
	}
	if s.ok = ok; ok {
		s.id, _ = s.rows.Int(0)
	}
}

// to goes to the row of a call, and reports whether there is one.
func (r *rpd) to(table string, s *side, id int64) bool {
	for s.ok && s.id < id {
		r.count.AddAt(&AnomalyBadRecord, 1, fmt.Sprintf("table %s: call %d is not there", table, s.id))
		r.step(table, s)
	}
	return s.ok && s.id == id
}

// Next fills b with events; see [event.Source].
func (r *rpd) Next(b *event.Batch) error {
	b.Reset()
	if n := min(len(r.first), event.DefaultBatch); n > 0 {
		b.Events = append(b.Events, r.first[:n]...)
		r.first = r.first[n:]
		return nil
	}
	for len(b.Events) < event.DefaultBatch && len(r.cursors) > 0 {
		best := 0
		for i, c := range r.cursors {
			if c.next.Time < r.cursors[best].next.Time {
				best = i
			}
		}
		c := r.cursors[best]
		span(&r.meta, &c.next)
		b.Events = append(b.Events, c.next)
		if !r.advance(c) {
			r.cursors = append(r.cursors[:best], r.cursors[best+1:]...)
		}
	}
	switch {
	case len(b.Events) > 0:
		return nil
	case r.failed != nil:
		return r.failed
	}
	return io.EOF
}

// span widens the time range of an input.
func span(m *event.Meta, e *event.Event) {
	if !e.Time.Known() {
		return
	}
	from := e.Time
	if s := e.TimeOf(event.FieldStart); s.Known() {
		from = min(from, s)
	}
	if !m.Start.OK || from < m.Start.V {
		m.Start = event.Some(from)
	}
	if !m.End.OK || e.Time > m.End.V {
		m.End = event.Some(e.Time)
	}
}

// Meta describes the input.
func (r *rpd) Meta() *event.Meta { return &r.meta }

// Counters holds the anomalies so far.
func (r *rpd) Counters() *event.Counters { return &r.count }

// Close closes the database.
func (r *rpd) Close() error {
	for _, c := range r.cursors {
		c.rows.Close()
	}
	for _, s := range r.sides {
		if s != nil && s.rows != nil {
			s.rows.Close()
		}
	}
	return r.file.Close()
}
