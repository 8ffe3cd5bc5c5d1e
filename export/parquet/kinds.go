package parquet

import (
	"unsafe"

	"github.com/gpurec/gpurec/correlate"
)

// Tables without times, of few kinds of rows that come in turn: the columns of
// text that tell the kinds. A row group has one kind after the other: its texts
// are a few runs then, and its ids rise, in a third of the bytes or less.
var kindNames = map[string][]string{
	"links":     {"src_table", "dst_table", "rule"},
	"unmatched": {"src_table", "link", "reason"},
}

const (
	kindTexts = 3
	maxKinds  = 256 // the last stands for all others
)

// kinds holds the rows of a row group and gives them kind by kind, the rows of
// a kind in the order in which they came.
type kinds[T any] struct {
	offsets [kindTexts]uintptr // of the texts
	rows    []T
	kind    []uint8       // of each row
	count   [maxKinds]int // rows of a kind
	seen    map[[kindTexts]string]uint8
	order   []unsafe.Pointer

	// Kinds met lately, each at a place that the addresses of its texts give.
	lately [64]struct {
		met   bool
		texts [kindTexts]string
		kind  uint8
	}
}

// newKinds returns nil for a table whose rows keep their order.
func newKinds[T any](t *correlate.Table) *kinds[T] {
	names := kindNames[t.Name]
	if names == nil {
		return nil
	}
	k := &kinds[T]{seen: map[[kindTexts]string]uint8{}}
	for _, c := range t.Columns() {
		for i, name := range names {
			if c.Name == name {
				k.offsets[i] = c.Offset
			}
		}
	}
	return k
}

// add adds a copy of row; full reports whether the rows make a row group.
func (k *kinds[T]) add(row *T) (full bool) {
	if n := len(k.rows); n == cap(k.rows) {
		size := rowGroupRows // a table that is not small is as large at once
		if n < 8192 {
			size = max(256, 4*n)
		}
		k.rows = append(make([]T, 0, size), k.rows...)
		k.kind = append(make([]uint8, 0, size), k.kind...)
	}
	kind := k.kindOf(unsafe.Pointer(row))
	k.rows, k.kind = append(k.rows, *row), append(k.kind, kind)
	k.count[kind]++
	return len(k.rows) == rowGroupRows
}

func (k *kinds[T]) kindOf(row unsafe.Pointer) uint8 {
	var texts [kindTexts]string
	var at uintptr
	for i, offset := range k.offsets {
		texts[i] = *(*string)(unsafe.Add(row, offset))
		at = at*31 + uintptr(unsafe.Pointer(unsafe.StringData(texts[i])))>>3
	}
	l := &k.lately[at%uintptr(len(k.lately))]
	if l.met && same(texts[0], l.texts[0]) && same(texts[1], l.texts[1]) && same(texts[2], l.texts[2]) {
		return l.kind
	}
	kind, ok := k.seen[texts]
	if !ok {
		kind = uint8(min(len(k.seen), maxKinds-1))
		if len(k.seen) < maxKinds-1 {
			k.seen[texts] = kind
		}
	}
	l.met, l.texts, l.kind = true, texts, kind
	return kind
}

// take returns the rows held, which are let go of at the next add.
func (k *kinds[T]) take() []unsafe.Pointer {
	at := 0
	for kind, n := range k.count {
		k.count[kind], at = at, at+n
	}
	k.order = append(k.order[:0], make([]unsafe.Pointer, len(k.rows))...)
	for i, kind := range k.kind {
		k.order[k.count[kind]] = unsafe.Pointer(&k.rows[i])
		k.count[kind]++
	}
	k.count = [maxKinds]int{}
	k.rows, k.kind = k.rows[:0], k.kind[:0]
	clear(k.seen)
	clear(k.lately[:])
	return k.order
}
