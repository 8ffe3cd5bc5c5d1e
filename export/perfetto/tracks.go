package perfetto

// Fields of TrackDescriptor.
const (
	tdUUID        = 1
	tdName        = 2
	tdProcess     = 3
	tdThread      = 4
	tdParent      = 5
	tdCounter     = 8
	tdOrdering    = 11
	tdRank        = 12
	tdDescription = 14
)

// track is a row of the picture. It is described, and gets its uuid, when its
// first event is written.
type track struct {
	uuid        uint64
	parent      *track
	name        string
	description string
	unit        string // of a counter: as the UI appends it, with a leading blank
	counter     bool
	ordered     bool // its children go by rank
	rank        int32
	process     *proc
	thread      *thread
	open        []int64 // ends of the open slices, outermost first
}

func (t *track) child(name string, rank int32) *track {
	return &track{parent: t, name: name, rank: rank}
}

func (t *track) childCounter(name, unit string, rank int32) *track {
	c := t.child(name, rank)
	c.counter, c.unit = true, unit
	return c
}

// trackWriter gives uuids and writes descriptors, on a sequence of their own.
type trackWriter struct {
	out   *packets
	m     *model
	start int64
	last  uint64
	begun bool
}

// root sends the descriptor that makes processes and threads go by rank.
func (w *trackWriter) root() {
	b := appendUint(nil, tdUUID, 0)
	b = appendUint(b, 19, 1)
	b = appendUint(b, 20, 1)
	w.send(b)
}

func (w *trackWriter) send(desc []byte) {
	flags := byte(flagNeeds)
	if !w.begun {
		flags, w.begun = flagCleared, true
	}
	w.out.head(seqTracks, flags, w.start)
	w.out.buf = appendBytes(w.out.buf, fieldDescriptor, desc)
	w.out.send()
}

// id returns the uuid of a track, and describes it and its parents before.
func (w *trackWriter) id(t *track) uint64 {
	if t.uuid == 0 {
		w.describe(t)
	}
	return t.uuid
}

func (w *trackWriter) describe(t *track) {
	if t.parent != nil {
		w.id(t.parent)
	}
	w.last++
	t.uuid = w.last
	b := appendUint(nil, tdUUID, t.uuid)
	switch {
	case t.process != nil:
		b = appendBytes(b, tdProcess, t.process.descriptor(w))
	case t.thread != nil:
		b = appendBytes(b, tdThread, t.thread.descriptor(w.m))
	default:
		b = appendString(b, tdName, valid(t.name))
	}
	if t.parent != nil {
		b = appendUint(b, tdParent, t.parent.uuid)
	}
	if t.counter {
		var c []byte
		if t.unit != "" {
			c = appendString(c, 6, valid(t.unit))
		}
		b = appendBytes(b, tdCounter, c)
	}
	if t.ordered {
		b = appendUint(b, tdOrdering, 3)
	}
	if t.rank != 0 {
		b = appendInt(b, tdRank, int64(t.rank))
	}
	if t.description != "" {
		b = appendString(b, tdDescription, valid(t.description))
	}
	w.send(b)
}

// lanes are several tracks of one name, which the UI shows as one stacked row:
// each holds slices that do not overlap.
type lanes struct {
	parent *track
	name   string
	rank   int32
	limit  int // 0: none
	tracks []*track
	ends   []int64
}

// take returns the first lane that is free from start on and books it to end.
// It returns -1 if there is none and the limit is reached.
func (l *lanes) take(start, end int64) int {
	for i, e := range l.ends {
		if e <= start {
			l.ends[i] = end
			return i
		}
	}
	if l.limit > 0 && len(l.ends) >= l.limit {
		return -1
	}
	l.ends = append(l.ends, end)
	return len(l.ends) - 1
}

// track returns the track of a lane.
func (l *lanes) track(i int) *track {
	for len(l.tracks) <= i {
		l.tracks = append(l.tracks, l.parent.child(l.name, l.rank))
	}
	return l.tracks[i]
}

func (p *proc) descriptor(w *trackWriter) []byte {
	b := appendUint(nil, 1, w.m.pid(p.pid))
	if name := p.label(); name != "" {
		b = appendString(b, 6, valid(name))
	}
	if p.cmdline != "" {
		b = appendString(b, 2, valid(p.cmdline))
	}
	if p.start.OK && int64(p.start.V) > 0 {
		b = appendUint(b, 7, w.out.ts(int64(p.start.V)))
	}
	return b
}

func (t *thread) descriptor(m *model) []byte {
	b := appendUint(nil, 1, m.pid(t.proc.pid))
	b = appendUint(b, 2, m.pid(t.tid))
	if t.name != "" {
		b = appendString(b, 5, valid(t.name))
	}
	return b
}
