package merge

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// Devices. One profiler calls a GPU by its PCI address, another by the number
// that the process gives it. Work that both told says that the two are one.

const (
	maxWork    = 1 << 16 // pieces of an input's work that are noted
	sameWork   = 1e6     // ns: how far apart two inputs may put the start of work of one correlation id
	nearWork   = 100e3   // ns: of work that is compared by its times
	sameLength = 2e3     // ns: how far its lengths may differ, or a quarter of the longer
	maxNear    = 256     // pieces of work that one is compared with
	minVotes   = 3       // pieces of work that two names must share
	voteShare  = 0.9     // of those that both inputs told of either
)

// work is a piece of work of a device, as an input tells it.
type work struct {
	by          workRow
	correlation int64 // 0: unknown
	device      string
	start, end  event.Time
}

// workRow is where work lies: what is done in one is done one after the other.
type workRow struct {
	pid              int32
	activity, stream uint64
}

// noteWork notes the device of an activity.
func (s *scanned) noteWork(e *event.Event) {
	dev, start := e.Str(event.FieldDevice), e.TimeOf(event.FieldStart)
	if len(s.work) >= maxWork || dev == "" || e.PID <= 0 || !start.Known() || !e.Time.Known() {
		return
	}
	w := work{by: workRow{pid: e.PID}, device: dev, start: start, end: e.Time}
	w.by.activity, _ = e.Uint(event.FieldActivity)
	w.by.stream, _ = e.Uint(event.FieldStream)
	if id, ok := e.Int(event.FieldCorrelationID); ok && id > 0 {
		w.correlation = id
	}
	s.work = append(s.work, w)
}

// devices finds the devices that two inputs of a machine call by two names; the
// one that has no PCI address, else the later one, takes the other's name.
func (m *Merged) devices() {
	for i, s := range m.inputs {
		for _, o := range m.inputs[:i] {
			if o.domain == s.domain && o.way.ok && s.way.ok {
				oneName(o, s)
			}
		}
	}
	for _, s := range m.inputs {
		s.work = nil
	}
}

// pairOfNames is a device as each of two inputs calls it.
type pairOfNames struct{ a, b string }

func oneName(a, b *scanned) {
	votes, all := map[pairOfNames]int{}, map[string]int{}
	x := indexWork(a)
	for i := range b.work {
		w := b.work[i]
		w.start, w.end = b.way.convert(w.start), b.way.convert(w.end)
		if o := x.find(&w); o != nil {
			votes[pairOfNames{o.device, w.device}]++
			all["a"+o.device]++
			all["b"+w.device]++
		}
	}
	for p, n := range votes {
		if n < minVotes || float64(n) < voteShare*float64(max(all["a"+p.a], all["b"+p.b])) {
			continue
		}
		x, y := a.deviceName(p.a), b.deviceName(p.b)
		switch {
		case x == y:
		case isPCI(x) || !isPCI(y):
			b.call(p.b, x)
		default:
			a.call(p.a, y)
		}
	}
}

// workIndex is an input's work on the clock of the result.
type workIndex struct {
	byCall map[int64][]*work
	byTime map[workRow][]*work // in order of start
}

func indexWork(s *scanned) *workIndex {
	x := &workIndex{map[int64][]*work{}, map[workRow][]*work{}}
	for i := range s.work {
		w := s.work[i]
		w.start, w.end = s.way.convert(w.start), s.way.convert(w.end)
		if w.correlation != 0 {
			x.byCall[w.correlation] = append(x.byCall[w.correlation], &w)
		}
		x.byTime[w.by] = append(x.byTime[w.by], &w)
	}
	for _, l := range x.byTime {
		slices.SortStableFunc(l, func(a, b *work) int { return cmp.Compare(a.start, b.start) })
	}
	return x
}

// find returns the same piece of work: of its correlation id, if there is one
// such at about that time, else the nearest of that process, kind and stream that
// takes as long.
func (x *workIndex) find(w *work) *work {
	if l := x.byCall[w.correlation]; len(l) == 1 && l[0].by.pid == w.by.pid && l[0].by.activity == w.by.activity && distance(l[0].start, w.start) <= sameWork {
		return l[0]
	}
	l := x.byTime[w.by]
	i, _ := slices.BinarySearchFunc(l, w.start-nearWork, func(o *work, t event.Time) int { return cmp.Compare(o.start, t) })
	var best *work
	for last := i + maxNear; i < len(l) && i < last && l[i].start <= w.start+nearWork; i++ {
		o := l[i]
		long, short := max(o.end-o.start, w.end-w.start), min(o.end-o.start, w.end-w.start)
		if long-short <= max(sameLength, long/4) && (best == nil || distance(o.start, w.start) < distance(best.start, w.start)) {
			best = o
		}
	}
	return best
}

// call gives a device another name than the input's.
func (s *scanned) call(device, name string) {
	if s.alias == nil {
		s.alias = map[string]string{}
	}
	s.alias[device] = name
}

// deviceName is what a device of the input is called in the result.
func (s *scanned) deviceName(name string) string {
	if to, ok := s.alias[name]; ok {
		return to
	}
	if s.ranks {
		return s.rankDevice(name)
	}
	return name
}

// aliasText says which devices got another name.
func (s *scanned) aliasText() (l []string) {
	for _, d := range slices.Sorted(maps.Keys(s.alias)) {
		l = append(l, d+" is "+s.alias[d])
	}
	return l
}
