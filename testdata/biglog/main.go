// Command biglog makes a log of any size for measuring: it repeats logs one
// after another, with fences, jobs and correlation ids counted on, and the time
// between two events up to an eighth longer, until the size is reached. Processes
// stay the same ones. Equal inputs give equal logs.
//
//	go run ./testdata/biglog -size 1073741824 -o big.gpurec run.gpurec…
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
)

func main() {
	size := flag.Uint64("size", 1<<30, "bytes of the log")
	out := flag.String("o", "big.gpurec", "file to write")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "biglog: name at least one log to repeat")
		os.Exit(2)
	}
	if err := run(*out, *size, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "biglog:", err)
		os.Exit(1)
	}
}

// Fields that count on from one repetition to the next.
var rising = []event.Field{event.FieldFenceSeqno, event.FieldHWFenceSeqno, event.FieldOnFenceSeqno, event.FieldSchedJobID, event.FieldCorrelationID}

type part struct {
	events []event.Event
	start  event.Time
	step   uint64 // one more than the greatest of the rising fields
}

func run(out string, size uint64, inputs []string) error {
	var parts []*part
	var meta *event.Meta
	for _, in := range inputs {
		p, m, err := load(in)
		if err != nil {
			return err
		}
		if meta == nil {
			meta = m
		}
		parts = append(parts, p)
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	b := bufio.NewWriterSize(f, 1<<20)
	w, err := gpulog.NewWriter(b, meta, gpulog.WriterOptions{})
	if err != nil {
		return err
	}
	at, buf, r := parts[0].start, []event.Event(nil), rand.New(rand.NewPCG(1, 1))
	for turn := uint64(0); w.Stats().Bytes < size; turn++ {
		for _, p := range parts {
			buf, at = p.shift(buf[:0], at, turn, r)
			if err := w.Write(buf); err != nil {
				return err
			}
		}
	}
	if err := w.Close(nil); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	fmt.Printf("%d events, %d bytes, %.1f s\n", w.Stats().Events, w.Stats().Bytes, float64(at-parts[0].start)/1e9)
	return f.Close()
}

// shift appends the events of a turn that begins at a time, and returns when the
// next begins. Processes, threads and devices are told
// and begin only in the first, and none ends.
func (p *part) shift(to []event.Event, at event.Time, turn uint64, r *rand.Rand) ([]event.Event, event.Time) {
	prev := p.start
	for i := range p.events {
		e := p.events[i]
		gap := e.Time - prev
		prev = e.Time
		at += gap + event.Time(r.Int64N(int64(gap)/8+1))
		by := at - e.Time
		switch e.Kind {
		case event.KindTask, event.KindProcess, event.KindThread, event.KindDevice:
			if turn > 0 {
				continue
			}
		}
		e.Time += by
		if t := e.TimeOf(event.FieldStart); t.Known() {
			e.SetTime(event.FieldStart, t+by)
		}
		for _, f := range rising {
			if v, ok := e.Uint(f); ok {
				e.SetUint(f, v+turn*p.step)
			}
		}
		to = append(to, e)
	}
	return to, at + 1000
}

func load(path string) (*part, *event.Meta, error) {
	l, err := gpulog.Open(path, gpulog.ReaderOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	r, err := l.Reader()
	if err != nil {
		return nil, nil, err
	}
	s := gpulog.Sort(r, gpulog.SortOptions{})
	defer s.Close()
	p := &part{}
	var b event.Batch
	for {
		err := s.Next(&b)
		for i := range b.Events {
			if b.Events[i].Time.Known() {
				p.events = append(p.events, b.Events[i])
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if len(p.events) == 0 {
		return nil, nil, fmt.Errorf("%s: no events", path)
	}
	p.start = p.events[0].Time
	for i := range p.events {
		for _, f := range rising {
			if v, ok := p.events[i].Uint(f); ok {
				p.step = max(p.step, v+1)
			}
		}
	}
	meta := *s.Meta()
	meta.Snapshots = nil
	return p, &meta, nil
}
