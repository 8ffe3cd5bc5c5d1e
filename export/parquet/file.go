package parquet

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/gpurec/gpurec/correlate"
)

const (
	rowGroupRows    = 122_880 // what DuckDB writes: a unit of parallel reading
	pageBytes       = 128 << 10
	dictionaryBytes = 512 << 10
	batchRows       = 512
)

// file writes the rows of one table, column by column.
type file struct {
	f       *os.File
	buf     *bufio.Writer
	w       *parquet.Writer
	columns []column
	stride  uintptr // size of a row
	group   int     // rows in the present row group
	rows    int64
}

func createFile(dir string, t *correlate.Table, stride uintptr) (*file, error) {
	f, err := os.Create(filepath.Join(dir, t.Name+".parquet"))
	if err != nil {
		return nil, err
	}
	schema := schemaOf(t)
	out := &file{f: f, buf: bufio.NewWriterSize(f, 256<<10), stride: stride}
	out.w = parquet.NewWriter(out.buf, schema,
		parquet.CreatedBy("gpurec", fmt.Sprint(SchemaVersion), ""),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.PageBufferSize(pageBytes),
		parquet.WriteBufferSize(0),
		parquet.DataPageStatistics(false), // the page index has them
		parquet.DictionaryMaxBytes(dictionaryBytes))
	for _, e := range tableMetadata(t) {
		out.w.SetKeyValueMetadata(e.key, e.value)
	}
	writers := out.w.ColumnWriters()
	for i, c := range t.Columns() {
		out.columns = append(out.columns, newColumn(c, i, writers[i]))
	}
	return out, nil
}

// write writes n rows that stand one after another at rows.
func (o *file) write(rows unsafe.Pointer, n int) error {
	for n > 0 {
		k := min(n, batchRows, rowGroupRows-o.group)
		for i := range o.columns {
			if err := o.columns[i].write(rows, o.stride, k); err != nil {
				return err
			}
		}
		rows = unsafe.Add(rows, uintptr(k)*o.stride)
		n -= k
		o.rows += int64(k)
		if o.group += k; o.group == rowGroupRows {
			o.group = 0
			if err := o.w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends the file.
func (o *file) close(meta []keyValue) error {
	for _, e := range meta {
		o.w.SetKeyValueMetadata(e.key, e.value)
	}
	err := o.w.Close()
	if err == nil {
		err = o.buf.Flush()
	}
	if cerr := o.f.Close(); err == nil {
		err = cerr
	}
	return err
}

// column moves one field of the rows into one column of the file.
type column struct {
	w      *parquet.ColumnWriter
	offset uintptr
	index  int
	fill   func(c *column, field unsafe.Pointer, stride uintptr)
	values []parquet.Value
	null   parquet.Value
	last   string // strings: the last one, and what it became
	lastV  parquet.Value
}

func newColumn(c correlate.Column, index int, w *parquet.ColumnWriter) column {
	return column{
		w: w, offset: c.Offset, index: index, fill: fillers[c.Type],
		values: make([]parquet.Value, batchRows),
		null:   parquet.Value{}.Level(0, 0, index),
	}
}

func (c *column) write(rows unsafe.Pointer, stride uintptr, n int) error {
	all := c.values
	c.values = all[:n]
	c.fill(c, unsafe.Add(rows, c.offset), stride)
	_, err := c.w.WriteRowValues(c.values)
	c.values = all
	return err
}

// fillers set column.values from the fields of rows, which are stride bytes apart.
var fillers = [...]func(*column, unsafe.Pointer, uintptr){
	correlate.ColID: func(c *column, p unsafe.Pointer, stride uintptr) {
		for i := range c.values {
			c.values[i] = c.null
			if v := *(*int64)(p); v != 0 {
				c.values[i] = parquet.Int64Value(v).Level(0, 1, c.index)
			}
			p = unsafe.Add(p, stride)
		}
	},
	correlate.ColTime: fillInt,
	correlate.ColInt:  fillInt,
	correlate.ColUint: fillInt, // the same bits: the column's type says how to read them
	correlate.ColReal: func(c *column, p unsafe.Pointer, stride uintptr) {
		for i := range c.values {
			c.values[i] = c.null
			if v := (*correlate.OptReal)(p); v.OK {
				c.values[i] = parquet.DoubleValue(v.V).Level(0, 1, c.index)
			}
			p = unsafe.Add(p, stride)
		}
	},
	correlate.ColBool: func(c *column, p unsafe.Pointer, stride uintptr) {
		for i := range c.values {
			c.values[i] = c.null
			if v := (*correlate.OptBool)(p); v.OK {
				c.values[i] = parquet.BooleanValue(v.V).Level(0, 1, c.index)
			}
			p = unsafe.Add(p, stride)
		}
	},
	correlate.ColString: func(c *column, p unsafe.Pointer, stride uintptr) {
		for i := range c.values {
			c.values[i] = c.string(*(*string)(p))
			p = unsafe.Add(p, stride)
		}
	},
	correlate.ColPlainInt:  fillPlainInt,
	correlate.ColPlainUint: fillPlainInt,
	correlate.ColPlainReal: func(c *column, p unsafe.Pointer, stride uintptr) {
		for i := range c.values {
			c.values[i] = parquet.DoubleValue(*(*float64)(p)).Level(0, 0, c.index)
			p = unsafe.Add(p, stride)
		}
	},
	correlate.ColPlainBool: func(c *column, p unsafe.Pointer, stride uintptr) {
		for i := range c.values {
			c.values[i] = parquet.BooleanValue(*(*bool)(p)).Level(0, 0, c.index)
			p = unsafe.Add(p, stride)
		}
	},
}

func fillInt(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		c.values[i] = c.null
		if v := (*correlate.OptInt)(p); v.OK {
			c.values[i] = parquet.Int64Value(v.V).Level(0, 1, c.index)
		}
		p = unsafe.Add(p, stride)
	}
}

func fillPlainInt(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		c.values[i] = parquet.Int64Value(*(*int64)(p)).Level(0, 0, c.index)
		p = unsafe.Add(p, stride)
	}
}

// string returns the value of s. The same string often comes many times in a
// row, from the same memory.
func (c *column) string(s string) parquet.Value {
	if s == "" {
		return c.null
	}
	if len(s) != len(c.last) || unsafe.StringData(s) != unsafe.StringData(c.last) {
		v := validUTF8(s)
		c.last = s
		c.lastV = parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(v), len(v))).Level(0, 1, c.index)
	}
	return c.lastV
}

// validUTF8 returns s with each byte that is not part of a UTF-8 character as
// \xNN: readers of Parquet refuse the whole file for one such byte.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
