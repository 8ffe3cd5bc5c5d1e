package picture

import (
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// tableCode is a table of links.
type tableCode uint8

const (
	tabOther tableCode = iota
	tabAPI
	tabIoctl
	tabJob
	tabWait
	tabActivity
	tabFence
	tabReset
	numTabs
)

func codeOf(table string) tableCode {
	switch table {
	case "api_calls":
		return tabAPI
	case "ioctls":
		return tabIoctl
	case "jobs":
		return tabJob
	case "fence_waits":
		return tabWait
	case "gpu_activities":
		return tabActivity
	case "fences":
		return tabFence
	case "resets":
		return tabReset
	}
	return tabOther
}

// link is a row of links.
type link struct {
	src, dst   correlate.ID
	next       uint32 // number of the link to dst before
	nextFrom   uint32 // number of the link from src before
	srcT, dstT tableCode
	rule, conf uint8  // in words
	from, to   slot   // the ends of its arrow
	flow       uint32 // number of its arrow; 0: it has none
}

// ends are the last links of a row.
type ends struct {
	to, from uint32 // their numbers
}

// addLink keeps a link if a flow or an argument comes of it. Links that a
// slice shows about its own row's effect (a job's fence, the job that a reset
// ran again) are kept turned round, so that all stand at the slice's row.
func (m *model) addLink(r *correlate.Link) {
	l := link{src: r.SrcID, dst: r.DstID, srcT: codeOf(r.SrcTable), dstT: codeOf(r.DstTable)}
	if r.Rule == correlate.RuleSameCall || r.Rule == correlate.RuleSameActivity {
		m.addTwin(l.dstT, l.src, l.dst)
		return
	}
	l.src, l.dst = m.drawnAs(l.srcT, l.src), m.drawnAs(l.dstT, l.dst)
	if m.twinned && m.linked(&l, m.word(r.Rule)) {
		return
	}
	switch {
	case r.Rule == ruleJobFence, l.srcT == tabReset:
		l.src, l.dst, l.srcT, l.dstT = l.dst, l.src, l.dstT, l.srcT
	case l.srcT == tabJob && l.dstT == tabJob && r.Rule != ruleJobRun && r.Rule != ruleJobDone,
		l.srcT == tabOther, l.dstT == tabOther, l.dstT == tabFence, l.srcT == tabIoctl && l.dstT == tabWait:
		return
	}
	l.rule, l.conf = m.word(r.Rule), m.word(r.Confidence)
	n := m.links.n + 1
	h := m.linkEnds[l.dstT].put(l.dst)
	l.next, h.to = h.to, n
	if m.mayFlow(&l) {
		h = m.linkEnds[l.srcT].put(l.src)
		l.nextFrom, h.from = h.from, n
	}
	m.links.add(l)
}

// linkEnd is what a slice shows of a link of its row.
type linkEnd struct {
	id         correlate.ID // of the row at the other end
	flow       uint32       // number of its arrow; 0: it has none
	table      tableCode    // of the row at the other end
	slot       slot         // of the slice that the arrow touches, of this row
	rule, conf uint8        // in words
}

// rowLinks are the links of a row, in order.
type rowLinks struct {
	to, from []linkEnd
	read     bool
}

// linksOf returns the links of a row. They are valid until the next call.
func (m *model) linksOf(t tableCode, id correlate.ID) *rowLinks {
	m.readLinks(&m.rowLinks, t, id)
	return &m.rowLinks
}

// readLinks reads the links of a row into r. They come last first.
func (m *model) readLinks(r *rowLinks, t tableCode, id correlate.ID) {
	r.to, r.from, r.read = r.to[:0], r.from[:0], true
	h := m.linkEnds[t].get(id)
	for n := h.to; n != 0; {
		l := m.links.look(n)
		r.to = append(r.to, linkEnd{l.src, l.flow, l.srcT, l.to, l.rule, l.conf})
		n = l.next
	}
	for n := h.from; n != 0; {
		l := m.links.look(n)
		if l.flow != 0 {
			r.from = append(r.from, linkEnd{l.dst, l.flow, l.dstT, l.from, l.rule, l.conf})
		}
		n = l.nextFrom
	}
	reverse(r.to)
	reverse(r.from)
}

func reverse[T any](s []T) {
	if len(s) > 1 {
		slices.Reverse(s)
	}
}
