package merge

import (
	"maps"
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// Devices. One profiler calls a GPU by its PCI address, another by the number
// that the process gives it. Work that both told says that the two are one.

const (
	maxWork   = 1 << 16 // pieces of an input's work that are noted
	sameWork  = 1e6     // ns: how far apart two inputs may put the start of one
	minVotes  = 3       // pieces of work that two names must share
	voteShare = 0.9     // of those that both inputs told of either
)

// workKey names work of a process as its profilers do.
type workKey struct {
	pid         int32
	correlation int64
}

// work is what an input says of it.
type work struct {
	device   string
	activity uint64
	start    event.Time
}

// noteWork notes the device of an activity that has a correlation id. Several of
// one id (of a graph) tell nothing.
func (s *scanned) noteWork(e *event.Event) {
	id, ok := e.Int(event.FieldCorrelationID)
	dev := e.Str(event.FieldDevice)
	if !ok || id <= 0 || dev == "" || e.PID <= 0 {
		return
	}
	k := workKey{e.PID, id}
	if _, twice := s.work[k]; twice {
		s.work[k] = work{}
		return
	}
	if len(s.work) < maxWork {
		kind, _ := e.Uint(event.FieldActivity)
		s.work[k] = work{dev, kind, e.TimeOf(event.FieldStart)}
	}
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
	for k, x := range a.work {
		y, ok := b.work[k]
		if !ok || x.device == "" || y.device == "" || x.activity != y.activity || !x.start.Known() || !y.start.Known() ||
			distance(a.way.convert(x.start), b.way.convert(y.start)) > sameWork {
			continue
		}
		votes[pairOfNames{x.device, y.device}]++
		all["a"+x.device]++
		all["b"+y.device]++
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
