package chromejson

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/export/picture"
	"github.com/gpurec/gpurec/record/event"
)

// markVersion is what the file is to be read by when it is imported again: a
// change of what its slices mean changes it.
const markVersion = 1

// mark is by what a file is known as an export of gpurec's: arguments of its
// first event. What it says must be known before all other events.
func (w *rows) mark() string {
	s := w.pen.scene
	b := appendString(fmt.Appendf(nil, `,"export":%d,"clock":`, markVersion), string(cmp.Or(s.Meta.Clock, event.ClockUnknown)))
	return string(fmt.Appendf(b, `,"start_ns":"%d"`, s.Start))
}

// kindArg says what a made process stands for.
func kindArg(kind string) string { return `,"kind":"` + kind + `"` }

// people names processes and threads that may have no row: rows of others tell
// of them by number.
func (w *rows) people(all []*picture.Process) {
	for _, p := range all {
		var tids []int64
		for tid, t := range p.Threads {
			if !t.Drawn() && t.Name != "" && tid > 0 && tid < firstMadeID {
				tids = append(tids, tid)
			}
		}
		if p.Name == "" && len(tids) == 0 {
			continue
		}
		o := w.process(p)
		slices.Sort(tids)
		for _, tid := range tids {
			w.named[p.Threads[tid]] = true
			w.meta("thread_name", fmt.Sprintf(`"pid":%d,"tid":%d`, o.pid, tid), "name", p.Threads[tid].Name, "")
		}
	}
}

// process returns a process of the trace, and describes it if it is new.
func (w *rows) process(p *picture.Process) *proc {
	o := w.procs[p]
	if o == nil {
		o = w.realProc(p)
		w.procs[p] = o
	}
	return o
}

// realProc describes a process of the trace. The number of one that is gone
// may have been given again: then the later one gets another.
func (w *rows) realProc(p *picture.Process) *proc {
	pid, name := w.realID(p.PID, func(id uint64) bool { return w.pids[id] }), p.Label()
	of := ""
	if pid >= firstMadeID {
		name = strings.TrimSpace(fmt.Sprintf("%s (process %d)", name, p.PID))
		of = nameArg(p.Label())
		if p.Shown == p.PID {
			of += fmt.Sprintf(`,"pid":"%d"`, p.PID)
		}
	}
	w.pids[pid] = true
	return w.proc(pid, name, p.Cmdline, w.procSort[p], of)
}

// nameArg is the name alone, where the one that is shown says more.
func nameArg(name string) string { return `,"own_name":` + string(appendString(nil, name)) }

// proc describes a process; more are further arguments of its name.
func (w *rows) proc(pid uint64, name, label string, sort int, more string) *proc {
	ids := fmt.Sprintf(`"pid":%d`, pid)
	if name != "" {
		w.meta("process_name", ids, "name", name, more)
	}
	if label != "" {
		w.meta("process_labels", ids, "labels", label, "")
	}
	w.metaInt("process_sort_index", ids, sort)
	return &proc{pid: pid, names: map[string]int{}}
}
