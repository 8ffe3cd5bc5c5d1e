package picture

import (
	"strconv"

	"github.com/gpurec/gpurec/correlate"
)

// A call or an activity that two sources told is drawn once: as the row that
// came first, which names the other in also_in. What leads to or from the other
// leads to or from the first.

// twin is what a row of api_calls or gpu_activities is of another.
type twin struct {
	first correlate.ID // the row that is drawn for this one
	other correlate.ID // the last row that this one is drawn for
}

// addTwin notes that a row is the second one of another.
func (m *model) addTwin(t tableCode, first, other correlate.ID) {
	m.twinned = true
	m.twins[t].put(other).first = first
	m.twins[t].put(first).other = other
}

// drawnAs is the row that is drawn for a row.
func (m *model) drawnAs(t tableCode, id correlate.ID) correlate.ID {
	if !m.twinned || t != tabAPI && t != tabActivity {
		return id
	}
	if w := m.twins[t].get(id); w.first != 0 {
		return w.first
	}
	return id
}

// alsoIn names the row that a row is drawn for too.
func (d *drawer) alsoIn(t tableCode, id correlate.ID) {
	if !d.m.twinned {
		return
	}
	if w := d.m.twins[t].get(id); w.other != 0 {
		table := "api_calls:"
		if t == tabActivity {
			table = "gpu_activities:"
		}
		d.buf = strconv.AppendInt(append(d.buf[:0], table...), int64(w.other), 10)
		d.pen.Str(argAlsoIn, string(d.buf))
	}
}

// linked reports whether a link between two rows is kept already: that of
// their twins.
func (m *model) linked(l *link, rule uint8) bool {
	if l.srcT != tabAPI || l.dstT != tabActivity {
		return false
	}
	for n := m.linkEnds[l.dstT].get(l.dst).to; n != 0; {
		o := m.links.look(n)
		if o.src == l.src && o.srcT == l.srcT && o.rule == rule {
			return true
		}
		n = o.next
	}
	return false
}
