// Package chromejson writes trace-event JSON, for chrome://tracing, Perfetto
// and other readers that take nothing else. It shows the picture of the
// Perfetto export; docs/chromejson.md says how, and what is lost.
package chromejson

import (
	"fmt"
	"io"
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
		Name:     "chrome-json",
		Title:    "Chrome trace-event JSON (chrome://tracing, Perfetto)",
		Suffixes: []string{".json", ".json.gz"},
		New:      func(path string, o export.Options) (export.Sink, error) { return New(path, o) },
	}
}

// Writer is an [export.Sink] that writes one trace.
type Writer struct {
	path   string // "-": standard output
	tool   string
	pic    *picture.Picture
	file   *export.File
	losses losses
	size   int64
	events int64
}

// New returns a writer to path, which appears when [Writer.End] returns; "-"
// is standard output. It fails if no file can be made there: see [export.Create].
func New(path string, o export.Options) (*Writer, error) {
	if o.TempDir == "" && path != "-" {
		o.TempDir = filepath.Dir(path)
	}
	f, err := export.Create(path, o)
	if err != nil {
		return nil, err
	}
	return &Writer{path: path, tool: o.Tool, pic: picture.New(o), file: f}, nil
}

// Begin implements [export.Sink]. All that Meta tells is taken at the end.
func (w *Writer) Begin(*event.Meta) error { return nil }

// Write implements [export.Sink].
func (w *Writer) Write(r *correlate.Rows) error {
	for i := range r.Losses {
		w.losses.add(&r.Losses[i])
	}
	return w.pic.Write(r)
}

// End draws everything and gives the file its name.
func (w *Writer) End(sum *correlate.Summary) error {
	err := w.write(sum)
	if err != nil {
		err = fmt.Errorf("write %s: %w", w.file.Name(), export.PlainError(err))
	} else {
		err = w.file.Commit()
	}
	if err != nil {
		return export.Undone(err, w.Abort())
	}
	return w.pic.Close()
}

// Abort removes what was written; its error names what stays. After End it
// does nothing.
func (w *Writer) Abort() error {
	return export.Undone(w.file.Abort(), w.pic.Close())
}

// Counters holds what could not be drawn as it is. It is complete after End.
func (w *Writer) Counters() *event.Counters { return w.pic.Counters() }

// Slices returns the number of slices drawn, without those of CPUs.
func (w *Writer) Slices() int64 { return w.pic.Slices() }

// Events returns the number of JSON objects written.
func (w *Writer) Events() int64 { return w.events }

// Size returns the bytes of the trace before compression.
func (w *Writer) Size() int64 { return w.size }

func (w *Writer) write(sum *correlate.Summary) error {
	if !strings.HasSuffix(w.path, ".gz") {
		return w.draw(w.file, sum)
	}
	z := gzip.NewWriter(w.file)
	if err := w.draw(z, sum); err != nil {
		return err
	}
	return z.Close()
}

func (w *Writer) draw(to io.Writer, sum *correlate.Summary) error {
	p := newPen(to)
	if err := w.pic.Draw(sum, p); err != nil {
		return err
	}
	p.foot(w.tool, &w.losses)
	p.flush()
	w.size, w.events = p.size, p.n
	return p.err
}
