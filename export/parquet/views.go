package parquet

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/gpurec/gpurec/correlate"
)

// viewsMark begins views.sql: a directory that holds such a file and nothing
// that no export writes is an export, and may be replaced by another.
const viewsMark = "-- gpurec views"

const viewsHead = viewsMark + `: run this file in DuckDB.
--
-- From the export's directory:   cd run.parquet && duckdb -init views.sql
-- From anywhere else, say where it is first:
--   SET VARIABLE gpurec_dir = '/data/run.parquet';
--   .read /data/run.parquet/views.sql
--
-- The variable belongs to the session: set it again when a database that keeps
-- these views is opened later. The views are of one run, as ids are; setting the
-- variable to another run's directory turns all of them to that run.

CREATE OR REPLACE MACRO gpurec_file(name) AS CASE
  WHEN contains(coalesce(getvariable('gpurec_dir'), '.'), '*') THEN error('gpurec_dir names many runs, and ids are those of a run: set it to one directory, or read tables across runs as docs/fleet.md says')
  ELSE coalesce(getvariable('gpurec_dir'), '.') || '/' || name || '.parquet' END;

-- The tables.
`

//go:embed views.sql
var derivedViews string

// viewsSQL returns the content of views.sql: a view for each table, and the
// derived ones.
func viewsSQL() string {
	var b strings.Builder
	b.WriteString(viewsHead)
	for _, t := range correlate.Tables {
		fmt.Fprintf(&b, "CREATE OR REPLACE VIEW %s AS SELECT * FROM read_parquet(gpurec_file('%[1]s'), hive_partitioning = false);\n", t.Name)
	}
	b.WriteByte('\n')
	b.WriteString(derivedViews)
	return b.String()
}
