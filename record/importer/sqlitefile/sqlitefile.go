// Package sqlitefile reads SQLite files as traces keep them: whole tables,
// front to back, each of which and each column of which may be missing.
//
// The file is opened read-only and immutable: nothing is written beside it,
// neither a -wal nor a -shm nor a journal. SQLite reads files only, so a pipe
// or a compressed input is first copied to a temporary one.
package sqlitefile

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpurec/gpurec/record/importer"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Magic is what every SQLite file begins with.
const Magic = "SQLite format 3\x00"

// Sniff reports whether head begins a SQLite file.
func Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(Magic)) }

// Bounds against hostile files.
const (
	maxValue   = 4 << 20 // bytes of one value or row
	maxColumns = 512     // of a table
	maxTables  = 4096
	cacheKiB   = 4096 // page cache
)

// Table is a table of the file. Views and virtual tables are none: what a
// foreign schema would compute is never run.
type Table struct {
	Name    string
	Columns []string // stored ones: generated columns are left out
}

// Has reports whether the table has the column.
func (t *Table) Has(column string) bool {
	if t == nil {
		return false
	}
	for _, c := range t.Columns {
		if c == column {
			return true
		}
	}
	return false
}

// File is an open database. It is not safe for concurrent use, but several
// Rows of it may be read in turns.
type File struct {
	Tables map[string]*Table
	// WAL says that a write-ahead log lies beside the file: what it holds is not read.
	WAL  bool
	name string
	temp string // temporary copy, "" if none
	db   *sql.DB
	conn *sql.Conn
	q    driver.QueryerContext
}

// Open opens the database of an input and lists its tables.
func Open(in importer.Input) (*File, error) {
	f := &File{name: in.Name, Tables: map[string]*Table{}}
	path, err := f.path(in)
	if err == nil {
		err = f.open(path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// path returns a file to open: the input's own if it is a plain file.
func (f *File) path(in importer.Input) (string, error) {
	if file, ok := in.At.(*os.File); ok && file != nil {
		if st, err := os.Stat(file.Name() + "-wal"); err == nil && st.Size() > 0 {
			f.WAL = true
		}
		return filepath.Abs(file.Name())
	}
	t, err := os.CreateTemp("", "gpurec-*.sqlite")
	if err != nil {
		return "", f.fail(err, "SQLite needs a file: give TMPDIR a directory that can be written")
	}
	f.temp = t.Name()
	cut, err := spool(t, in.R)
	if cerr := t.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", f.fail(fmt.Errorf("copy to %s: %w", f.temp, err), "SQLite needs a file: check the input and the room in TMPDIR")
	}
	_ = cut // a cut input shows as damage when its pages are read
	return f.temp, nil
}

// spool copies a database, and no more than its header says that it has: a
// compressed input of endless zeros ends there.
func spool(w io.Writer, r io.Reader) (cut bool, err error) {
	var head [100]byte
	n, err := io.ReadFull(r, head[:])
	if _, werr := w.Write(head[:n]); werr != nil {
		return false, werr
	}
	if err != nil {
		return true, nil
	}
	limit := int64(1) << 46
	page, pages := int64(binary.BigEndian.Uint16(head[16:])), int64(binary.BigEndian.Uint32(head[28:]))
	if page == 1 {
		page = 1 << 16
	}
	// The count of pages holds if "version valid for" is the change counter (file format 1.3.7).
	if pages > 0 && bytes.Equal(head[24:28], head[92:96]) {
		limit = page * pages
	}
	_, err = io.CopyN(w, r, limit-int64(n))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true, nil
	}
	return false, err
}

func (f *File) open(path string) error {
	u := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&immutable=1&_defensive=1" +
		fmt.Sprintf("&_pragma=trusted_schema(0)&_pragma=query_only(1)&_pragma=cache_size(-%d)&_pragma=mmap_size(0)", cacheKiB)}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return f.fail(err, "")
	}
	f.db = db
	ctx := context.Background()
	if f.conn, err = db.Conn(ctx); err != nil {
		return f.fail(err, "check that the file was copied whole")
	}
	for id, n := range map[int]int{sqlite3.SQLITE_LIMIT_LENGTH: maxValue, sqlite3.SQLITE_LIMIT_ATTACHED: 0,
		sqlite3.SQLITE_LIMIT_COLUMN: maxColumns, sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1} {
		if _, err := sqlite.Limit(f.conn, id, n); err != nil {
			return f.fail(err, "")
		}
	}
	// The driver's own rows cost a tenth of database/sql's.
	err = f.conn.Raw(func(c any) error {
		q, ok := c.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("%T cannot query", c)
		}
		f.q = q
		return nil
	})
	if err != nil {
		return f.fail(err, "")
	}
	return f.list()
}

