// Package perfetto writes traces for ui.perfetto.dev. What is drawn, where and
// why is described in docs/perfetto.md: [picture] lays it out, and this package
// writes it down as packets.
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
	"github.com/gpurec/gpurec/export/picture"
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
	pic  *picture.Picture
	temp string
	size int64
}

// New returns a writer to path, which appears when [Writer.End] returns; "-"
// is standard output. It fails if the directory of path cannot be written.
func New(path string, o export.Options) (*Writer, error) {
	if o.TempDir == "" && path != "-" {
		o.TempDir = filepath.Dir(path)
	}
	w := &Writer{path: path, pic: picture.New(o)}
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

// Write implements [export.Sink].
func (w *Writer) Write(r *correlate.Rows) error { return w.pic.Write(r) }

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
	return w.pic.Close()
}

// Abort removes what was written.
func (w *Writer) Abort() {
	if w.temp != "" {
		_ = os.Remove(w.temp) // it may be gone already
		w.temp = ""
	}
	_ = w.pic.Close() // only frees
}

// Counters holds what could not be drawn as it is. It is complete after End.
func (w *Writer) Counters() *event.Counters { return w.pic.Counters() }

// Slices returns the number of slices drawn.
func (w *Writer) Slices() int64 { return w.pic.Slices() }

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
	if err := w.pic.Draw(sum, newPen(out)); err != nil {
		return err
	}
	err := out.flush()
	w.size = out.n
	return err
}
