package picture

import (
	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// feed is a sorter that is drawn row by row.
type feed interface {
	head() *key // nil at the end
	draw(d *drawer)
	err() error // why the end came early
}

type feedOf[T any] struct {
	rows   *export.Cursor[T]
	failed error
	row    *T
	k      key
	keyOf  func(*T, *key)
	drawIt func(*drawer, *T, *key)
}

func addFeed[T any](d *drawer, s *export.Sorter[T], keyOf func(*T, *key), draw func(*drawer, *T, *key)) {
	if s.Len() == 0 {
		return
	}
	f := &feedOf[T]{keyOf: keyOf, drawIt: draw}
	if f.rows, f.failed = s.Rows(); f.failed == nil {
		f.advance()
	}
	d.feeds, d.heads = append(d.feeds, f), append(d.heads, f.head())
}

func (f *feedOf[T]) advance() {
	if f.row, f.failed = f.rows.Next(); f.failed != nil {
		f.row = nil
	}
	if f.row != nil {
		f.k = key{}
		f.keyOf(f.row, &f.k)
	}
}

func (f *feedOf[T]) head() *key {
	if f.row == nil {
		return nil
	}
	return &f.k
}

func (f *feedOf[T]) draw(d *drawer) {
	f.drawIt(d, f.row, &f.k)
	f.advance()
}

func (f *feedOf[T]) err() error { return f.failed }

// openFeeds lists the sources.
func (d *drawer) openFeeds() {
	addFeed(d, d.rows.slices, func(r *sliceRow, k *key) {
		*k = key{start: r.start, end: r.end, depth: r.depth, id: int64(r.id)}
	}, (*drawer).drawSlice)
	addFeed(d, d.rows.apis, func(r *apiRow, k *key) {
		*k = key{start: r.start, end: r.end, depth: 1000 + r.depth, id: int64(r.id)}
	}, (*drawer).drawAPI)
	addFeed(d, d.rows.ioctls, func(r *ioctlRow, k *key) {
		*k = key{start: r.start, end: r.end, depth: 1 << 20, id: int64(r.id)}
	}, (*drawer).drawIoctl)
	addFeed(d, d.rows.jobs, func(r *jobRow, k *key) {
		*k = key{start: r.at, end: forever, class: classQueued, id: int64(r.id)}
	}, (*drawer).drawJob)
	addFeed(d, d.rows.activities, func(r *activityRow, k *key) {
		*k = key{start: r.start, end: r.end, class: classRunning, id: int64(r.id)}
	}, (*drawer).drawActivity)
	addFeed(d, d.rows.waits, func(r *waitRow, k *key) {
		*k = key{start: r.start, end: r.end, class: classWait, id: int64(r.id)}
	}, (*drawer).drawWait)
	addFeed(d, d.rows.gaps, func(r *correlate.IdleGap, k *key) {
		k.start, k.end, _ = d.m.clip.gap(r)
		k.class = classRest
	}, (*drawer).drawGap)
	addFeed(d, d.rows.losses, func(r *correlate.Loss, k *key) {
		k.start, k.end, _ = d.m.clip.loss(r)
		k.class, k.id = classRest, int64(r.ID)
	}, (*drawer).drawLoss)
	addFeed(d, d.launches, func(l *launch, k *key) {
		k.start, k.class = l.Time, classRest
	}, (*drawer).drawLaunch)
	d.openInstants()
}

func (d *drawer) openInstants() {
	addFeed(d, d.rows.resets, func(r *correlate.Reset, k *key) {
		k.start, k.class, k.id = timeOf(r.TSNS), classRest, int64(r.ID)
	}, (*drawer).drawReset)
	addFeed(d, d.rows.counters, func(r *correlate.Counter, k *key) {
		k.start, k.class = timeOf(r.TSNS), classRest
	}, (*drawer).drawCounter)
	addFeed(d, d.rows.marks, func(r *correlate.Mark, k *key) {
		k.start, k.class, k.id = timeOf(r.TSNS), classRest, int64(r.ID)
	}, (*drawer).drawMark)
	addFeed(d, d.rows.others, func(r *correlate.Other, k *key) {
		k.start, k.class, k.id = timeOf(r.TSNS), classRest, int64(r.ID)
	}, (*drawer).drawOther)
	addFeed(d, d.rows.samples, func(r *correlate.Sample, k *key) {
		k.start, k.class = timeOf(r.TSNS), classRest
	}, (*drawer).drawSample)
	addFeed(d, d.rows.maps, func(r *correlate.MemMap, k *key) {
		k.start, k.class, k.id = timeOf(r.TSNS), classRest, int64(r.ID)
	}, (*drawer).drawMap)
	addFeed(d, d.rows.logs, func(r *correlate.LogLine, k *key) {
		k.start, k.class = timeOf(r.TSNS), classRest
	}, (*drawer).drawLog)
}
