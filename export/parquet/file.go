package parquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/gpurec/gpurec/correlate"
)

const (
	rowGroupRows    = 122_880   // what DuckDB writes: a unit of parallel reading
	rowGroupText    = 128 << 20 // bytes of text after which a row group ends early
	pageRows        = rowGroupRows / 4
	pageBytes       = 256 << 10 // of text
	dictionaryBytes = 512 << 10
	batchRows       = 128 // whose fields stay in the processor's cache
)

// file writes the rows of one table, column by column.
type file struct {
	f       *os.File
	buf     *bufio.Writer
	offset  int64 // of what comes next
	pages   *pageWriter
	columns []*column
	group   int // rows in the present row group
	text    int // bytes of text in it

	meta          format.FileMetaData
	columnIndexes []byte // of all row groups, one behind the other
	offsetIndexes []byte
}

const magic = "PAR1"

func createFile(dir string, t *correlate.Table) (*file, error) {
	w, err := newPageWriter()
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, t.Name+".parquet"))
	if err != nil {
		return nil, err
	}
	out := &file{f: f, buf: bufio.NewWriterSize(f, 64<<10), pages: w}
	out.meta = format.FileMetaData{
		Version:   2,
		Schema:    schemaOf(t),
		CreatedBy: fmt.Sprintf("gpurec version %d (build )", SchemaVersion),
	}
	out.setMeta(tableMetadata(t))
	for _, c := range t.Columns() {
		out.columns = append(out.columns, newColumn(t, c))
		out.meta.ColumnOrders = append(out.meta.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	return out, out.put([]byte(magic))
}

func (o *file) setMeta(kv []keyValue) {
	for _, e := range kv {
		o.meta.KeyValueMetadata = append(o.meta.KeyValueMetadata, format.KeyValue{Key: e.key, Value: e.value})
	}
}

func (o *file) put(b []byte) error {
	n, err := o.buf.Write(b)
	o.offset += int64(n)
	return err
}

// write writes rows, which are those of the table.
func (o *file) write(rows []unsafe.Pointer) error {
	for len(rows) > 0 {
		batch := rows[:min(len(rows), batchRows, rowGroupRows-o.group)]
		rows = rows[len(batch):]
		for _, c := range o.columns {
			text, err := c.add(batch, o.pages)
			if err != nil {
				return err
			}
			o.text += text
		}
		o.group += len(batch)
		if o.group == rowGroupRows || o.text >= rowGroupText {
			if err := o.endGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

// endGroup writes the row group under way, whose pages were held in memory.
func (o *file) endGroup() error {
	if o.group == 0 {
		return nil
	}
	if len(o.meta.RowGroups) > math.MaxInt16 {
		return errors.New("more rows than a Parquet file can hold; export a part of the trace")
	}
	g := format.RowGroup{NumRows: int64(o.group), FileOffset: o.offset, Ordinal: int16(len(o.meta.RowGroups))}
	for _, c := range o.columns {
		chunk, err := o.endChunk(c)
		if err != nil {
			return err
		}
		g.TotalByteSize += chunk.MetaData.TotalUncompressedSize
		g.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
		g.Columns = append(g.Columns, chunk)
		c.begin()
	}
	o.meta.NumRows += g.NumRows
	o.meta.RowGroups = append(o.meta.RowGroups, g)
	o.group, o.text = 0, 0
	return nil
}

// endChunk writes the chunk of a column and remembers its indexes. Their offsets
// are from the beginning of those of all chunks, until close.
func (o *file) endChunk(c *column) (chunk format.ColumnChunk, err error) {
	if err = c.endPage(o.pages); err != nil {
		return chunk, err
	}
	start := o.offset
	var dict []byte
	dictRaw := 0
	if c.chunk.usesDict {
		if dict, dictRaw, err = o.pages.dictionaryPage(c.dict); err != nil {
			return chunk, err
		}
	}
	chunk.MetaData = c.metadata(start, len(dict), dictRaw)
	ci, oi := c.indexes(start + int64(len(dict)))
	if ci != nil {
		b, err := o.pages.encode(ci)
		if err != nil {
			return chunk, err
		}
		chunk.ColumnIndexOffset, chunk.ColumnIndexLength = int64(len(o.columnIndexes)), int32(len(b))
		o.columnIndexes = append(o.columnIndexes, b...)
	}
	b, err := o.pages.encode(oi)
	if err != nil {
		return chunk, err
	}
	chunk.OffsetIndexOffset, chunk.OffsetIndexLength = int64(len(o.offsetIndexes)), int32(len(b))
	o.offsetIndexes = append(o.offsetIndexes, b...)
	if err := o.put(dict); err != nil {
		return chunk, err
	}
	return chunk, o.put(c.chunk.body)
}

// close ends the file.
func (o *file) close(meta []keyValue) error {
	err := o.finish(meta)
	if err == nil {
		err = o.buf.Flush()
	}
	if cerr := o.f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (o *file) finish(meta []keyValue) error {
	if err := o.endGroup(); err != nil {
		return err
	}
	columnIndexes, offsetIndexes := o.offset, o.offset+int64(len(o.columnIndexes))
	for _, g := range o.meta.RowGroups {
		for i := range g.Columns {
			c := &g.Columns[i]
			if c.ColumnIndexLength > 0 {
				c.ColumnIndexOffset += columnIndexes
			}
			c.OffsetIndexOffset += offsetIndexes
		}
	}
	o.setMeta(meta)
	footer, err := o.pages.encode(&o.meta)
	if err != nil {
		return err
	}
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(footer)))
	for _, b := range [][]byte{o.columnIndexes, o.offsetIndexes, footer, size, []byte(magic)} {
		if err := o.put(b); err != nil {
			return err
		}
	}
	return nil
}
