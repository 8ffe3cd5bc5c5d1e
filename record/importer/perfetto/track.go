package perfetto

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/own"
)

// track is where events stand: a thread, a process, or a row of its own.
type track struct {
	uuid    uint64
	parent  uint64
	kind    trackKind
	pid     int32 // as its descriptor or its parent's says; NoID if none
	tid     int32
	name    string // its own
	label   string // for events: unique among the tracks of its process; "" for a thread
	source  string // as the source of an export of gpurec's called it
	beside  bool   // a lane of an export for what does not nest on its thread
	counter bool
	unit    string
	scale   int64 // of a counter's values
	delta   bool
	sum     float64   // of a counter of deltas
	sumSeq  *sequence // that wrote sum last
	sumGen  int       // sumSeq.cleared then
	derived bool      // drawn by gpurec's export, follows from other events
	device  string
	ours    bool // drawn by gpurec's export: below its own or a GPU's track
	open    []openSlice
	settled bool // pid, tid and label are final
}

type trackKind uint8

const (
	trackPlain trackKind = iota
	trackProcess
	trackThread
)

const maxTracks = 1 << 17

// Fields of TrackDescriptor.
const (
	tdUUID        = 1
	tdName        = 2
	tdProcess     = 3
	tdThread      = 4
	tdParent      = 5
	tdCounter     = 8
	tdStaticName  = 10
	tdDescription = 14
	tdAtrace      = 13
)

// trackNames gives tracks of one name on one process different labels.
type trackNames struct {
	used map[string]int
}

// trackDescriptor reads a TrackDescriptor. It may come again, to say more.
func (r *reader) trackDescriptor(h *head, m *message) {
	var f field
	var uuid uint64
	for sub := *m; sub.next(&f); {
		if f.num == tdUUID {
			uuid = f.v
		}
	}
	t := r.tracks[uuid]
	if t == nil {
		t = &track{uuid: uuid, pid: event.NoID, tid: event.NoID, scale: 1}
		if len(r.tracks) >= maxTracks {
			r.note(&AnomalyTooMuchState, 1)
		} else {
			r.tracks[uuid] = t
		}
	}
	t.settled = false
	r.trackGen++
	description := ""
	for m.next(&f) {
		switch f.num {
		case tdName, tdStaticName, tdAtrace:
			t.name = r.str(f.b)
		case tdParent:
			t.parent = f.v
		case tdProcess:
			t.kind = trackProcess
			r.process(h, t, f.b)
		case tdThread:
			t.kind = trackThread
			r.thread(h, t, f.b)
		case tdCounter:
			r.counterTrack(t, f.b)
		case tdDescription:
			description = string(f.b)
		}
	}
	r.ownTrack(t, description)
}

