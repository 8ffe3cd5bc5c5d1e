package parquet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// schemaOf returns the Parquet schema of a table: its columns, in their order,
// with the encoding that suits what they hold.
func schemaOf(t *correlate.Table) *parquet.Schema {
	columns := t.Columns()
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		tag := c.Name
		if nullable(c.Type) {
			tag += ",optional"
		}
		if e := encodingOf(t, c); e != "" {
			tag += "," + e
		}
		fields[i] = reflect.StructField{
			Name: "C" + strconv.Itoa(i),
			Type: goType(c.Type),
			Tag:  reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		}
	}
	return parquet.NewSchema(t.Name, parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}

func nullable(t correlate.ColumnType) bool {
	switch t {
	case correlate.ColPlainInt, correlate.ColPlainUint, correlate.ColPlainReal, correlate.ColPlainBool:
		return false
	}
	return true
}

func goType(t correlate.ColumnType) reflect.Type {
	switch t {
	case correlate.ColUint, correlate.ColPlainUint:
		return reflect.TypeFor[uint64]()
	case correlate.ColReal, correlate.ColPlainReal:
		return reflect.TypeFor[float64]()
	case correlate.ColBool, correlate.ColPlainBool:
		return reflect.TypeFor[bool]()
	case correlate.ColString:
		return reflect.TypeFor[string]()
	}
	return reflect.TypeFor[int64]()
}

// Columns whose values hardly ever come twice: a dictionary would hold them all.
// Of things there are few.
var (
	fewNames    = []string{"process_id", "device_id"}
	risingNames = []string{"seqno", "hw_fence_seqno", "fence_seqno", "on_fence_seqno", "sched_job_id", "correlation_id", "flow_id"}
	textNames   = []string{"key", "args", "fields", "text", "cmdline", "value"}
)

// encodingOf returns the struct tag of a column's encoding: differences for
// what rises or is a time, the dictionary for what repeats, none for lengths of
// time, which zstd makes smaller than their differences are, and for the ids of
// links, which name one table after another and do not rise. A dictionary that
// grows too large gives way to plain values (dictionaryBytes). The sizes are
// measured beside DuckDB's in testdata/duckdb.
func encodingOf(t *correlate.Table, c correlate.Column) string {
	switch c.Type {
	case correlate.ColID, correlate.ColTime:
		switch {
		case t.Name == "links" && c.Name != "id":
			return ""
		case slices.Contains(fewNames, c.Name):
			return "dict"
		}
		return "delta"
	case correlate.ColInt, correlate.ColUint, correlate.ColPlainInt, correlate.ColPlainUint:
		switch {
		case c.Unit == "ns":
			return ""
		case slices.Contains(risingNames, c.Name):
			return "delta"
		}
		return "dict"
	case correlate.ColString:
		if slices.Contains(textNames, c.Name) {
			return "delta"
		}
		return "dict"
	}
	return ""
}

// keyValue is an entry of a file's metadata.
type keyValue struct{ key, value string }

// fileMetadata returns what every file of an export says about it.
func fileMetadata(m *event.Meta, tool string) []keyValue {
	clock := string(m.Clock)
	if clock == "" {
		clock = string(event.ClockUnknown)
	}
	kv := []keyValue{
		{"gpurec.schema_version", strconv.Itoa(SchemaVersion)},
		{"gpurec.tool", tool},
		{"gpurec.clock", clock},
		{"gpurec.source_tool", strings.TrimSpace(m.Tool + " " + m.ToolVersion)},
		{"gpurec.source_format", m.Format},
		{"gpurec.host", m.Host.Name},
		{"gpurec.kernel", m.Host.Kernel},
		{"gpurec.boot_id", m.Host.BootID},
	}
	kv = slices.DeleteFunc(kv, func(e keyValue) bool { return e.value == "" })
	for i := range kv {
		kv[i].value = validUTF8(kv[i].value)
	}
	return kv
}

// tableMetadata returns what a file says about its table: the units and
// meanings of its columns, which the Parquet schema has no place for.
func tableMetadata(t *correlate.Table) []keyValue {
	type column struct {
		Name string `json:"name"`
		Unit string `json:"unit,omitempty"`
		Doc  string `json:"doc"`
	}
	var columns []column
	for _, c := range t.Columns() {
		columns = append(columns, column{c.Name, c.Unit, c.Doc})
	}
	text, err := json.Marshal(columns)
	if err != nil {
		panic(err) // strings only
	}
	return []keyValue{{"gpurec.table", t.Name}, {"gpurec.table_doc", t.Doc}, {"gpurec.columns", string(text)}}
}
