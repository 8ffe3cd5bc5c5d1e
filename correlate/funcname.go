package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/symbol"
)

// nameTable gathers the mangled names of functions that rows bear, each once:
// table function_names says what they stand for.
type nameTable struct {
	seen  map[string]struct{}
	bytes int
}

// note takes the names of finished rows.
func (e *engine) noteNames(r *Rows) {
	for i := range r.GPUActivities {
		e.noteName(r.GPUActivities[i].Name)
	}
	for i := range r.APICalls {
		e.noteName(r.APICalls[i].KernelName)
	}
	for i := range r.Jobs {
		e.noteName(r.Jobs[i].KernelName)
	}
}

func (e *engine) noteName(name string) {
	if !symbol.Mangled(name) {
		return
	}
	t := &e.names
	if _, ok := t.seen[name]; ok {
		return
	}
	if len(t.seen) >= e.caps.Names || t.bytes+len(name) > e.caps.Text {
		e.count(&anomalyNameNotListed)
		return
	}
	if t.seen == nil {
		t.seen = map[string]struct{}{}
	}
	t.seen[name] = struct{}{}
	t.bytes += len(name)
}

// finishNames gives the table, in the order of the names.
func (e *engine) finishNames() {
	list := make([]string, 0, len(e.names.seen))
	for name := range e.names.seen {
		list = append(list, name)
	}
	slices.Sort(list)
	for _, name := range list {
		plain := symbol.Demangle(name)
		if plain == name {
			continue // damaged
		}
		e.rows.FunctionNames = append(e.rows.FunctionNames, FunctionName{name, plain, symbol.Short(name)})
		e.n++
		e.flushFull()
	}
}
