package chromejson

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/export/picture"
)

// The format knows processes and their threads, and nothing else that holds
// slices. A group of the picture becomes a process, and a track in it a thread,
// with numbers that no kernel gives (PID_MAX_LIMIT is 2^22) and that no other
// process or thread of the trace has.
const firstMadeID = 1 << 29

// Places of processes among each other: process_sort_index.
const (
	sortCPUs    = -3_000_000
	sortDevices = -2_000_000
	sortGroups  = -1_000_000
	sortLast    = 1_000_000
)

// row is a thread as the file has it, or a counter. The texts stand before a
// time: they hold all that is the same for each event.
type row struct {
	slice   string // {"ph":"X","pid":1,"tid":2,"ts":
	ids     string // ,"pid":1,"tid":2,"ts":
	counter string // {"ph":"C","pid":1,"name":"backlog","ts":
	unit    string // "jobs":
	below   *row   // for the parts of its slices

	end   int64 // of the slice whose parts go below
	at    int64 // start of its last slice
	flows int   // ends of arrows there
	point bool  // a slice without length stands there
}

// proc is a process as the file has it.
type proc struct {
	pid   uint64
	names map[string]int // of its made threads and counters
}

// rows gives tracks their places.
type rows struct {
	pen       *pen
	list      []*row                     // by Track.ID - 1
	next      uint64                     // made id
	taken     map[uint64]bool            // ids of the trace that look like made ones
	procs     map[*picture.Process]*proc // processes of the trace
	groups    map[*picture.Track]*proc   // groups of the picture
	loose     *proc                      // tracks in no group
	pids      map[uint64]bool            // in use by processes of the trace
	threads   map[[2]uint64]bool         // (pid, tid) in use by its threads
	groupSort map[*picture.Track]int
	procSort  map[*picture.Process]int
}

func (w *rows) init(s *picture.Scene) {
	w.procs, w.groups = map[*picture.Process]*proc{}, map[*picture.Track]*proc{}
	w.pids, w.threads, w.taken = map[uint64]bool{}, map[[2]uint64]bool{}, map[uint64]bool{}
	w.groupSort, w.procSort = map[*picture.Track]int{}, map[*picture.Process]int{}
	w.next = firstMadeID
	for i, d := range s.Devices {
		w.groupSort[d.Track()] = sortDevices + i
	}
	for i, p := range s.Processes {
		w.procSort[p] = i
		w.take(p.PID)
		for tid := range p.Threads {
			w.take(tid)
		}
	}
}

func (w *rows) take(id int64) {
	if id >= firstMadeID {
		w.taken[uint64(id)] = true
	}
}

// makeID returns a number that nothing else in the trace has.
func (w *rows) makeID() uint64 {
	for w.taken[w.next] {
		w.next++
	}
	w.next++
	return w.next - 1
}

// realID returns a pid or tid of the trace as the file has it: another one if
// readers would take it for none (0, negative, beyond 31 bits), or for that of
// another process or thread.
func (w *rows) realID(id int64, used func(uint64) bool) uint64 {
	if id <= 0 || id > math.MaxInt32 {
		return w.makeID()
	}
	if used(uint64(id)) {
		w.pen.scene.Counters.Add(&AnomalySameID, 1)
		return w.makeID()
	}
	return uint64(id)
}

// of returns the row of a track, and describes it if it is new.
func (w *rows) of(t *picture.Track) *row {
	if t.ID != 0 {
		return w.list[t.ID-1]
	}
	r := w.newRow(t)
	w.list = append(w.list, r)
	t.ID = uint64(len(w.list))
	return r
}

func (w *rows) newRow(t *picture.Track) *row {
	p := w.procOf(t)
	switch {
	case t.Counter:
		name, _ := p.unique(pathOf(t))
		unit := strings.TrimSpace(t.Unit)
		if unit == "" {
			unit = "value"
		}
		b := fmt.Appendf(nil, `{"ph":"C","pid":%d,"name":`, p.pid)
		b = append(appendString(b, name), `,"ts":`...)
		return &row{counter: string(b), unit: string(append(appendString(nil, unit), ':'))}
	case t.Thread != nil:
		return w.real(p, t)
	}
	name, n := p.unique(pathOf(t))
	return w.thread(p, w.makeID(), name, sortOf(t)+lane(n))
}

// parts returns the row below that of a track.
func (w *rows) parts(t *picture.Track) *row {
	r := w.of(t)
	if r.below == nil {
		p := w.procOf(t)
		name := t.Parts
		if t.Parent != nil {
			name = joined(above(t.Parent), name)
		}
		name, n := p.unique(name)
		r.below = w.thread(p, w.makeID(), name, sortOf(t)+lane(n)+1)
	}
	return r.below
}

// real is the row of a thread of the trace.
func (w *rows) real(p *proc, t *picture.Track) *row {
	tid, name := w.realID(t.Thread.TID, func(id uint64) bool { return w.threads[[2]uint64{p.pid, id}] }), t.Thread.Name
	if tid >= firstMadeID { // its number says nothing
		name = strings.TrimSpace(fmt.Sprintf("%s (thread %d)", name, t.Thread.TID))
	}
	w.threads[[2]uint64{p.pid, tid}] = true
	return w.thread(p, tid, name, sortOf(t))
}

