package perfetto

import "slices"

// Flags of a packet (SequenceFlags).
const (
	flagCleared = 1 // what the sequence interned begins anew with this packet
	flagNeeds   = 2 // the packet needs what was interned
)

// sequence is a writer of packets and what it said so far.
type sequence struct {
	id      uint32
	packets int
	size    int  // of what it interned, in bytes
	valid   bool // its state was cleared once, so that it is known whole
	cleared int  // how often its state was cleared

	names       table // of events
	categories  table
	annotations table
	strings     table // values of annotations
	specs       table // hardware queues and stages
	specKinds   map[uint64]uint64
	contexts    map[uint64]graphicsContext
	kernels     map[uint64]*kernel
	kernelArgs  table
	counters    map[uint64]*counterSet

	track      uint64 // default
	hasTrack   bool
	clock      uint64 // default
	extra      []uint64
	extraFloat []uint64
	lastTrack  *track // cache
	lastUUID   uint64
	lastGen    int
	bare       track // of events that name no track

	// Of the oldest form, in which a descriptor on the sequence names its thread.
	pid, tid int32
	us       int64 // reference of timestamp_delta_us
	hasUS    bool
}

type graphicsContext struct {
	pid int32
	api uint64
}

const (
	maxSequences = 1 << 14
	maxInterned  = 1 << 18 // entries of what is no table of a sequence
)

// table maps interned ids to strings: writers count them from 1.
type table struct {
	dense []string
	has   []bool
	rest  map[uint64]string
}

func (t *table) get(id uint64) (string, bool) {
	if id < uint64(len(t.dense)) {
		return t.dense[id], t.has[id]
	}
	s, ok := t.rest[id]
	return s, ok
}

// set adds an entry: to the slice as long as that stays well filled.
func (t *table) set(id uint64, s string) {
	if n := uint64(len(t.dense)); id < n+n/2+16 {
		for uint64(len(t.dense)) <= id {
			t.dense, t.has = append(t.dense, ""), append(t.has, false)
		}
		t.dense[id], t.has[id] = s, true
		return
	}
	if t.rest == nil {
		t.rest = map[uint64]string{}
	}
	t.rest[id] = s
}

func (t *table) clear() {
	clear(t.dense)
	clear(t.has)
	t.rest = nil
}

// maxState bounds what all sequences together hold, in bytes; an entry costs
// perEntry beside its text.
const (
	maxState = 96 << 20
	perEntry = 96
)

// hold reports whether there is room for an entry of n bytes, and takes it.
func (r *reader) hold(s *sequence, n int) bool {
	n += perEntry
	if r.state+n > maxState {
		r.note(&AnomalyTooMuchState, 1)
		return false
	}
	r.state += n
	s.size += n
	return true
}

// sequence returns the state of a packet's sequence.
func (r *reader) sequence(id uint32, flags uint64) *sequence {
	s := r.seqs[id]
	if s == nil {
		s = &sequence{id: id, pid: -1, tid: -1}
		if len(r.seqs) >= maxSequences {
			r.note(&AnomalyTooMuchState, 1)
		} else {
			r.seqs[id] = s
		}
	}
	s.packets++
	if flags&flagCleared != 0 {
		r.state -= s.size
		s.reset()
	}
	return s
}

func (s *sequence) reset() {
	for _, t := range []*table{&s.names, &s.categories, &s.annotations, &s.strings, &s.specs, &s.kernelArgs} {
		t.clear()
	}
	s.specKinds, s.contexts, s.kernels, s.counters = nil, nil, nil, nil
	s.track, s.hasTrack, s.clock, s.extra, s.extraFloat = 0, false, 0, nil, nil
	s.lastTrack = nil
	s.hasUS = false
	s.valid = true
	s.cleared++
	s.size = 0
}

// Fields of InternedData.
const (
	inCategories  = 1
	inNames       = 2
	inAnnotations = 3
	inContexts    = 23
	inSpecs       = 24
	inStrings     = 29
	inCounters    = 47
	inKernels     = 1000
	inKernelArgs  = 1001
)

// intern adds what a packet interns.
func (r *reader) intern(s *sequence, m *message) {
	var f field
	for m.next(&f) {
		switch f.num {
		case inCategories:
			r.internString(s, &s.categories, f.b)
		case inNames:
			r.internString(s, &s.names, f.b)
		case inAnnotations:
			r.internString(s, &s.annotations, f.b)
		case inStrings:
			r.internString(s, &s.strings, f.b)
		case inKernelArgs:
			r.internString(s, &s.kernelArgs, f.b)
		case inContexts:
			r.internContext(s, f.b)
		case inSpecs:
			r.internSpec(s, f.b)
		case inCounters:
			r.internCounters(s, f.b)
		case inKernels:
			r.internKernel(s, f.b)
		default:
			r.noteAt(&AnomalyFieldNotKept, 1, "interned data %d", f.num)
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
}

// internString reads {iid=1, name=2}.
func (r *reader) internString(s *sequence, t *table, b []byte) {
	var id uint64
	var name []byte
	var f field
	m := message{b: b}
	for m.next(&f) {
		switch f.num {
		case 1:
			id = f.v
		case 2:
			name = f.b
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
		return
	}
	r.put(s, t, id, name)
}

func (r *reader) put(s *sequence, t *table, id uint64, name []byte) {
	if r.hold(s, len(name)) {
		t.set(id, r.str(name))
	}
}

// lookup returns an interned string; a missing one is counted.
func (r *reader) lookup(t *table, id uint64) string {
	s, ok := t.get(id)
	if !ok {
		r.note(&AnomalyInterned, 1)
	}
	return s
}

// setDefaults reads TracePacketDefaults, which take the place of those before.
func (s *sequence) setDefaults(m *message) {
	s.clock, s.track, s.hasTrack, s.extra, s.extraFloat = 0, 0, false, nil, nil
	var f, g field
	for m.next(&f) {
		switch f.num {
		case pkClockID:
			s.clock = f.v
		case 11:
			sub := message{b: f.b}
			for sub.next(&g) {
				switch g.num {
				case 11:
					s.track, s.hasTrack = g.v, true
				case 31:
					s.extra = appendIDs(s.extra, &g)
				case 45:
					s.extraFloat = appendIDs(s.extraFloat, &g)
				}
			}
		}
	}
}

const maxExtra = 64

func appendIDs(l []uint64, f *field) []uint64 {
	f.packed(func(v uint64) {
		if len(l) < maxExtra && !slices.Contains(l, v) {
			l = append(l, v)
		}
	})
	return l
}
