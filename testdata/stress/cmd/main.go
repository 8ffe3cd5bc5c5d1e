// Command cmd writes a stream of package stress as a log:
//
//	go run ./testdata/stress/cmd -variant steady -n 100000000 >run.gpurec
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/testdata/stress"
)

func main() {
	variant := flag.String("variant", stress.Steady, "which `STREAM`: "+fmt.Sprint(stress.Variants()))
	n := flag.Int("n", 1000000, "how many `EVENTS`")
	flag.Parse()
	if err := write(os.Stdout, *variant, *n); err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
}

func write(out io.Writer, variant string, n int) error {
	src, err := stress.New(variant, n)
	if err != nil {
		return err
	}
	w, err := gpulog.NewWriter(out, src.Meta(), gpulog.WriterOptions{})
	if err != nil {
		return err
	}
	var b event.Batch
	for {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if err := w.Write(b.Events); err != nil {
			return err
		}
	}
	return w.Close(nil)
}
