// Package perfetto writes traces for ui.perfetto.dev. What is drawn, where and
// why is described in docs/perfetto.md.
//
// Rows are sorted in bounded memory as they come and drawn at the end, in
// order of time: tracks, lanes, ranks and arrows need the whole trace.
package perfetto

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

// Format returns the description of the format. A name that ends in .gz is
// compressed.
func Format() export.Format {
	return export.Format{
		Name:     "perfetto",
		Title:    "Perfetto trace (ui.perfetto.dev)",
		Suffixes: []string{".pftrace", ".pftrace.gz", ".perfetto-trace", ".perfetto-trace.gz"},
		New:      func(path string, o export.Options) (export.Sink, error) { return New(path, o) },
	}
}

// Writer is an [export.Sink] that writes one trace.
type Writer struct {
	path string // "-": standard output
	o    export.Options
	m    *model
	rows *rowSorters
	tool string

	anomalies []correlate.AnomalyRow
	temp      string
	size      int64
	slices    int64
}

// New returns a writer to path, which appears when [Writer.End] returns; "-"
// is standard output. It fails if the directory of path cannot be written.
func New(path string, o export.Options) (*Writer, error) {
	if o.MaxMemory <= 0 {
		o.MaxMemory = 256 << 20
	}
	if o.TempDir == "" && path != "-" {
		o.TempDir = filepath.Dir(path)
	}
	w := &Writer{path: path, o: o, m: newModel(), tool: o.Tool}
	w.rows = newRowSorters(o.MaxMemory, o.TempDir)
	if path == "-" {
		return w, nil
	}
	f, err := createBeside(path)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	w.temp = f.Name()
	return w, f.Close()
}

// createBeside makes a new file in path's directory, with the mode that path
// itself would get.
func createBeside(path string) (*os.File, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf(".%s.%d-%d", filepath.Base(path), os.Getpid(), i)
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, os.ErrExist) || i > 1000 {
			return f, err
		}
	}
}

// Begin implements [export.Sink]. All that Meta tells is taken at the end.
func (w *Writer) Begin(*event.Meta) error { return nil }

// End draws everything and gives the file its name.
func (w *Writer) End(sum *correlate.Summary) error {
	err := w.write(sum)
	if err == nil && w.temp != "" {
		err = os.Rename(w.temp, w.path)
	}
	if err != nil {
		w.Abort()
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	w.temp = ""
	return w.rows.close()
}

// Abort removes what was written.
func (w *Writer) Abort() {
	if w.temp != "" {
		_ = os.Remove(w.temp) // it may be gone already
		w.temp = ""
	}
	_ = w.rows.close() // only frees
}

// Counters holds what could not be drawn as it is. It is complete after End.
func (w *Writer) Counters() *event.Counters { return &w.m.counters }

// Slices returns the number of slices drawn, Size the bytes before compression.
func (w *Writer) Slices() int64 { return w.slices }

// Size returns the bytes of the trace before compression.
func (w *Writer) Size() int64 { return w.size }

func (w *Writer) write(sum *correlate.Summary) (err error) {
	f := os.Stdout
	if w.path != "-" {
		if f, err = os.OpenFile(w.temp, os.O_WRONLY|os.O_TRUNC, 0); err != nil {
			return err
		}
		defer func() {
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}()
	}
	if strings.HasSuffix(w.path, ".gz") {
		z := gzip.NewWriter(f)
		if err := w.draw(z, sum); err != nil {
			return err
		}
		return z.Close()
	}
	return w.draw(f, sum)
}

func (w *Writer) draw(to io.Writer, sum *correlate.Summary) error {
	out := newPackets(to)
	d := newDrawer(w, out, sum)
	if err := d.run(); err != nil {
		return err
	}
	err := out.flush()
	w.size, w.slices = out.n, d.slices
	return err
}
