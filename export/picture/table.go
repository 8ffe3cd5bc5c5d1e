package picture

import "github.com/gpurec/gpurec/correlate"

const pageRows = 512

// idTable holds a value per row id. Ids are dense in a log, but need not be:
// storage goes by pages, so that a stray id costs one page.
type idTable[T any] struct {
	pages map[correlate.ID]*[pageRows]T
	last  *[pageRows]T
	at    correlate.ID
}

// get returns the value of id, or nil if it was never put.
func (t *idTable[T]) get(id correlate.ID) *T {
	if p := t.page(id / pageRows); p != nil && id > 0 {
		return &p[id%pageRows]
	}
	return nil
}

func (t *idTable[T]) page(n correlate.ID) *[pageRows]T {
	if t.last != nil && t.at == n {
		return t.last
	}
	p := t.pages[n]
	if p != nil {
		t.last, t.at = p, n
	}
	return p
}

// put returns the place of id's value, which is zero at first. What is put
// under 0, which is no row, is lost.
func (t *idTable[T]) put(id correlate.ID) *T {
	if id <= 0 {
		return new(T)
	}
	n := id / pageRows
	p := t.page(n)
	if p == nil {
		if t.pages == nil {
			t.pages = map[correlate.ID]*[pageRows]T{}
		}
		p = new([pageRows]T)
		t.pages[n] = p
		t.last, t.at = p, n
	}
	return &p[id%pageRows]
}
