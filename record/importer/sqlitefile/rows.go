package sqlitefile

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Rows are the rows of a table. The accessors speak of the row that the last
// Next came to; a column that is NULL or of another type is not OK.
type Rows struct {
	// Read counts the rows that Next came to.
	Read int64
	rows driver.Rows
	v    []driver.Value
	most int64
}

// errLoop says that a table has more rows than its file has room for: its
// pages lead to each other in a circle.
var errLoop = errors.New("more rows than fit in the file: its pages are damaged")

// Next goes to the next row. It reports false at the end and where the file
// cannot be read any further.
func (r *Rows) Next() (bool, error) {
	if r.rows == nil {
		return false, nil
	}
	err := r.rows.Next(r.v)
	if err == nil && r.Read < r.most {
		r.Read++
		return true, nil
	}
	if err == nil {
		err = errLoop
	}
	r.Close()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return false, err
}

// Close ends reading; further rows are not read.
func (r *Rows) Close() {
	if r.rows != nil {
		r.rows.Close() // it only frees: a failure was told by Next
		r.rows = nil
	}
}

// Int returns a column that holds an integer.
func (r *Rows) Int(i int) (int64, bool) {
	switch v := r.v[i].(type) {
	case int64:
		return v, true
	case bool: // a column declared BOOLEAN
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// Float returns a column that holds a number.
func (r *Rows) Float(i int) (float64, bool) {
	switch v := r.v[i].(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// Null reports whether a column is NULL.
func (r *Rows) Null(i int) bool { return r.v[i] == nil }

// Text returns a column that holds text, "" otherwise. Bytes that are no
// UTF-8 become U+FFFD.
func (r *Rows) Text(i int) string {
	var s string
	switch v := r.v[i].(type) {
	case string:
		s = v
	case []byte:
		s = string(v)
	}
	if !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	return s
}

// Value returns a column as SQLite gave it: int64, float64, string, []byte or nil.
func (r *Rows) Value(i int) any { return r.v[i] }

// Count returns the number of rows of a table.
func (f *File) Count(table string) (int64, error) {
	r, err := f.Rows(table)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		if ok, err := r.Next(); err != nil || !ok {
			return r.Read, err
		}
	}
}

// Lookup returns a column of the row of a number, if the table has a column of
// numbers that leads straight to its rows (INTEGER PRIMARY KEY) and it is key.
func (f *File) Lookup(table, column, key string, value int64) (s string, ok bool, err error) {
	t := f.Tables[table]
	if !t.Has(column) || !t.Has(key) || t.key != key {
		return "", false, nil
	}
	q := fmt.Sprintf("SELECT %s FROM %s WHERE %s = %d", identifier(column), identifier(table), identifier(key), value)
	err = f.each(context.Background(), q, func(r *Rows) { s, ok = r.Text(0), true })
	return s, ok, err
}