// list reads which tables there are.
func (f *File) list() error {
	var names []string
	err := f.each("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'", func(r *Rows) {
		if len(names) < maxTables {
			names = append(names, r.Text(0))
		}
	})
	if err != nil {
		return f.fail(err, "check that the file was copied whole")
	}
	for _, n := range names {
		t := &Table{Name: n}
		err := f.each("SELECT name FROM pragma_table_xinfo("+literal(n)+") WHERE hidden = 0", func(r *Rows) {
			t.Columns = append(t.Columns, r.Text(0))
		})
		if err != nil {
			return f.fail(fmt.Errorf("table %s: %w", n, err), "check that the file was copied whole")
		}
		f.Tables[n] = t
	}
	return nil
}

func (f *File) each(query string, do func(*Rows)) error {
	r, err := f.query(query)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		do(r)
	}
}

func (f *File) fail(err error, remedy string) error {
	return &importer.Error{Name: f.name, Offset: -1, Err: fmt.Errorf("sqlite: %w", err), Remedy: remedy}
}

// Rows begins to read a table, all rows in the order in which they stand. A
// column that the table has not reads as NULL. An absent table has no rows.
func (f *File) Rows(table string, columns ...string) (*Rows, error) {
	t := f.Tables[table]
	if t == nil {
		return &Rows{}, nil
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "NULL"
		if t.Has(c) {
			list[i] = identifier(c)
		}
	}
	return f.query("SELECT " + strings.Join(list, ", ") + " FROM " + identifier(table))
}

func (f *File) query(query string) (*Rows, error) {
	r, err := f.q.QueryContext(context.Background(), query, nil)
	if err != nil {
		return nil, err
	}
	return &Rows{rows: r, v: make([]driver.Value, len(r.Columns()))}, nil
}

// Close closes the database and removes what was copied.
func (f *File) Close() error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	if f.conn != nil {
		keep(f.conn.Close())
	}
	if f.db != nil {
		keep(f.db.Close())
	}
	if f.temp != "" {
		keep(os.Remove(f.temp))
	}
	*f = File{name: f.name}
	return first
}

func identifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func literal(s string) string    { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Count returns the number of rows of a table.
func (f *File) Count(table string) (n int64, err error) {
	if f.Tables[table] == nil {
		return 0, nil
	}
	err = f.each("SELECT count(*) FROM "+identifier(table), func(r *Rows) { n, _ = r.Int(0) })
	return n, err
}

// Lookup returns a column of the first row in which key has the value.
func (f *File) Lookup(table, column, key string, value int64) (s string, ok bool, err error) {
	t := f.Tables[table]
	if !t.Has(column) || !t.Has(key) {
		return "", false, nil
	}
	q := fmt.Sprintf("SELECT %s FROM %s WHERE %s = %d LIMIT 1", identifier(column), identifier(table), identifier(key), value)
	err = f.each(q, func(r *Rows) { s, ok = r.Text(0), true })
	return s, ok, err
}

// Distinct gives the first so many distinct values of an expression, which
// must not come from the file, over a table.
func (f *File) Distinct(table, expression string, limit int, do func(*Rows)) error {
	if f.Tables[table] == nil {
		return nil
	}
	return f.each(fmt.Sprintf("SELECT DISTINCT %s FROM %s LIMIT %d", expression, identifier(table), limit), do)
}