// thread describes a thread.
func (w *rows) thread(p *proc, tid uint64, name string, sort int) *row {
	ids := fmt.Sprintf(`"pid":%d,"tid":%d`, p.pid, tid)
	if name != "" {
		w.meta("thread_name", ids, "name", name)
	}
	w.metaInt("thread_sort_index", ids, sort)
	return &row{slice: `{"ph":"X",` + ids + `,"ts":`, ids: "," + ids + `,"ts":`, at: noTime, end: noTime}
}

const noTime = -1 << 63

func (w *rows) meta(what, ids, key, value string) {
	p := w.pen
	p.event(`{"ph":"M","name":"`)
	p.out = append(append(append(p.out, what...), `",`...), ids...)
	p.out = append(append(append(p.out, `,"args":{"`...), key...), `":`...)
	p.out = append(appendString(p.out, value), '}')
	p.closed()
}

func (w *rows) metaInt(what, ids string, v int) {
	p := w.pen
	p.event(`{"ph":"M","name":"`)
	p.out = append(append(append(p.out, what...), `",`...), ids...)
	p.out = append(p.out, `,"args":{"sort_index":`...)
	p.out = append(strconv.AppendInt(p.out, int64(v), 10), '}')
	p.closed()
}

// procOf returns the process under which a track stands.
func (w *rows) procOf(t *picture.Track) *proc {
	root := t
	for root.Parent != nil {
		root = root.Parent
	}
	switch {
	case root.Process != nil:
		p := w.procs[root.Process]
		if p == nil {
			p = w.realProc(root.Process)
			w.procs[root.Process] = p
		}
		return p
	case root.Group:
		p := w.groups[root]
		if p == nil {
			sort, ok := w.groupSort[root]
			if !ok {
				sort = sortGroups
			}
			p = w.proc(w.makeID(), root.Name, root.Description, sort)
			w.groups[root] = p
		}
		return p
	}
	if w.loose == nil {
		w.loose = w.proc(w.makeID(), "other tracks", "", sortLast)
	}
	return w.loose
}

// realProc describes a process of the trace. The number of one that is gone
// may have been given again: then the later one gets another.
func (w *rows) realProc(p *picture.Process) *proc {
	pid, name := w.realID(p.PID, func(id uint64) bool { return w.pids[id] }), p.Label()
	if pid >= firstMadeID {
		name = strings.TrimSpace(fmt.Sprintf("%s (process %d)", name, p.PID))
	}
	w.pids[pid] = true
	return w.proc(pid, name, p.Cmdline, w.procSort[p])
}

func (w *rows) proc(pid uint64, name, label string, sort int) *proc {
	ids := fmt.Sprintf(`"pid":%d`, pid)
	if name != "" {
		w.meta("process_name", ids, "name", name)
	}
	if label != "" {
		w.meta("process_labels", ids, "labels", label)
	}
	w.metaInt("process_sort_index", ids, sort)
	return &proc{pid: pid, names: map[string]int{}}
}

// unique numbers names that come again: lanes.
func (p *proc) unique(name string) (_ string, n int) {
	for {
		p.names[name]++
		n = p.names[name]
		if n == 1 {
			return name, n
		}
		try := fmt.Sprintf("%s (%d)", name, n)
		if p.names[try] == 0 {
			p.names[try] = 1
			return try, n
		}
	}
}

// lane is the place of the nth track of a name among the others of it.
func lane(n int) int { return 2 * min(n-1, 48) }

// pathOf names a track within its process. A track below a counter needs not
// tell of it, and a thread's name stands for those below it.
func pathOf(t *picture.Track) string {
	if t.Parent == nil {
		return t.Name
	}
	return joined(above(t.Parent), t.Name)
}

func above(t *picture.Track) string {
	switch {
	case t.Process != nil || t.Parent == nil && t.Group:
		return ""
	case t.Thread != nil:
		return strings.TrimSpace(fmt.Sprintf("%s %d", t.Thread.Name, t.Thread.TID))
	case t.Counter && t.Parent != nil:
		return above(t.Parent)
	}
	return pathOf(t)
}

func joined(above, name string) string {
	if above == "" {
		return name
	}
	return above + " / " + name
}

// sortOf is the place of a thread among those of its process: by the ranks of
// the picture, from the top down. What has none stands last.
func sortOf(t *picture.Track) int {
	const most = 2000
	if t.Parent == nil || t.Parent.Parent == nil {
		r := int(t.Rank)
		if r <= 0 || r > most {
			r = most
		}
		return r * 1_000_000
	}
	v := sortOf(t.Parent)
	for step := 10_000; step > 0; step /= 100 {
		if v%(step*100) == 0 {
			return v + min(max(int(t.Rank), 0), 99)*step
		}
	}
	return v
}
