package parquet

import (
	"fmt"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/gpurec/gpurec/correlate"
)

// column moves one field of the rows into one column of the file.
type column struct {
	desc     correlate.Column
	optional bool
	less     func(a, b []byte) bool // compares values as statistics hold them

	// The page under way.
	rows   int
	known  bitmap // which rows have a value, if optional
	values values

	dict   dictionary // nil if it has none
	inDict bool       // values is dict
	auto   *intValues // values, if their encoding is to be chosen; else nil
	chunk  chunk
}

func newColumn(t *correlate.Table, c correlate.Column) *column {
	out := &column{desc: c, optional: nullable(c.Type), less: lessOf(c.Type)}
	how := encodingOf(t, c)
	switch c.Type {
	case correlate.ColBool, correlate.ColPlainBool:
		out.values = &boolValues{optional: out.optional}
	case correlate.ColString:
		if how == inDictionary {
			out.dict = newTextDict()
		}
		out.values = &textValues{}
	default:
		v := &intValues{gather: gatherers[c.Type], encoding: format.Plain, order: orderOf(c.Type)}
		switch how {
		case asDifferences:
			v.encoding = format.DeltaBinaryPacked
		case inDictionary:
			out.dict = &intDict{gather: v.gather, order: v.order, other: v}
		case asSmaller:
			out.auto = v
		}
		out.values = v
	}
	out.begin()
	return out
}

// begin begins a row group.
func (c *column) begin() {
	c.chunk.reset()
	if c.dict != nil {
		c.dict.reset()
		c.values, c.inDict = c.dict, true
	}
}

// add takes the column's field of rows. It returns the bytes of text.
func (c *column) add(rows []unsafe.Pointer, w *pageWriter) (text int, err error) {
	text = c.values.add(rows, c.desc.Offset, &c.known)
	c.rows += len(rows)
	if c.rows >= pageRows || c.values.full() {
		err = c.endPage(w)
	}
	return text, err
}

// endPage writes the page under way to the chunk.
func (c *column) endPage(w *pageWriter) error {
	if c.rows == 0 {
		return nil
	}
	v := c.values
	switch {
	case c.inDict && c.known.ones == 0 && c.optional:
		v = c.dict.plain() // without a value nothing stands in a dictionary
	case c.inDict && !c.chunk.usesDict && c.dict.wasteful():
		v, c.inDict = c.dict.plain(), false
		c.values = v
	case c.inDict:
		c.chunk.usesDict = true
	case c.auto != nil && len(c.chunk.pages) == 0:
		if err := w.choose(c.auto); err != nil {
			return fmt.Errorf("column %s: %w", c.desc.Name, err)
		}
	}
	if err := c.writePage(v, w); err != nil {
		return fmt.Errorf("column %s: %w", c.desc.Name, err)
	}
	v.next()
	c.values.next()
	if c.inDict && c.dict.size() > dictionaryBytes {
		c.values, c.inDict = c.dict.plain(), false
	}
	c.known.reset()
	c.rows = 0
	return nil
}

func (c *column) writePage(v values, w *pageWriter) (err error) {
	raw := w.raw[:0]
	nulls := 0
	if c.optional {
		raw = c.known.appendLevels(raw)
		nulls = c.known.n - c.known.ones
	}
	p := page{rows: c.rows, nulls: nulls}
	raw, p.encoding, err = v.encode(raw)
	if err != nil {
		return err
	}
	w.raw = raw
	p.least, p.most = v.bounds()
	return c.chunk.add(p, w)
}
