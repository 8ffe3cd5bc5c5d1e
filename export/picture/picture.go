// Package picture lays rows out as tracks, slices, counters and arrows, for
// any trace format to write down. What is drawn, where and why is described in
// docs/perfetto.md; a format is a [Pen].
//
// Rows are sorted in bounded memory as they come and drawn at the end, in
// order of time: tracks, lanes, ranks and arrows need the whole trace. What rows
// need of each other is kept in pages (docs/adr/006-pages-of-a-picture.md).
package picture

import (
	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

// Picture takes the rows of one trace and draws them.
type Picture struct {
	o    export.Options
	m    *model
	rows *rowSorters

	anomalies []correlate.AnomalyRow
	slices    int64
}

// New returns an empty picture. Rows beyond o.MaxMemory go to files in
// o.TempDir.
func New(o export.Options) *Picture {
	if o.MaxMemory <= 0 {
		o.MaxMemory = 256 << 20
	}
	m := newModel(o.MaxMemory/2, o.TempDir)
	return &Picture{o: o, m: m, rows: newRowSorters(o.MaxMemory, o.TempDir, &m.clip)}
}

// Draw draws everything that was given. It is called once, after the last Write.
func (pic *Picture) Draw(sum *correlate.Summary, pen Pen) error {
	d := newDrawer(pic, pen, sum)
	err := d.run()
	pic.slices = d.slices
	return err
}

// Close frees what the rows take. It may be called twice.
func (pic *Picture) Close() error {
	err := pic.rows.close()
	if cerr := pic.m.pages.close(); err == nil {
		err = cerr
	}
	return err
}

// Counters holds what could not be drawn as it is. It is complete after Draw.
func (pic *Picture) Counters() *event.Counters { return &pic.m.counters }

// Slices returns the number of slices that Draw drew.
func (pic *Picture) Slices() int64 { return pic.slices }
