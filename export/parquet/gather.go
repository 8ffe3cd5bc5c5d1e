package parquet

import (
	"unsafe"

	"github.com/gpurec/gpurec/correlate"
)

// A gatherer copies a field of each row, offset bytes from its start, into dst,
// the known ones only, and returns their number. It adds to known, nil for a
// column that cannot be NULL, which rows those are.
type gatherer func(dst []int64, rows []unsafe.Pointer, offset uintptr, known *bitmap) int

// A value of 64 bits is copied as it is: the column's type says how it is read.
var gatherers = [...]gatherer{
	correlate.ColID:        gatherID,
	correlate.ColTime:      gatherOpt,
	correlate.ColInt:       gatherOpt,
	correlate.ColUint:      gatherOpt,
	correlate.ColReal:      gatherOpt,
	correlate.ColPlainInt:  gatherPlain,
	correlate.ColPlainUint: gatherPlain,
	correlate.ColPlainReal: gatherPlain,
}

func gatherOpt(dst []int64, rows []unsafe.Pointer, offset uintptr, known *bitmap) int {
	n := 0
	for len(rows) > 0 {
		some := rows[:min(len(rows), 64)]
		rows = rows[len(some):]
		var bits uint64
		for i, p := range some {
			v := (*correlate.OptInt)(unsafe.Add(p, offset))
			dst[n] = v.V
			bit := toBit(v.OK)
			bits |= bit << i
			n += int(bit)
		}
		known.add(bits, len(some))
	}
	return n
}

func gatherID(dst []int64, rows []unsafe.Pointer, offset uintptr, known *bitmap) int {
	n := 0
	for len(rows) > 0 {
		some := rows[:min(len(rows), 64)]
		rows = rows[len(some):]
		var bits uint64
		for i, p := range some {
			v := *(*int64)(unsafe.Add(p, offset))
			dst[n] = v
			bit := toBit(v != 0)
			bits |= bit << i
			n += int(bit)
		}
		known.add(bits, len(some))
	}
	return n
}

func gatherPlain(dst []int64, rows []unsafe.Pointer, offset uintptr, _ *bitmap) int {
	for i, p := range rows {
		dst[i] = *(*int64)(unsafe.Add(p, offset))
	}
	return len(rows)
}

func toBit(b bool) uint64 {
	if b { // compiled without a branch
		return 1
	}
	return 0
}
