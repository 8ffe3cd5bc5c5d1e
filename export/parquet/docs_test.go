package parquet

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
)

//go:generate go test -run TestDocs -update

var update = flag.Bool("update", false, "write docs/parquet.md anew")

const docsPath = "../../docs/parquet.md"

// docs/parquet.md is made from the tables and from views.sql.
func TestDocs(t *testing.T) {
	want := docs(t)
	if *update {
		if err := os.WriteFile(docsPath, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docsPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Fatal("docs/parquet.md is stale: run go generate ./export/parquet")
	}
}

const docsHead = `# The Parquet export

<!-- Made from correlate.Tables and export/parquet/views.sql by ` + "`go generate ./export/parquet`" + `: edit those. -->

` + "`gpurec export run.gpurec -o run.parquet/`" + ` writes a directory: a file for each table below and
` + "`views.sql`" + `. All tables are written, those without rows too, so that a query that
works on one export works on every export. The directory appears under its name
when it is whole; an earlier export of that name is replaced, any other directory
with something in it is refused.

    $ cd run.parquet && duckdb -init views.sql
    D SELECT * FROM ring_summary;
    D SELECT ring, queue_delay_ns FROM jobs WHERE queue_delay_ns > 1000000 ORDER BY queued_ns;

From another directory, say where the export is first:

    D SET VARIABLE gpurec_dir = '/data/run.parquet';
    D .read /data/run.parquet/views.sql

## What holds for every table

- **Times** are INT64 nanoseconds of one clock, the log's, which each file names in its
  metadata (` + "`gpurec.clock`" + `). They are plain integers, not TIMESTAMP: readers take a
  Parquet TIMESTAMP for time since 1970, and most logs count from boot. The name of
  each column of nanoseconds ends in ` + "`_ns`" + `, and ` + "`gpurec.columns`" + ` in the file's metadata
  repeats units and meanings:
  ` + "`SELECT decode(value) FROM parquet_kv_metadata('jobs.parquet') WHERE decode(key) = 'gpurec.columns'`" + `.
- **NULL** is unknown or not there; it is never written as 0. An id of 0 does not exist.
- **Unsigned** columns are UINT64 (UBIGINT in DuckDB): handles and addresses use all 64 bits.
- **Text** is UTF-8. Where a source had a byte that is not, it stands as the four characters ` + "`\\xNN`" + `.
- **Order**: tables of things that happened are sorted by time: by the first of the row's
  times that is known, in the order of the columns; rows without any time come first, in
  the order of the source. The others keep the order of their ids or of the log.
- **Ids** are the ordinal, in its table, of the row's first event in the log: the same log gives
  the same ids in every export. A foreign key is named after the table (` + "`job_id`" + ` is
  ` + "`jobs.id`" + `).
- **Storage**: zstd; row groups of 122,880 rows; dictionaries for text that repeats;
  DELTA_BINARY_PACKED for times and ids; lengths of time and the ids of links so or plain, whichever
  is smaller in that row group; statistics of every row group and page. No table of any size is larger than
  DuckDB's own ` + "`COPY … (COMPRESSION zstd)`" + ` of it (` + "`cd testdata/duckdb && go test -run Size -v .`" + `). There are
  no Bloom filters: ids rise with time, so that statistics alone leave 1 row group of 4 to 10
  for an id (3 for ` + "`links.dst_id`" + `), and filters on all ids would add 3.5 bytes a row to 4.4.
- **Many runs** side by side, on DuckDB, Spark, Trino or ClickHouse: [fleet.md](fleet.md).
- ` + "`gpurec.schema_version`" + ` in each file's metadata is %d. New tables and columns, at the
  end, do not change it; a column that comes to mean something else does.
`

func docs(t *testing.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, docsHead, SchemaVersion)
	b.WriteString("\n## Tables\n\n| table | rows |\n|---|---|\n")
	for _, table := range correlate.Tables {
		fmt.Fprintf(&b, "| [%s](#%[1]s) | %s |\n", table.Name, table.Doc)
	}
	for _, table := range correlate.Tables {
		fmt.Fprintf(&b, "\n### %s\n\n%s ", table.Name, table.Doc)
		if times := sortTimes(table); len(times) > 0 {
			var names []string
			for _, c := range times {
				names = append(names, "`"+c.Name+"`")
			}
			fmt.Fprintf(&b, "Sorted by %s.", strings.Join(names, ", else "))
		} else if names := kindNames[table.Name]; names != nil {
			fmt.Fprintf(&b, "Not sorted by time: rows of the same `%s` stand together in a row group.", strings.Join(names, "`, `"))
		} else {
			b.WriteString("Not sorted by time.")
		}
		b.WriteString("\n\n| column | type | unit | NULL | meaning |\n|---|---|---|---|---|\n")
		for _, c := range table.Columns() {
			null := "never"
			if nullable(c.Type) {
				null = "if unknown"
			}
			switch c.Type {
			case correlate.ColID:
				null = "if there is none"
			case correlate.ColString:
				null = "if empty or unknown"
			}
			if c.Name == "id" {
				null = "never"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Name, typeName(c.Type), c.Unit, null, strings.ReplaceAll(c.Doc, "|", "\\|"))
		}
	}
	b.WriteString("\n## Views\n\n`views.sql` makes a view of each table under its name, and these.\n\n| view | what it shows |\n|---|---|\n")
	for _, v := range documentedViews(t) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v[0], v[1])
	}
	return b.String()
}

func typeName(t correlate.ColumnType) string {
	switch t {
	case correlate.ColUint, correlate.ColPlainUint:
		return "UINT64"
	case correlate.ColReal, correlate.ColPlainReal:
		return "FLOAT64"
	case correlate.ColBool, correlate.ColPlainBool:
		return "BOOL"
	case correlate.ColString:
		return "STRING"
	}
	return "INT64"
}

// documentedViews returns name and comment of each derived view.
func documentedViews(t *testing.T) [][2]string {
	re := regexp.MustCompile(`(?m)((?:^--.*\n)*)^CREATE OR REPLACE VIEW (\w+) AS`)
	var out [][2]string
	for _, m := range re.FindAllStringSubmatch(derivedViews, -1) {
		text := strings.Join(strings.Fields(strings.ReplaceAll("\n"+m[1], "\n--", "\n")), " ")
		if text == "" {
			t.Errorf("view %s has no comment", m[2])
		}
		out = append(out, [2]string{m[2], text})
	}
	if len(out) == 0 {
		t.Error("no views")
	}
	return out
}

func TestColumnsAreDescribed(t *testing.T) {
	for _, table := range correlate.Tables {
		if table.Doc == "" {
			t.Errorf("%s has no description", table.Name)
		}
		for _, c := range table.Columns() {
			if c.Name == "" || c.Doc == "" {
				t.Errorf("%s.%s has no name or description", table.Name, c.Name)
			}
			if strings.HasSuffix(c.Name, "_ns") != (c.Unit == "ns") {
				t.Errorf("%s.%s has the unit %q", table.Name, c.Name, c.Unit)
			}
		}
	}
}
