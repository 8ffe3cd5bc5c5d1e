package parquet

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"github.com/gpurec/gpurec/correlate"
)

const (
	rowGroupRows    = 122_880   // what DuckDB writes: a unit of parallel reading
	rowGroupText    = 128 << 20 // bytes of text after which a row group ends early
	pageBytes       = 256 << 10
	dictionaryBytes = 512 << 10
	batchRows       = 512
)

// file writes the rows of one table, column by column.
type file struct {
	f       *os.File
	buf     *bufio.Writer
	w       *parquet.GenericWriter[any]
	columns []column
	stride  uintptr // size of a row
	group   int     // rows in the present row group
}

func createFile(dir string, t *correlate.Table, stride uintptr) (*file, error) {
	z, err := codec()
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, t.Name+".parquet"))
	if err != nil {
		return nil, err
	}
	schema := schemaOf(t)
	out := &file{f: f, buf: bufio.NewWriterSize(f, 256<<10), stride: stride}
	out.w = parquet.NewGenericWriter[any](out.buf, schema,
		parquet.CreatedBy("gpurec", fmt.Sprint(SchemaVersion), ""),
		parquet.Compression(z),
		parquet.PageBufferSize(pageBytes),
		parquet.WriteBufferSize(0),
		parquet.DataPageVersion(1),        // of which the levels are compressed too
		parquet.DataPageStatistics(false), // the page index has them
		parquet.DictionaryMaxBytes(dictionaryBytes))
	for _, e := range tableMetadata(t) {
		out.w.SetKeyValueMetadata(e.key, e.value)
	}
	writers := out.w.ColumnWriters()
	for i, c := range t.Columns() {
		out.columns = append(out.columns, newColumn(c, writers[i]))
	}
	return out, nil
}

// write writes n rows that stand one after another at rows.
func (o *file) write(rows unsafe.Pointer, n int) error {
	for done := 0; done < n; {
		k := min(n-done, batchRows, rowGroupRows-o.group)
		first := unsafe.Add(rows, uintptr(done)*o.stride)
		for i := range o.columns {
			if err := o.columns[i].write(first, o.stride, k); err != nil {
				return err
			}
		}
		done += k
		o.group += k
		if o.groupFull() {
			if err := o.w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupFull reports whether the row group must end, and counts anew if so.
// Until it ends its pages are held in memory.
func (o *file) groupFull() bool {
	text := 0
	for i := range o.columns {
		text += o.columns[i].textBytes
	}
	if o.group < rowGroupRows && text < rowGroupText {
		return false
	}
	o.group = 0
	for i := range o.columns {
		o.columns[i].textBytes = 0
	}
	return true
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
