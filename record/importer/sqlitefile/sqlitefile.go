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
	"time"

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
	minCell    = 4    // bytes that a row takes at least: the tree of a sound file has no more
	schemaTime = time.Minute
)

// Table is a table of the file. Views and virtual tables are none: what a
// foreign schema would compute is never run.
type Table struct {
	Name    string
	Columns []string // stored ones: generated columns are left out
	key     string   // the column that is the row's number, "" if none
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
	WAL bool
	// Missing is how many bytes the file is shorter than it says.
	Missing int64

	name string
	temp string // temporary copy, "" if none
	db   *sql.DB
	conn *sql.Conn
	q    driver.QueryerContext
	size int64 // of the file
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

// path returns a file to open: the input's own if it is a plain file and
// whole. A cut file is copied, too: SQLite refuses one in which a table lies
// beyond the end, so the copy gets a hole for what is missing, of which only
// the tables that reach into it cannot be read to their end.
func (f *File) path(in importer.Input) (string, error) {
	if file := in.File(); file != nil {
		if st, err := os.Stat(file.Name() + "-wal"); err == nil && st.Size() > 0 {
			f.WAL = true
		}
		var head [headSize]byte
		n, err := file.ReadAt(head[:], 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", f.fail(err, "")
		}
		page, want := geometry(head[:n])
		if f.Missing = max(0, want-in.Size); f.Missing == 0 && in.Size%page == 0 {
			f.size = in.Size
			return filepath.Abs(file.Name())
		}
	}
	t, err := os.CreateTemp("", "gpurec-*.sqlite")
	if err != nil {
		return "", f.fail(err, "SQLite needs a file: give TMPDIR a directory that can be written")
	}
	f.temp = t.Name()
	err = f.spool(t, in.R)
	if cerr := t.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", f.fail(fmt.Errorf("copy to %s: %w", f.temp, err), "SQLite needs a file: check the input and the room in TMPDIR")
	}
	return f.temp, nil
}

const headSize = 100

// geometry reads the size of a page and of the whole file from the header;
// the latter is 0 if the header does not say.
func geometry(head []byte) (page, size int64) {
	if len(head) < headSize {
		return 512, 512
	}
	page = int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	if page < 512 || page&(page-1) != 0 {
		page = 512
	}
	// The count of pages holds if "version valid for" is the change counter (file format, 1.3.7).
	if pages := int64(binary.BigEndian.Uint32(head[28:])); bytes.Equal(head[24:28], head[92:96]) {
		size = page * pages
	}
	return page, size
}

// spool copies a database, and no more than its header says that it has: a
// compressed input of endless zeros ends there.
func (f *File) spool(t *os.File, r io.Reader) error {
	var head [headSize]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if _, err := t.Write(head[:n]); err != nil {
		return err
	}
	page, want := geometry(head[:n])
	limit := want
	if want == 0 {
		limit = 1 << 46
		if size := binary.BigEndian.Uint16(head[16:]); size != 1 && (size < 512 || size&(size-1) != 0) {
			limit = headSize // no database has such pages: SQLite says so
		}
	}
	src := &source{r: r}
	m, err := io.CopyN(t, src, max(0, limit-int64(n)))
	if err != nil && src.err == nil {
		return err // of writing
	}
	size := int64(n) + m
	f.Missing = max(0, want-size)
	if src.err != nil && !errors.Is(src.err, io.EOF) {
		f.Missing = max(f.Missing, 1) // a damaged compressed input: what came before it counts
	}
	f.size = size - size%page // of the last page a part would read as zeros
	if err := t.Truncate(f.size); err != nil || want <= f.size {
		return err
	}
	if t.Truncate(want) != nil {
		return nil // a size that no file can have: then without the hole
	}
	return nil
}

// source tells errors of reading from those of writing.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
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
	// SQLite itself reads the whole schema at the first query: a damaged one may have no end.
	ctx, cancel := context.WithTimeout(context.Background(), schemaTime)
	defer cancel()
	const damaged = "check that the file was copied whole"
	var names []string
	err := f.each(ctx, "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'", func(r *Rows) {
		if len(names) < maxTables {
			names = append(names, r.Text(0))
		}
	})
	if err != nil {
		return f.fail(err, damaged)
	}
	for _, n := range names {
		t := &Table{Name: n}
		err := f.each(ctx, "SELECT name, pk, type FROM pragma_table_xinfo("+literal(n)+") WHERE hidden = 0", func(r *Rows) {
			t.Columns = append(t.Columns, r.Text(0))
			if pk, _ := r.Int(1); pk == 1 && strings.EqualFold(r.Text(2), "INTEGER") {
				t.key = r.Text(0)
			}
		})
		if err != nil {
			return f.fail(fmt.Errorf("table %s: %w", n, err), damaged)
		}
		f.Tables[n] = t
	}
	return nil
}

func (f *File) each(ctx context.Context, query string, do func(*Rows)) error {
	r, err := f.query(ctx, query)
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
	if len(columns) == 0 {
		return f.query(context.Background(), "SELECT 1 FROM "+identifier(table))
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "NULL"
		if t.Has(c) {
			list[i] = identifier(c)
		}
	}
	return f.query(context.Background(), "SELECT "+strings.Join(list, ", ")+" FROM "+identifier(table))
}

// Join says which row of another table belongs to each row of a table: the one
// whose number (INTEGER PRIMARY KEY) stands in the column Ref. A row without
// one, and a table without numbers, reads as NULL.
type Join struct {
	Ref     string
	Table   string
	Columns []string
}

// Joined is Rows with columns of another table behind the table's own, in the
// order of the column order, "" for that in which they stand. What is put in
// order is held in temporary files.
func (f *File) Joined(table string, columns []string, j Join, order string) (*Rows, error) {
	t, o := f.Tables[table], f.Tables[j.Table]
	if t == nil {
		return &Rows{}, nil
	}
	var list []string
	add := func(t *Table, alias string, columns []string) {
		for _, c := range columns {
			if t.Has(c) {
				list = append(list, alias+"."+identifier(c))
			} else {
				list = append(list, "NULL")
			}
		}
	}
	add(t, "a", columns)
	q := " FROM " + identifier(table) + " a"
	if o != nil && o.key != "" && t.Has(j.Ref) {
		add(o, "b", j.Columns)
		q += " LEFT JOIN " + identifier(j.Table) + " b ON b." + identifier(o.key) + " = a." + identifier(j.Ref)
	} else {
		add(nil, "", j.Columns)
	}
	if t.Has(order) {
		q += " ORDER BY a." + identifier(order)
	}
	return f.query(context.Background(), "SELECT "+strings.Join(list, ", ")+q)
}

func (f *File) query(ctx context.Context, query string) (*Rows, error) {
	r, err := f.q.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	return &Rows{rows: r, v: make([]driver.Value, len(r.Columns())), most: f.size/minCell + 1}, nil
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
