// Command readjson is DuckDB as a yardstick for reading a Kineto trace: it
// makes a table of the file's events, in one thread, and prints the seconds of
// CPU time that the statement took, and on standard error the rows.
//
//	cd testdata/duckdb && CGO_ENABLED=1 go build -o ../../bin/ ./readjson && ../../bin/readjson trace.json
package main

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"syscall"

	_ "github.com/duckdb/duckdb-go/v2"
)

// The columns are named with their types: to find them out by itself DuckDB
// would read the file once more.
const load = `CREATE TEMP TABLE events AS SELECT unnest(traceEvents, recursive := false) AS event FROM
read_json('%s', format = 'unstructured', maximum_object_size = %d, columns = {traceEvents:
	'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, pid JSON, tid JSON, ts DOUBLE, dur DOUBLE, id JSON, args JSON)[]'})`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "readjson:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("takes the name of an uncompressed trace")
	}
	st, err := os.Stat(args[0])
	if err != nil {
		return err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET threads = 1"); err != nil {
		return err
	}
	from, err := cpuSeconds()
	if err != nil {
		return err
	}
	if _, err := db.Exec(fmt.Sprintf(load, strings.ReplaceAll(args[0], "'", "''"), st.Size()+1)); err != nil {
		return err
	}
	to, err := cpuSeconds()
	if err != nil {
		return err
	}
	var rows, named int64
	if err := db.QueryRow("SELECT count(*), count(event.name) FROM events").Scan(&rows, &named); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d events, %d with a name\n", rows, named)
	fmt.Println(to - from)
	return nil
}

// cpuSeconds is what the process used of the CPUs, in all its threads.
func cpuSeconds() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, nil
}
