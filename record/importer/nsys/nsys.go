// Package nsys imports the SQLite export of NVIDIA Nsight Systems
// (nsys export --type sqlite).
//
// A table is a kind of record; [tables] says which and what their rows become.
// Any table and any column may be missing: the schema has changed with every
// release, and tables without rows are left out of an export. Rows are read
// front to back from all tables at once, the earliest first, so that the
// events come in order as far as the tables are in order themselves.
package nsys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/args"
	"github.com/gpurec/gpurec/record/importer/sqlitefile"
)

// Format returns the format.
func Format() importer.Format {
	return importer.Format{
		Name:  "nsys-sqlite",
		Title: "Nsight Systems SQLite export (nsys export --type sqlite)",
		Sniff: sniff,
		Open:  open,
	}
}

// sniff claims SQLite files except those that show the tables of ROCm's
// profilers: the names of tables may lie behind the part that is looked at,
// and open tells in one line what a SQLite file lacks to be an export.
func sniff(head []byte) bool {
	return sqlitefile.Sniff(head) && !bytes.Contains(head, []byte("rocpd_"))
}

// What can be wrong with an export.
var (
	// AnomalyDamaged counts tables that could not be read to their end.
	AnomalyDamaged = event.AnomalySpec{
		Name: "nsys_table_damaged", Severity: event.SeverityError,
		Doc:    "a table could not be read to its end: its rows from there on are missing",
		Remedy: "export the report again (nsys export --type sqlite), or copy the file again",
	}
	// AnomalyNotRead counts rows of tables that hold no events.
	AnomalyNotRead = event.AnomalySpec{
		Name: "nsys_rows_not_read", Severity: event.SeverityInfo,
		Doc:    "rows of tables without times, of which nothing is kept: file contents, payload schemas, settings",
		Remedy: "none needed unless you miss them; query the file itself with sqlite3 then",
	}
	// AnomalyNoTime counts rows whose start is missing.
	AnomalyNoTime = event.AnomalySpec{
		Name: "nsys_no_time", Severity: event.SeverityWarning,
		Doc:    "a row has no start: its event is kept, its time is unknown",
		Remedy: "export the report again with the newest nsys",
	}
	// AnomalyBackwards counts rows that end before they start.
	AnomalyBackwards = event.AnomalySpec{
		Name: "nsys_end_before_start", Severity: event.SeverityWarning,
		Doc:    "a row ends before it starts: kept with its times as they are",
		Remedy: "do not trust the durations of these events",
	}
	// AnomalyNoString counts references into StringIds that lead nowhere.
	AnomalyNoString = event.AnomalySpec{
		Name: "nsys_string_missing", Severity: event.SeverityWarning,
		Doc:    "a name is not in StringIds: it is given as its number",
		Remedy: "export the report again: the table of strings is not whole",
	}
	// AnomalyLongString counts texts that were cut.
	AnomalyLongString = event.AnomalySpec{
		Name: "nsys_long_string", Severity: event.SeverityWarning,
		Doc:    "a text is longer than 64 KiB: only its beginning was kept",
		Remedy: "query the file itself with sqlite3 if you need all of it",
	}
	// AnomalyHosts counts events of a second machine or VM.
	AnomalyHosts = event.AnomalySpec{
		Name: "nsys_several_machines", Severity: event.SeverityWarning,
		Doc:    "the report holds processes of several machines or virtual machines, whose process ids may be the same",
		Remedy: "export one report a machine",
	}
	// AnomalyWAL says that a write-ahead log was passed over.
	AnomalyWAL = event.AnomalySpec{
		Name: "nsys_wal_not_read", Severity: event.SeverityWarning,
		Doc:    "a write-ahead log lies beside the file, as of a database that is being written: what it holds is not read",
		Remedy: "close the program that has the file open, or run: sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'",
	}
)

// reader is an importer.Reader.
type reader struct {
	name    string
	file    *sqlitefile.File
	count   event.Counters
	meta    event.Meta
	cursors []*cursor
	strings stringTable
	gpus    gpus
	labels  map[string]map[int64]string
	head    []event.Event // identities, given first
	obj     args.Object
	machine int64  // the high bits of the first process, -1 before
	ranges  uint64 // NVTX start/end ranges so far
	failed  error  // the first failure
	onlyPID int32  // the process of activities that name none
}

// cursor is a table on its way.
type cursor struct {
	t    *table
	rows *sqlitefile.Rows
	next []event.Event
	at   int
}

func open(in importer.Input, _ importer.Options) (importer.Reader, error) {
	f, err := sqlitefile.Open(in)
	if err != nil {
		return nil, err
	}
	r := &reader{name: in.Name, file: f, machine: -1, labels: map[string]map[int64]string{}, onlyPID: event.NoID}
	r.strings.r = r
	r.meta = event.Meta{Format: "nsys-sqlite", Clock: event.ClockNsysSession}
	if !r.known() {
		f.Close()
		e := &importer.Error{Name: in.Name, Offset: -1, Err: errors.New("is a SQLite file, but no export of Nsight Systems: it has none of its tables"),
			Remedy: "make one from a report with: nsys export --type sqlite FILE.nsys-rep"}
		if f.WAL {
			e.Remedy = "a write-ahead log lies beside it: close the program that writes it first"
		}
		return nil, e
	}
	if f.WAL {
		r.count.Add(&AnomalyWAL, 1)
	}
	if f.Missing > 0 {
		r.count.AddAt(&AnomalyDamaged, 1, fmt.Sprintf("%d bytes are missing at the end", f.Missing))
		r.failed = &importer.Error{Name: in.Name, Offset: -1, Err: fmt.Errorf("the file is cut: %d bytes are missing at its end", f.Missing),
			Remedy: "copy it again; what is whole of its tables is kept"}
	}
	r.describe()
	r.identities()
	r.start()
	return r, nil
}

