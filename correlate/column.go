package correlate

import (
	"reflect"
	"sync"

	"github.com/gpurec/gpurec/record/event"
)

// ColumnType is how a column's value is held.
type ColumnType uint8

// The column types. All but the plain ones can be NULL.
const (
	ColID        ColumnType = iota // ID, 0 is NULL
	ColTime                        // OptTime
	ColInt                         // OptInt, OptDur
	ColUint                        // OptUint
	ColReal                        // OptReal
	ColBool                        // OptBool
	ColString                      // string, "" is NULL
	ColPlainInt                    // int64, never NULL
	ColPlainUint                   // uint64, never NULL
	ColPlainReal                   // float64, never NULL
	ColPlainBool                   // bool, never NULL
)

// Column describes one column of a table, read off the row's struct tags.
type Column struct {
	Name   string
	Type   ColumnType
	Unit   string // "ns", "bytes", "" if it has none
	Doc    string
	Index  int     // of the struct field
	Offset uintptr // of the struct field
}

var columnTypes = map[reflect.Type]ColumnType{
	reflect.TypeFor[ID]():         ColID,
	reflect.TypeFor[OptTime]():    ColTime,
	reflect.TypeFor[OptInt]():     ColInt,
	reflect.TypeFor[OptUint]():    ColUint,
	reflect.TypeFor[OptReal]():    ColReal,
	reflect.TypeFor[OptBool]():    ColBool,
	reflect.TypeFor[string]():     ColString,
	reflect.TypeFor[int64]():      ColPlainInt,
	reflect.TypeFor[uint64]():     ColPlainUint,
	reflect.TypeFor[float64]():    ColPlainReal,
	reflect.TypeFor[bool]():       ColPlainBool,
	reflect.TypeFor[event.Time](): ColPlainInt,
}

var columnCache sync.Map // reflect.Type → []Column

// ColumnsOf returns the columns of a row type, in order. It panics if a field
// has a type that no column can hold: the set of row types is closed.
func ColumnsOf(t reflect.Type) []Column {
	if c, ok := columnCache.Load(t); ok {
		return c.([]Column)
	}
	cols := make([]Column, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		ct, ok := columnTypes[f.Type]
		if !ok {
			panic("correlate: column " + t.Name() + "." + f.Name + " has no column type")
		}
		cols = append(cols, Column{f.Tag.Get("col"), ct, f.Tag.Get("unit"), f.Tag.Get("doc"), i, f.Offset})
	}
	columnCache.Store(t, cols)
	return cols
}

// Columns returns the columns of the table, in order.
func (t *Table) Columns() []Column { return ColumnsOf(reflect.TypeOf(t.Zero)) }
