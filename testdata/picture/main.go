// Command picture draws a part of a Perfetto trace as SVG, laid out as the
// Perfetto UI does: for the README, which cannot hold the UI itself.
//
//	go run ./testdata/picture -o docs/demo.svg -from 254ms -to 272ms run.pftrace
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/gpurec/gpurec/export/perfetto/check"
)

func main() {
	out := flag.String("o", "", "write to `FILE`")
	from := flag.Duration("from", 0, "begin of the part, from the first slice on")
	to := flag.Duration("to", 10*time.Millisecond, "its end")
	job := flag.String("job", "", "draw the arrows of the longest job whose name begins with `NAME`")
	flag.Parse()
	if flag.NArg() != 1 || *out == "" || *from >= *to {
		fmt.Fprintln(os.Stderr, "usage: picture -o FILE.svg -from TIME -to TIME run.pftrace")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out, *job, from.Nanoseconds(), to.Nanoseconds()); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(in, out, job string, from, to int64) error {
	rep, err := check.File(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", in, err)
	}
	if err := rep.Err(); err != nil {
		return fmt.Errorf("%s is not sound: %w", in, err)
	}
	if len(rep.Slices) == 0 {
		return fmt.Errorf("%s holds no slices", in)
	}
	first := rep.Slices[0].Start
	for _, s := range rep.Slices {
		first = min(first, s.Start)
	}
	p := &picture{job: job, first: first, from: first + from, to: first + to, places: map[*check.Slice]place{}}
	p.rows(rep)
	return os.WriteFile(out, p.svg(rep), 0o644)
}
