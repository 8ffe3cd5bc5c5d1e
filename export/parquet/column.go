package parquet

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"github.com/gpurec/gpurec/correlate"
)

// column moves one field of the rows into one column of the file.
type column struct {
	w      *parquet.ColumnWriter
	offset uintptr
	index  int
	fill   func(c *column, field unsafe.Pointer, stride uintptr)
	values []parquet.Value // what fill sets
	level  int             // definition level of a value: 0 where none can be NULL
	null   parquet.Value

	// The last value set. Making one costs more than comparing, and most
	// columns repeat theirs.
	bits uint64
	text string
	last parquet.Value

	textBytes int // of the present row group
}

func newColumn(c correlate.Column, index int, w *parquet.ColumnWriter) column {
	out := column{
		w: w, offset: c.Offset, index: index, fill: fillers[c.Type],
		values: make([]parquet.Value, batchRows),
		null:   parquet.Value{}.Level(0, 0, index),
	}
	if nullable(c.Type) {
		out.level = 1
	}
	switch c.Type {
	case correlate.ColReal, correlate.ColPlainReal:
		out.last = out.value(parquet.DoubleValue(0))
	case correlate.ColBool, correlate.ColPlainBool:
		out.last = out.value(parquet.BooleanValue(false))
	case correlate.ColString:
		out.last = out.null // of ""
	default:
		out.last = out.value(parquet.Int64Value(0))
	}
	return out
}

func (c *column) value(v parquet.Value) parquet.Value { return v.Level(0, c.level, c.index) }

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
	correlate.ColID:        fillID,
	correlate.ColTime:      fillInt,
	correlate.ColInt:       fillInt,
	correlate.ColUint:      fillInt, // the same bits: the column's type says how to read them
	correlate.ColReal:      fillReal,
	correlate.ColBool:      fillBool,
	correlate.ColString:    fillString,
	correlate.ColPlainInt:  fillPlainInt,
	correlate.ColPlainUint: fillPlainInt,
	correlate.ColPlainReal: fillPlainReal,
	correlate.ColPlainBool: fillPlainBool,
}

func fillID(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		if v := *(*int64)(p); v != 0 {
			c.values[i] = c.int(v)
		} else {
			c.values[i] = c.null
		}
	}
}

func fillInt(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		if v := (*correlate.OptInt)(p); v.OK {
			c.values[i] = c.int(v.V)
		} else {
			c.values[i] = c.null
		}
	}
}

func fillPlainInt(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		c.values[i] = c.int(*(*int64)(p))
	}
}

func fillReal(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		if v := (*correlate.OptReal)(p); v.OK {
			c.values[i] = c.real(v.V)
		} else {
			c.values[i] = c.null
		}
	}
}

func fillPlainReal(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		c.values[i] = c.real(*(*float64)(p))
	}
}

func fillBool(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		if v := (*correlate.OptBool)(p); v.OK {
			c.values[i] = c.value(parquet.BooleanValue(v.V))
		} else {
			c.values[i] = c.null
		}
	}
}

func fillPlainBool(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		c.values[i] = c.value(parquet.BooleanValue(*(*bool)(p)))
	}
}

func fillString(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		// Equal strings mostly come from the same memory: the pointers are
		// compared, not the text.
		s := *(*string)(p)
		if len(s) != len(c.text) || unsafe.StringData(s) != unsafe.StringData(c.text) {
			c.setText(s)
		}
		c.textBytes += len(s)
		c.values[i] = c.last
	}
}

func (c *column) int(v int64) parquet.Value {
	if uint64(v) != c.bits {
		c.bits = uint64(v)
		c.last = c.value(parquet.Int64Value(v))
	}
	return c.last
}

func (c *column) real(v float64) parquet.Value {
	if bits := math.Float64bits(v); bits != c.bits {
		c.bits = bits
		c.last = c.value(parquet.DoubleValue(v))
	}
	return c.last
}

func (c *column) setText(s string) {
	c.text, c.last = s, c.null
	if s != "" {
		s = validUTF8(s)
		c.last = c.value(parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s))))
	}
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