// process reads a ProcessDescriptor.
func (r *reader) process(h *head, t *track, b []byte) {
	name, start := "", event.NoTime
	var f field
	var cmd []string
	m := message{b: b}
	for m.next(&f) {
		switch f.num {
		case 1:
			t.pid = int32(f.v)
		case 2:
			if len(cmd) < 1024 {
				cmd = append(cmd, r.str(f.b))
			}
		case 6:
			name = r.str(f.b)
		case 7:
			start = event.Time(f.v)
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	t.tid = event.NoID
	r.addProcess(h.time, t.pid, event.NoID, name, cmd, start)
}

func (r *reader) addProcess(at event.Time, pid, ppid int32, name string, cmd []string, start event.Time) {
	real, inferred := own.ProcessName(name)
	if pid <= 0 || name == "" && len(cmd) == 0 && ppid <= 0 {
		return
	}
	e := r.add(event.KindProcess, at)
	e.PID = pid
	e.Source = "perfetto:process"
	if inferred {
		e.Flags |= event.FlagPIDInferred
		name = real
		if len(r.inferred) < maxTracks {
			r.inferred[pid] = true
		}
	}
	if name == "" && len(cmd) > 0 {
		name = cmd[0][strings.LastIndexByte(cmd[0], '/')+1:]
	}
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldCmdline, strings.Join(cmd, " "))
	if ppid > 0 {
		e.SetInt(event.FieldPPID, int64(ppid))
	}
	if start > 0 {
		e.SetTime(event.FieldStart, start)
	}
	const kthreadd = 2
	if inferred || ppid == kthreadd { // one thread, of the process's number
		r.addThread(at, pid, pid, "")
	}
}

// thread reads a ThreadDescriptor.
func (r *reader) thread(h *head, t *track, b []byte) {
	name := ""
	var f field
	m := message{b: b}
	for m.next(&f) {
		switch f.num {
		case 1:
			t.pid = int32(f.v)
		case 2:
			t.tid = int32(f.v)
		case 5:
			name = r.str(f.b)
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	r.addThread(h.time, t.pid, t.tid, name)
}

// addThread keeps also threads without a name: they tell whose they are.
func (r *reader) addThread(at event.Time, pid, tid int32, name string) {
	if tid <= 0 || name == "" && pid <= 0 {
		return
	}
	e := r.add(event.KindThread, at)
	e.PID, e.TID = pid, tid
	if pid <= 0 {
		e.PID = event.NoID
	}
	if r.inferred[pid] {
		e.Flags |= event.FlagPIDInferred
	}
	e.Source = "perfetto:thread"
	e.SetStr(event.FieldName, name)
}

// counterTrack reads a CounterDescriptor.
func (r *reader) counterTrack(t *track, b []byte) {
	t.counter, t.scale = true, 1
	var f field
	m := message{b: b}
	for m.next(&f) {
		switch f.num {
		case 1:
			switch f.v {
			case 1:
				t.name, t.unit = "thread_time", "ns"
			case 2:
				t.name = "thread_instruction_count"
			}
		case 3:
			switch f.v {
			case 1:
				t.unit = "ns"
			case 2:
				t.unit = "count"
			case 3:
				t.unit = "bytes"
			}
		case 4:
			t.scale = int64(f.v)
		case 5:
			t.delta = f.v != 0
		case 6:
			t.unit = strings.TrimSpace(r.str(f.b))
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	if t.scale == 0 {
		t.scale = 1
	}
}

// track returns the track of an event, settled.
func (r *reader) track(s *sequence, uuid uint64) *track {
	if s.lastTrack != nil && s.lastUUID == uuid && s.lastGen == r.trackGen {
		return s.lastTrack
	}
	t := r.tracks[uuid]
	if t == nil {
		r.noteAt(&AnomalyNoTrack, 1, "track %d", uuid)
		t = &track{uuid: uuid, pid: event.NoID, tid: event.NoID, scale: 1, name: "track " + strconv.FormatUint(uuid, 10)}
		if len(r.tracks) < maxTracks {
			r.tracks[uuid] = t
		}
	}
	r.settle(t)
	s.lastTrack, s.lastUUID, s.lastGen = t, uuid, r.trackGen
	return t
}

const maxTrackDepth = 100

// settle finds the thread or process above a track, and its label.
func (r *reader) settle(t *track) {
	if t.settled {
		return
	}
	t.settled = true
	if t.kind != trackPlain {
		t.label = ""
		return
	}
	for p, n := r.tracks[t.parent], 0; p != nil && n < maxTrackDepth && p != t; n++ {
		if p.device != "" && t.device == "" {
			t.device = p.device
		}
		t.ours = t.ours || p.ours
		if p.kind != trackPlain {
			t.pid, t.tid = p.pid, p.tid
			break
		}
		if p.parent == p.uuid || p.parent == 0 {
			break
		}
		p = r.tracks[p.parent]
	}
	if t.label == "" {
		t.label = r.names.unique(t)
	}
	t.beside = t.name == "overlapping" && t.tid != event.NoID
	if !t.beside && !t.ours {
		t.source = own.TrimLane(t.label)
	}
}

// unique is the track's name, with a number if another track of its process has it.
func (n *trackNames) unique(t *track) string {
	name := t.name
	if name == "" {
		name = "track " + strconv.FormatUint(t.uuid, 10)
	}
	if n.used == nil {
		n.used = map[string]int{}
	}
	k := strconv.Itoa(int(t.pid)) + "/" + strconv.Itoa(int(t.tid)) + "/" + name
	n.used[k]++
	if c := n.used[k]; c > 1 {
		return name + " (" + strconv.Itoa(c) + ")"
	}
	return name
}

// processTree reads a ProcessTree.
func (r *reader) processTree(h *head, m *message) {
	var f, g field
	for m.next(&f) {
		sub := message{b: f.b}
		switch f.num {
		case 1:
			pid, ppid := event.NoID, event.NoID
			var cmd []string
			for sub.next(&g) {
				switch g.num {
				case 1:
					pid = int32(g.v)
				case 2:
					ppid = int32(g.v)
				case 3:
					if len(cmd) < 1024 {
						cmd = append(cmd, r.str(g.b))
					}
				}
			}
			r.addProcess(h.time, pid, ppid, "", cmd, event.NoTime)
		case 2:
			pid, tid, name := event.NoID, event.NoID, ""
			for sub.next(&g) {
				switch g.num {
				case 1:
					tid = int32(g.v)
				case 2:
					name = r.str(g.b)
				case 3:
					pid = int32(g.v)
				}
			}
			r.addThread(h.time, pid, tid, name)
		}
		if sub.bad {
			r.note(&AnomalyBadPacket, 1)
		}
	}
}

// oldProcess and oldThread name the process and thread of a whole sequence,
// as Chrome did before there were tracks.
func (r *reader) oldProcess(h *head, m *message) {
	t := track{pid: event.NoID}
	r.process(h, &t, m.b)
	h.seq.pid = t.pid
}

func (r *reader) oldThread(h *head, m *message) {
	t := track{pid: event.NoID, tid: event.NoID}
	var f field
	for sub := *m; sub.next(&f); {
		if f.num == 6 {
			h.seq.us, h.seq.hasUS = int64(f.v), true
		}
	}
	r.thread(h, &t, m.b)
	h.seq.pid, h.seq.tid = t.pid, t.tid
}
