package perfetto

import "github.com/gpurec/gpurec/export/picture"

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

// trackWriter gives uuids and writes descriptors, on a sequence of their own.
type trackWriter struct {
	out   *packets
	ids   kernelIDs
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
func (w *trackWriter) id(t *picture.Track) uint64 {
	if t.ID == 0 {
		w.describe(t)
	}
	return t.ID
}

func (w *trackWriter) describe(t *picture.Track) {
	if t.Parent != nil {
		w.id(t.Parent)
	}
	w.last++
	t.ID = w.last
	b := appendUint(nil, tdUUID, t.ID)
	switch {
	case t.Process != nil:
		b = appendBytes(b, tdProcess, w.process(t.Process))
	case t.Thread != nil:
		b = appendBytes(b, tdThread, w.thread(t.Thread))
	default:
		b = appendString(b, tdName, valid(t.Name))
	}
	if t.Parent != nil {
		b = appendUint(b, tdParent, t.Parent.ID)
	}
	if t.Counter {
		var c []byte
		if t.Unit != "" {
			c = appendString(c, 6, valid(t.Unit))
		}
		b = appendBytes(b, tdCounter, c)
	}
	if t.Ordered {
		b = appendUint(b, tdOrdering, 3)
	}
	if t.Rank != 0 {
		b = appendInt(b, tdRank, int64(t.Rank))
	}
	if t.Description != "" {
		b = appendString(b, tdDescription, valid(t.Description))
	}
	w.send(b)
}

func (w *trackWriter) process(p *picture.Process) []byte {
	b := appendUint(nil, 1, w.ids.id(p.Shown))
	if name := p.Label(); name != "" {
		b = appendString(b, 6, valid(name))
	}
	if p.Cmdline != "" {
		b = appendString(b, 2, valid(p.Cmdline))
	}
	if p.Started.OK && int64(p.Started.V) > 0 {
		b = appendUint(b, 7, w.out.ts(int64(p.Started.V)))
	}
	return b
}

func (w *trackWriter) thread(t *picture.Thread) []byte {
	b := appendUint(nil, 1, w.ids.id(t.Process.Shown))
	b = appendUint(b, 2, w.ids.id(t.TID))
	if t.Name != "" {
		b = appendString(b, 5, valid(t.Name))
	}
	return b
}