// known reports whether the file has a table that only exports have.
func (r *reader) known() bool {
	for _, n := range []string{"META_DATA_EXPORT", "META_DATA_CAPTURE", "StringIds", "NVTX_EVENTS", "TARGET_INFO_GPU"} {
		if r.file.Tables[n] != nil {
			return true
		}
	}
	for n := range r.file.Tables {
		if len(n) > 14 && n[:14] == "CUPTI_ACTIVITY" {
			return true
		}
	}
	return false
}

// Next fills b with events; see [event.Source].
func (r *reader) Next(b *event.Batch) error {
	b.Reset()
	if len(r.head) > 0 {
		n := min(len(r.head), event.DefaultBatch)
		b.Events = append(b.Events, r.head[:n]...)
		r.head = r.head[n:]
		return nil
	}
	for len(b.Events) < event.DefaultBatch {
		c := r.earliest()
		if c == nil {
			break
		}
		e := &c.next[c.at]
		r.span(e)
		b.Events = append(b.Events, *e)
		if c.at++; c.at == len(c.next) && !r.advance(c) {
			r.drop(c)
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

// earliest returns the table whose next event is the earliest, nil at the end.
func (r *reader) earliest() *cursor {
	var best *cursor
	for _, c := range r.cursors {
		if best == nil || c.next[c.at].Time < best.next[best.at].Time {
			best = c
		}
	}
	return best
}

func (r *reader) drop(c *cursor) {
	for i := range r.cursors {
		if r.cursors[i] == c {
			r.cursors = append(r.cursors[:i], r.cursors[i+1:]...)
			return
		}
	}
}

// advance goes to the next row of a table that gives an event.
func (r *reader) advance(c *cursor) bool {
	c.next, c.at = c.next[:0], 0
	for len(c.next) == 0 {
		ok, err := c.rows.Next()
		if err != nil {
			r.damaged(c.t.name, c.rows.Read, err)
		}
		if !ok {
			return false
		}
		c.t.row(r, c)
	}
	return true
}

func (r *reader) damaged(table string, row int64, err error) {
	where := fmt.Sprintf("table %s after row %d", table, row)
	r.count.AddAt(&AnomalyDamaged, 1, where+": "+err.Error())
	if r.failed == nil {
		r.failed = &importer.Error{Name: r.name, Offset: -1, Err: fmt.Errorf("%s: %w", where, err), Remedy: "what was read of all tables is kept"}
	}
}

// span widens the time range of the input.
func (r *reader) span(e *event.Event) {
	if !e.Time.Known() {
		return
	}
	from := e.Time
	if s := e.TimeOf(event.FieldStart); s.Known() && e.Kind != event.KindProcess {
		from = min(from, s)
	}
	if m := &r.meta; !m.Start.OK || from < m.Start.V {
		m.Start = event.Some(from)
	}
	if m := &r.meta; !m.End.OK || e.Time > m.End.V {
		m.End = event.Some(e.Time)
	}
}

// event adds an event of the row of c: its start and end by its columns
// start and end. The complete kinds have the time of their end.
func (r *reader) event(c *cursor, k event.Kind) *event.Event {
	c.next = append(c.next, event.New(k, event.NoTime))
	e := &c.next[len(c.next)-1]
	e.Source = c.t.source
	start, ok := c.rows.Int(colStart)
	end, hasEnd := c.rows.Int(colEnd)
	if !ok {
		r.note(&AnomalyNoTime, c)
		return e
	}
	e.Time = event.Time(start)
	if !complete(k) {
		return e
	}
	if !hasEnd {
		end = start
	}
	if end < start {
		r.note(&AnomalyBackwards, c)
	}
	e.SetTime(event.FieldStart, event.Time(start))
	e.Time = event.Time(end)
	return e
}

func complete(k event.Kind) bool {
	switch k {
	case event.KindAPI, event.KindIoctl, event.KindSlice, event.KindGPUActivity:
		return true
	}
	return false
}

func (r *reader) note(a *event.AnomalySpec, c *cursor) {
	if r.count.Get(a) > 0 {
		r.count.Add(a, 1)
		return
	}
	r.count.AddAt(a, 1, "table "+c.t.name+" row "+strconv.FormatInt(c.rows.Read, 10))
}

// ids sets process and thread: they are in the low 48 bits of a serialised id, 24 each; above them
// stand the virtual machine and the hardware.
func (r *reader) ids(e *event.Event, global int64) {
	e.PID, e.TID = int32(global>>24&0xffffff), int32(global&0xffffff)
	switch {
	case e.PID != 0:
	case e.TID != 0: // only a thread is named: it stands for its process
		e.PID = e.TID
		e.Flags |= event.FlagPIDInferred
	default:
		e.PID, e.TID = event.NoID, event.NoID
	}
	r.machineOf(global)
}

func (r *reader) machineOf(global int64) {
	m := global >> 48 & 0xffff
	switch {
	case r.machine < 0:
		r.machine = m
	case r.machine != m:
		r.count.AddAt(&AnomalyHosts, 1, fmt.Sprintf("%#x beside %#x", m, r.machine))
	}
}

// Meta describes the input.
func (r *reader) Meta() *event.Meta { return &r.meta }

// Counters holds the anomalies so far.
func (r *reader) Counters() *event.Counters { return &r.count }

// Close closes the database.
func (r *reader) Close() error {
	for _, c := range r.cursors {
		c.rows.Close()
	}
	r.cursors = nil
	return r.file.Close()
}
