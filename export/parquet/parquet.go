// Package parquet writes rows as a directory of Parquet files, one for each
// table of [correlate.Tables], and views.sql, which opens them in DuckDB.
//
// All tables are written, those without rows too, so that every query and
// every view works on every export. docs/parquet.md lists their columns.
//
//   - Times are INT64 nanoseconds of the log's clock. They are not
//     TIMESTAMP(NANOS), which readers take for nanoseconds since 1970: most
//     logs count from boot. The unit of each column is in its name (_ns) and in
//     the file's metadata (gpurec.columns), the clock in gpurec.clock.
//   - What is unknown is NULL, never 0; an id of 0 and an empty string are NULL.
//   - Unsigned values are UINT_64: handles and addresses use all 64 bits.
//   - Strings are UTF-8. A byte that is not becomes the four characters \xNN.
package parquet

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

// SchemaVersion is in each file's metadata. It grows when a column changes its
// meaning; new columns and tables do not change it.
const SchemaVersion = 1

const (
	defaultMemory = 256 << 20
	maxWriters    = 4 // tables written at once: each takes some 10 MiB
)

// Format returns the Parquet format. Its outputs are directories.
func Format() export.Format {
	return export.Format{
		Name:     "parquet",
		Title:    "directory of Parquet files with views for DuckDB",
		Suffixes: []string{"/"},
		New: func(path string, o export.Options) (export.Sink, error) {
			return New(path, o)
		},
	}
}

// Sink writes one directory. See [export.Sink] for the order of calls.
type Sink struct {
	path   string
	o      export.Options
	dir    *outputDir
	tables []sinkTable
}

// New returns a sink that will write the directory path. An existing directory
// is replaced if it is empty or an earlier export, else New refuses it.
func New(path string, o export.Options) (*Sink, error) {
	if o.MaxMemory <= 0 {
		o.MaxMemory = defaultMemory
	}
	d, err := newOutputDir(path)
	if err != nil {
		return nil, err
	}
	return &Sink{path: path, o: o, dir: d}, nil
}

// Begin makes the directory, under another name until End.
func (s *Sink) Begin(meta *event.Meta) error {
	if err := s.dir.create(); err != nil {
		return s.wrap(err)
	}
	tmp := s.o.TempDir
	if tmp == "" {
		tmp = s.dir.tmp
	}
	s.tables = newTables(tmp)
	return nil
}

// Write takes rows: those of sorted tables wait, the others are written.
func (s *Sink) Write(rows *correlate.Rows) error {
	for _, t := range s.tables {
		if err := t.add(rows, s.dir.tmp); err != nil {
			return s.wrap(err)
		}
	}
	return s.wrap(s.spill())
}

// spill keeps the rows that wait within the budget, the largest tables first:
// few large runs merge faster than many small ones.
func (s *Sink) spill() error {
	var total int64
	for _, t := range s.tables {
		total += t.held()
	}
	for total > s.o.MaxMemory {
		t := slices.MaxFunc(s.tables, func(a, b sinkTable) int { return cmp.Compare(a.held(), b.held()) })
		total -= t.held()
		if err := t.spill(); err != nil {
			return err
		}
	}
	return nil
}

// End writes what waited and gives the directory its name.
func (s *Sink) End(sum *correlate.Summary) error {
	if err := s.finish(sum); err != nil {
		return export.Undone(s.wrap(err), s.Abort())
	}
	return nil
}

func (s *Sink) finish(sum *correlate.Summary) error {
	if s.dir.tmp == "" {
		return errors.New("export ended before it began")
	}
	meta := fileMetadata(&sum.Meta, s.o.Tool)
	if err := s.finishTables(meta); err != nil {
		return err
	}
	if err := s.dir.writeViews(); err != nil {
		return err
	}
	if err := s.fits(); err != nil {
		return err
	}
	return s.dir.commit()
}

// finishTables writes the tables, some at once: each is a file of its own.
func (s *Sink) finishTables(meta []keyValue) error {
	var (
		wait sync.WaitGroup
		errs = make([]error, len(s.tables))
		slot = make(chan struct{}, min(runtime.GOMAXPROCS(0), maxWriters))
	)
	for i, t := range s.tables {
		slot <- struct{}{}
		wait.Go(func() {
			errs[i] = t.finish(s.dir.tmp, meta, s.o.Interrupted)
			<-slot
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// fits says if the files take more than is allowed.
func (s *Sink) fits() error {
	if s.o.MaxOutput <= 0 {
		return nil
	}
	size, err := s.dir.size()
	if err == nil && size > s.o.MaxOutput {
		err = &export.TooLargeError{Name: filepath.Clean(s.path), Size: size, Limit: s.o.MaxOutput}
	}
	return err
}

// Abort removes what was written; its error names what stays. After End it
// does nothing.
func (s *Sink) Abort() error {
	var err error
	for _, t := range s.tables {
		err = export.Undone(err, t.abort())
	}
	s.tables = nil
	return export.Undone(err, s.dir.abort())
}

func (s *Sink) wrap(err error) error {
	if err == nil {
		return nil
	}
	if large := (*export.TooLargeError)(nil); errors.As(err, &large) {
		return err
	}
	return fmt.Errorf("write %s: %w", filepath.Clean(s.path), export.PlainError(err))
}
