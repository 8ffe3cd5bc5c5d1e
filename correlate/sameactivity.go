package correlate

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Work of a device may be told twice in a merged log, by two profilers of one
// run (Kineto and Nsight Systems). The row that comes second names the first in
// same_as_id and is left out of sums.

const (
	recentWork = 256   // of a process, that may still meet its twin
	workApart  = 100e3 // ns: how far apart two profilers put the start of work of one correlation id
	endsApart  = 1e6   // ns: work whose ends are farther apart is not compared
	sameLength = 2e3   // ns: how far two lengths may differ, or a quarter of the longer
	noWitness  = 0     // an event without a source
	maxWitness = 255   // distinct ones that are told apart

	maxRecentWork  = 256     // processes whose last work is remembered
	maxSourceNames = 1 << 12 // sources whose witness is remembered
	anonymousNS    = "(anonymous namespace)"
)

// recentActivity is work that may still meet its twin.
type recentActivity struct {
	id          ID
	witness     uint8
	taken       bool // it has a twin
	kind        string
	name        string
	direction   string
	device      ID
	stream      OptUint
	start, end  event.Time
	correlation OptInt
}

// recentActivities are the last of a process, in the order of their ends.
type recentActivities struct {
	list  []recentActivity // a ring of recentWork
	n     int
	first uint8 // who told of the first
	mixed bool  // several witnesses tell
}

// witnessID numbers who tells of an event: what stands before the colon of its
// source.
func (x *activityTracker) witnessID(source string) uint8 {
	if id, ok := x.witness[source]; ok {
		return id
	}
	w := witness(source)
	id, ok := x.witness[w]
	if !ok {
		if w != "" {
			id = uint8(min(x.witnesses+1, maxWitness))
			x.witnesses++
		}
	}
	if len(x.witness) < maxSourceNames {
		x.witness[w], x.witness[source] = id, id
	}
	return id
}

// meet looks for the activity of another witness that r is, and else remembers
// r for it.
func (x *activityTracker) meet(r *GPUActivity, p *process, by uint8) {
	if p == nil || by == noWitness || !r.StartNS.OK || !r.EndNS.OK || r.EndNS.V < r.StartNS.V || r.Kind == event.ActivityOther.String() {
		return
	}
	h, ok := x.recent.get(maxRecentWork, p)
	if !ok {
		h = &recentActivities{first: by}
		x.recent.put(maxRecentWork, p, h)
	}
	n := recentActivity{id: r.ID, witness: by, kind: r.Kind, name: r.Name, direction: r.Direction, device: r.DeviceID, stream: r.Stream,
		start: r.StartNS.V, end: r.EndNS.V, correlation: r.CorrelationID}
	h.mixed = h.mixed || by != h.first
	if h.mixed {
		if o, conf := h.twin(&n); o != nil {
			o.taken = true
			r.SameAsID = o.id
			x.e.link(RuleSameActivity, "gpu_activities", o.id, "gpu_activities", r.ID, conf, r.Name)
			return
		}
	}
	if len(h.list) < recentWork {
		h.list = append(h.list, n)
	} else {
		h.list[h.n%recentWork] = n
	}
	h.n++
}

// twin returns the activity nearest to n that another witness told of, that has
// no twin and that n can be: one of the same correlation id before any other.
func (h *recentActivities) twin(n *recentActivity) (best *recentActivity, conf Confidence) {
	var least event.Time
	for i := h.n - 1; i >= max(0, h.n-recentWork); i-- {
		o := &h.list[i%recentWork]
		if n.end-o.end > endsApart {
			break
		}
		c, ok := o.same(n)
		if !ok || o.taken {
			continue
		}
		d := max(o.start-n.start, n.start-o.start)
		if best == nil || c == Exact && conf != Exact || c == conf && d < least {
			best, conf, least = o, c, d
		}
	}
	return best, conf
}

// same reports whether two activities can be one, and how surely.
func (o *recentActivity) same(n *recentActivity) (Confidence, bool) {
	if o.witness == n.witness || o.kind != n.kind {
		return "", false
	}
	named := sameWork(o, n)
	if o.correlation.OK && o.correlation.V > 0 && o.correlation == n.correlation && named {
		return Exact, max(o.start-n.start, n.start-o.start) <= workApart
	}
	if !named || o.device != n.device || !o.stream.OK || o.stream != n.stream {
		return "", false
	}
	return Inferred, o.overlaps(n)
}

// overlaps reports whether the times are those of one activity: about as long,
// and at least half of the shorter one in both.
func (o *recentActivity) overlaps(n *recentActivity) bool {
	a, b := o.end-o.start, n.end-n.start
	if d := max(a-b, b-a); d > max(sameLength, max(a, b)/4) {
		return false
	}
	shared := min(o.end, n.end) - max(o.start, n.start)
	return shared >= 0 && 2*shared >= min(a, b)
}

// sameWork reports whether the names are of one kernel, the directions of one copy.
func sameWork(o, n *recentActivity) bool {
	if o.kind != event.ActivityKernel.String() {
		return o.direction == n.direction || o.direction == "" || n.direction == ""
	}
	return o.name == n.name || kernelStem(o.name) == kernelStem(n.name)
}

// kernelStem is a kernel's name as far as profilers agree on it: without result,
// template arguments and parameters, which they print each in its own way.
func kernelStem(s string) string {
	s = strings.TrimSuffix(s, ".kd") // of a kernel descriptor of ROCm
	at := 0
	for {
		i := strings.IndexAny(s[at:], "<(")
		if i < 0 {
			break
		}
		at += i
		if strings.HasPrefix(s[at:], anonymousNS) {
			at += len(anonymousNS)
			continue
		}
		s = s[:at]
		break
	}
	if i := strings.LastIndexByte(strings.ReplaceAll(s, anonymousNS, "(anonymous_namespace)"), ' '); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// leastCorrelation takes the id of a call for proofs by its order.
func (p *process) leastCorrelation(k correlationKey, at event.Time) {
	switch {
	case !p.minCorrelation.OK:
		p.minCorrelationBy = k.by
	case p.minCorrelationBy != k.by:
		p.mixedCorrelations = true
	}
	if !p.minCorrelation.OK || k.id < p.minCorrelation.V {
		p.minCorrelation, p.minCorrelationAt = event.Some(k.id), at
	}
}
