package duckdb

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A table takes no more bytes than DuckDB's own COPY of the same rows, in the
// same order, with the same compression. Tables of few rows are left out: there
// most of a file is what it says about its columns.
//
//	go test ./testdata/duckdb -run Size -v
func TestSizeBesideDuckDB(t *testing.T) {
	if testing.Short() {
		t.Skip("writes tables of a million rows")
	}
	gpurec := build(t)
	logs := map[string]string{"demo": filepath.Join(t.TempDir(), "demo.gpurec")}
	cmd := exec.Command("go", "run", "./testdata/biglog", "-size", "4194304", "-o", logs["demo"], "testdata/demo/demo.gpurec")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if files, _ := filepath.Glob("../../../shared/traces/001-*"); len(files) == 1 {
		logs["kineto"] = files[0]
	} else {
		t.Log("no traces beside the checkout (../shared/traces): none of Kineto is measured")
	}
	for name, log := range logs {
		t.Run(name, func(t *testing.T) { compareSizes(t, gpurec, log) })
	}
}

const fewRows = 5000

func compareSizes(t *testing.T, gpurec func(...string) []byte, log string) {
	dir := filepath.Join(t.TempDir(), "out")
	gpurec("convert", "-q", log, dir+"/")
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run(t, db, "SET threads = 1")
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no files")
	}
	var all [3]int64
	copied := filepath.Join(t.TempDir(), "copy.parquet")
	for _, f := range files {
		n := query(t, db, fmt.Sprintf("SELECT count(*) FROM '%s'", f))[0][0].(int64)
		if n < fewRows {
			continue
		}
		run(t, db, fmt.Sprintf("COPY (FROM '%s') TO '%s' (FORMAT parquet, COMPRESSION zstd)", f, copied))
		ours, theirs := fileSize(t, f), fileSize(t, copied)
		table := strings.TrimSuffix(filepath.Base(f), ".parquet")
		t.Logf("%-16s %9d rows: %6.2f bytes a row, DuckDB %6.2f (%.2f)", table, n, float64(ours)/float64(n), float64(theirs)/float64(n), float64(ours)/float64(theirs))
		if ours > theirs {
			t.Errorf("%s: %d bytes, DuckDB's COPY %d", table, ours, theirs)
		}
		all[0], all[1], all[2] = all[0]+n, all[1]+ours, all[2]+theirs
	}
	t.Logf("%-16s %9d rows: %6.2f bytes a row, DuckDB %6.2f", "all", all[0], float64(all[1])/float64(all[0]), float64(all[2])/float64(all[0]))
}

func fileSize(t *testing.T, path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
