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
	pen      *pen
	list     []*row                     // by Track.ID - 1
	next     uint64                     // made id
	taken    map[uint64]bool            // ids of the trace that look like made ones
	procs    map[*picture.Process]*proc // processes of the trace
	groups   map[*picture.Track]*proc   // groups of the picture
	self     *proc                      // what gpurec itself has to say
	loose    *proc                      // tracks in no group
	pids     map[uint64]bool            // in use by processes of the trace
	threads  map[[2]uint64]bool         // (pid, tid) in use by its threads
	named    map[*picture.Thread]bool   // before they have a row
	procSort map[*picture.Process]int
}

func (w *rows) init(s *picture.Scene) {
	w.procs, w.groups = map[*picture.Process]*proc{}, map[*picture.Track]*proc{}
	w.pids, w.threads, w.taken = map[uint64]bool{}, map[[2]uint64]bool{}, map[uint64]bool{}
	w.procSort, w.named = map[*picture.Process]int{}, map[*picture.Thread]bool{}
	w.next = firstMadeID
	for i, p := range s.Processes {
		w.procSort[p] = i
		w.take(p.PID)
		for tid := range p.Threads {
			w.take(tid)
		}
	}
	w.self = w.proc(w.makeID(), "gpurec", s.About, sortGroups, w.mark())
	for i, d := range s.Devices {
		w.groups[d.Track()] = w.proc(w.makeID(), d.Track().Name, d.Track().Description, sortDevices+i, kindArg("device"))
	}
	w.people(s.Processes)
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
	return w.thread(p, w.makeID(), name, sortOf(t)+lane(n), rowArgs(t, name))
}

// rowArgs says of a row that is no thread whose it is, and how the source
// called it, where its name says more.
func rowArgs(t *picture.Track, name string) string {
	if t.Parent != nil && t.Parent.Thread != nil {
		return fmt.Sprintf(`,"tid":"%d","beside":true`, t.Parent.Thread.TID)
	}
	if name != t.Name {
		return nameArg(t.Name)
	}
	return ""
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
		r.below = w.thread(p, w.makeID(), name, sortOf(t)+lane(n)+1, "")
	}
	return r.below
}

// real is the row of a thread of the trace.
func (w *rows) real(p *proc, t *picture.Track) *row {
	tid, name := w.realID(t.Thread.TID, func(id uint64) bool { return w.threads[[2]uint64{p.pid, id}] }), t.Thread.Name
	of := ""
	if tid >= firstMadeID { // its number says nothing
		of = nameArg(name) + fmt.Sprintf(`,"tid":"%d"`, t.Thread.TID)
		name = strings.TrimSpace(fmt.Sprintf("%s (thread %d)", name, t.Thread.TID))
	}
	if w.threads[[2]uint64{p.pid, tid}] = true; w.named[t.Thread] {
		name = ""
	}
	return w.thread(p, tid, name, sortOf(t), of)
}

// thread describes a thread; more are further arguments of its name.
func (w *rows) thread(p *proc, tid uint64, name string, sort int, more string) *row {
	ids := fmt.Sprintf(`"pid":%d,"tid":%d`, p.pid, tid)
	if name != "" {
		w.meta("thread_name", ids, "name", name, more)
	}
	w.metaInt("thread_sort_index", ids, sort)
	return &row{slice: `{"ph":"X",` + ids + `,"ts":`, ids: "," + ids + `,"ts":`, at: noTime, end: noTime}
}

const noTime = -1 << 63

func (w *rows) meta(what, ids, key, value, more string) {
	p := w.pen
	p.event(`{"ph":"M","name":"`)
	p.out = append(append(append(p.out, what...), `",`...), ids...)
	p.out = append(append(append(p.out, `,"args":{"`...), key...), `":`...)
	p.out = append(append(appendString(p.out, value), more...), '}')
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
		return w.process(root.Process)
	case root.Group:
		p := w.groups[root]
		if p == nil {
			if p = w.self; root.Name != "gpurec" {
				p = w.proc(w.makeID(), root.Name, root.Description, sortGroups, kindArg("group"))
			}
			w.groups[root] = p
		}
		return p
	}
	if w.loose == nil {
		w.loose = w.proc(w.makeID(), "other tracks", "", sortLast, kindArg("none"))
	}
	return w.loose
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
