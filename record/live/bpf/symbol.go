package bpf

import (
	"sync/atomic"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// symbol is a probed function of a library, found by the id in its records.
type symbol struct {
	name    string // as the library exports it
	source  string // Event.Source
	library string // base name of its file
	api     event.API
	class   gpu.Class
	dir     event.Direction
	plan    plan
	cost    stepCost
}

// symbols is the table of probed functions. It grows while it is read.
type symbols struct {
	list atomic.Pointer[[]*symbol]
}

// get returns the symbol of an id, nil if there is none.
func (s *symbols) get(id uint16) *symbol {
	l := s.list.Load()
	i := int(id) - objects.IDFirstSymbol
	if l == nil || i < 0 || i >= len(*l) {
		return nil
	}
	return (*l)[i]
}

// all returns the symbols in the order of their ids; the slice is shared.
func (s *symbols) all() []*symbol {
	if l := s.list.Load(); l != nil {
		return *l
	}
	return nil
}

// room is how many symbols can still be added.
func (s *symbols) room() int { return objects.MaxIDs - objects.IDFirstSymbol - len(s.all()) }

// add appends symbols and returns the id of the first. The caller holds the lock for writers.
func (s *symbols) add(more []*symbol) uint16 {
	old := s.all()
	l := append(old[:len(old):len(old)], more...)
	s.list.Store(&l)
	return uint16(objects.IDFirstSymbol + len(old))
}

func newSymbol(st *site, library string, entryOnly bool) *symbol {
	return &symbol{
		name:    st.symbol,
		source:  "uprobe:" + st.symbol,
		library: library,
		api:     st.fn.API,
		class:   st.fn.Class,
		dir:     st.fn.Direction,
		plan:    makePlan(st.fn, st.symbol, entryOnly),
		cost:    st.cost,
	}
}
