package parquet

import (
	"cmp"
	"errors"
	"math"
	"os"
	"reflect"
	"unsafe"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// sinkTable is one table of an export, whatever its rows are.
type sinkTable interface {
	add(rows *correlate.Rows, dir string) error
	held() int64 // bytes of the rows that wait
	spill() error
	finish(dir string, meta []keyValue, interrupted func() error) error
	abort() error
}

// newTables returns the tables of an export, each with its rows in
// [correlate.Rows]. Sorted runs go to tmpDir.
func newTables(tmpDir string) []sinkTable {
	return []sinkTable{
		newTable(tmpDir, func(r *correlate.Rows) []correlate.APICall { return r.APICalls }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Ioctl { return r.Ioctls }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Job { return r.Jobs }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.JobDep { return r.JobDeps }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.JobEvent { return r.JobEvents }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Fence { return r.Fences }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.FenceWait { return r.FenceWaits }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.GPUActivity { return r.GPUActivities }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Slice { return r.Slices }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Ring { return r.Rings }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.IdleGap { return r.IdleGaps }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Counter { return r.Counters }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Link { return r.Links }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Unmatched { return r.Unmatched }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Loss { return r.Losses }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Sched { return r.Sched }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.IRQ { return r.IRQs }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.MemMap { return r.MemMaps }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Reset { return r.Resets }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Mark { return r.Marks }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Flow { return r.Flows }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Sample { return r.Samples }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.LogLine { return r.LogLines }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Other { return r.Others }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.AnomalyRow { return r.Anomalies }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Process { return r.Processes }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Thread { return r.Threads }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Device { return r.Devices }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.FunctionName { return r.FunctionNames }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.ProbeRow { return r.Probes }),
		newTable(tmpDir, func(r *correlate.Rows) []correlate.Metadata { return r.Metadata }),
	}
}

// table is a table of rows T. Rows come in the order of their ends; a table
// with times is sorted before it is written, any other is written as it comes,
// or a row group of it by kinds.
type table[T any] struct {
	desc   *correlate.Table
	rows   func(*correlate.Rows) []T
	sorter *export.Sorter[T]
	kinds  *kinds[T] // nil: rows keep their order
	file   *file
}

func newTable[T any](tmpDir string, rows func(*correlate.Rows) []T) *table[T] {
	t := &table[T]{desc: tableOf(reflect.TypeFor[T]()), rows: rows}
	t.kinds = newKinds[T](t.desc)
	if times := sortTimes(t.desc); len(times) > 0 {
		compare := func(a, b *T) int {
			return cmp.Compare(firstTime(unsafe.Pointer(a), times), firstTime(unsafe.Pointer(b), times))
		}
		t.sorter = export.NewSorter(compare, math.MaxInt64, tmpDir)
	}
	return t
}

func tableOf(row reflect.Type) *correlate.Table {
	for _, t := range correlate.Tables {
		if reflect.TypeOf(t.Zero) == row {
			return t
		}
	}
	panic("parquet: no table has rows of type " + row.Name())
}

// Tables of things, not of happenings: they keep the order of their ids.
var unsorted = map[string]bool{"rings": true, "losses": true, "processes": true, "threads": true, "devices": true}

// sortTimes returns the time columns of a table that is sorted: its rows are
// ordered by the first of these that is known.
func sortTimes(t *correlate.Table) []correlate.Column {
	if unsorted[t.Name] {
		return nil
	}
	var times []correlate.Column
	for _, c := range t.Columns() {
		if c.Type == correlate.ColTime {
			times = append(times, c)
		}
	}
	return times
}

// firstTime returns the first of times that row knows. Rows without any time
// come first, in the order of their source.
func firstTime(row unsafe.Pointer, times []correlate.Column) int64 {
	for i := range times {
		if v := (*correlate.OptTime)(unsafe.Add(row, times[i].Offset)); v.OK {
			return int64(v.V)
		}
	}
	return math.MinInt64
}

func (t *table[T]) add(all *correlate.Rows, dir string) error {
	rows := t.rows(all)
	if len(rows) == 0 {
		return nil
	}
	if t.sorter != nil {
		return t.sorter.PushAll(rows)
	}
	if err := t.open(dir); err != nil {
		return err
	}
	if t.kinds != nil {
		for i := range rows {
			if t.kinds.add(&rows[i]) {
				if err := t.file.write(t.kinds.take()); err != nil {
					return err
				}
			}
		}
		return nil
	}
	batch := make([]*T, 0, min(len(rows), batchRows))
	for i := range rows {
		batch = append(batch, &rows[i])
		if len(batch) == batchRows || i == len(rows)-1 {
			if err := t.file.write(pointers(batch)); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

// pointers returns the same pointers without their type.
func pointers[T any](rows []*T) []unsafe.Pointer {
	return unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(unsafe.SliceData(rows))), len(rows))
}

func (t *table[T]) held() int64 {
	if t.sorter == nil {
		return 0
	}
	return t.sorter.Bytes()
}

func (t *table[T]) spill() error { return t.sorter.Spill() }

func (t *table[T]) open(dir string) (err error) {
	if t.file == nil {
		t.file, err = createFile(dir, t.desc)
	}
	return err
}

func (t *table[T]) finish(dir string, meta []keyValue, interrupted func() error) error {
	if err := t.open(dir); err != nil {
		return err
	}
	if t.kinds != nil {
		if err := t.file.write(t.kinds.take()); err != nil {
			return err
		}
		t.kinds = nil
	}
	if t.sorter != nil && t.sorter.Len() > 0 {
		err := t.sorter.EachBatch(batchRows, func(batch []*T) error {
			if err := export.Interrupted(interrupted); err != nil {
				return err
			}
			return t.file.write(pointers(batch))
		})
		if err != nil {
			return err
		}
		if err := t.sorter.Close(); err != nil {
			return err
		}
	}
	err := t.file.close(meta)
	t.file = nil
	return err
}

func (t *table[T]) abort() error {
	var err error
	if t.sorter != nil {
		err = t.sorter.Close()
	}
	if t.file != nil {
		if cerr := t.file.f.Close(); !errors.Is(cerr, os.ErrClosed) {
			err = export.Undone(err, cerr)
		}
		t.file = nil
	}
	return err
}
