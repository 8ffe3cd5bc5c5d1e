package parquet

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

func nullable(t correlate.ColumnType) bool {
	switch t {
	case correlate.ColPlainInt, correlate.ColPlainUint, correlate.ColPlainReal, correlate.ColPlainBool:
		return false
	}
	return true
}

// Columns whose values hardly ever come twice: a dictionary would hold them all.
// Of things there are few.
var (
	fewNames    = []string{"process_id", "device_id"}
	risingNames = []string{"seqno", "hw_fence_seqno", "fence_seqno", "on_fence_seqno", "sched_job_id", "correlation_id", "flow_id"}
	textNames   = []string{"key", "args", "fields", "text", "cmdline", "value"}
)

// columnEncoding is how a column's values are written.
type columnEncoding uint8

const (
	asTheyAre     columnEncoding = iota
	asDifferences                // texts: from the text before
	inDictionary
	asSmaller // differences or as they are, by trial in each row group
)

// encodingOf returns how a column is written: differences for what rises or is
// a time, the dictionary for what repeats. Lengths of time, and the ids of
// links, which name one table after another, are smaller now one way and now
// the other. A dictionary that grows too large, or in which hardly a value
// comes twice, gives way (dictionaryBytes). The sizes are measured beside
// DuckDB's in testdata/duckdb.
func encodingOf(t *correlate.Table, c correlate.Column) columnEncoding {
	switch c.Type {
	case correlate.ColID, correlate.ColTime:
		switch {
		case t.Name == "links" && c.Name != "id":
			return asSmaller
		case slices.Contains(fewNames, c.Name):
			return inDictionary
		}
		return asDifferences
	case correlate.ColInt, correlate.ColUint, correlate.ColPlainInt, correlate.ColPlainUint:
		switch {
		case c.Unit == "ns":
			return asSmaller
		case slices.Contains(risingNames, c.Name):
			return asDifferences
		}
		return inDictionary
	case correlate.ColString:
		if slices.Contains(textNames, c.Name) {
			return asDifferences
		}
		return inDictionary
	}
	return asTheyAre
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
