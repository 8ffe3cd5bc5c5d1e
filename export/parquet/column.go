package parquet

import (
	"fmt"
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
	fill   func(c *column, field unsafe.Pointer, stride uintptr)
	values []parquet.Value // what fill sets: the zero value is NULL

	// Texts set lately: most columns repeat theirs. A text stands at a place that
	// its address gives.
	texts [8]struct {
		text  string
		value parquet.Value
	}

	textBytes int // of the present row group
}

func newColumn(c correlate.Column, w *parquet.ColumnWriter) column {
	return column{w: w, offset: c.Offset, fill: fillers[c.Type], values: make([]parquet.Value, batchRows)}
}

// known is the definition level of a value that is not NULL, where one can be.
const known = 1

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
			c.values[i] = parquet.Int64Value(v)
			c.values[i].SetDefinitionLevel(known)
		} else {
			c.values[i] = parquet.Value{}
		}
	}
}

func fillInt(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		if v := (*correlate.OptInt)(p); v.OK {
			c.values[i] = parquet.Int64Value(v.V)
			c.values[i].SetDefinitionLevel(known)
		} else {
			c.values[i] = parquet.Value{}
		}
	}
}

func fillPlainInt(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		c.values[i] = parquet.Int64Value(*(*int64)(p))
	}
}

func fillReal(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		if v := (*correlate.OptReal)(p); v.OK {
			c.values[i] = parquet.DoubleValue(v.V)
			c.values[i].SetDefinitionLevel(known)
		} else {
			c.values[i] = parquet.Value{}
		}
	}
}

func fillPlainReal(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		c.values[i] = parquet.DoubleValue(*(*float64)(p))
	}
}

func fillBool(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		if v := (*correlate.OptBool)(p); v.OK {
			c.values[i] = parquet.BooleanValue(v.V)
			c.values[i].SetDefinitionLevel(known)
		} else {
			c.values[i] = parquet.Value{}
		}
	}
}

func fillPlainBool(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		c.values[i] = parquet.BooleanValue(*(*bool)(p))
	}
}

func fillString(c *column, p unsafe.Pointer, stride uintptr) {
	for i := range c.values {
		p := unsafe.Add(p, uintptr(i)*stride)
		// Equal strings mostly come from the same memory: the pointers are
		// compared, not the text.
		s := *(*string)(p)
		t := &c.texts[uintptr(unsafe.Pointer(unsafe.StringData(s)))>>3%uintptr(len(c.texts))]
		if len(s) != len(t.text) || unsafe.StringData(s) != unsafe.StringData(t.text) {
			t.text, t.value = s, textValue(s)
		}
		c.textBytes += len(s)
		c.values[i] = t.value
	}
}

func textValue(s string) parquet.Value {
	if s == "" {
		return parquet.Value{}
	}
	s = validUTF8(s)
	v := parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
	v.SetDefinitionLevel(known)
	return v
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
