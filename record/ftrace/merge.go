package ftrace

import (
	"errors"
	"io"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// Lane is the ring buffer of one CPU in one tracing instance: an ordered run
// of pages.
type Lane struct {
	CPU  int32
	Name string // of the stream in losses: [Stream], or with ":instance" behind it
	// Next returns the next page, header included; it stays valid until the
	// call after. io.EOF ends the lane; another error ends it too, and is told
	// by [Merger.Failures].
	Next func() ([]byte, error)
	// Time turns a page's time into that of the recording's clock; nil if it is that already.
	Time func(t uint64) event.Time
}

// Merger gives the events of several lanes in the order of their times; equal
// times come in the order of the lanes, as in the kernel's own text. It holds
// one page a lane. It is an [event.Source].
type Merger struct {
	d     *Decoder
	lanes []lane
	heap  []*lane // by time of the record in front
	begun bool
	fails []error
	start event.Time
	end   event.Time
}

// lane is a Lane with its next record in front.
type lane struct {
	Lane
	order  int
	walk   walker
	whole  bool // the page in work is not cut
	page   int64
	time   event.Time
	last   event.Time // of the record before
	loss   bool       // in front are events lost, not a record
	lost   uint64     // how many, 0 if unknown
	damage bool       // the page in work is counted as damaged
	gone   uint64     // events that pages say are missing
	gaps   bool       // some of those that are missing are not counted
}

// NewMerger returns a merger of lanes that decodes with d.
func NewMerger(d *Decoder, lanes []Lane) *Merger {
	m := &Merger{d: d, lanes: make([]lane, len(lanes)), start: event.NoTime, end: event.NoTime}
	for i := range lanes {
		m.lanes[i] = lane{Lane: lanes[i], order: i, last: event.NoTime}
	}
	return m
}

// Failures returns why lanes ended early.
func (m *Merger) Failures() []error { return m.fails }

// Span returns the least and the greatest time so far, NoTime before the first event.
func (m *Merger) Span() (start, end event.Time) { return m.start, m.end }

// CheckStats compares what the pages of lane i say of lost events with the
// counters of its ring buffer (the text of its stats file): events of which no
// page says that they are missing are counted as an anomaly, unless a page
// leaves its number open. It makes sense once Next returned io.EOF.
func (m *Merger) CheckStats(i int, stats []byte) {
	if i < 0 || i >= len(m.lanes) || m.lanes[i].gaps {
		return
	}
	if n := StatsLost(stats); n > m.lanes[i].gone {
		m.d.count.AddAt(&AnomalyLostByStats, n-m.lanes[i].gone, m.lanes[i].Name+" CPU "+strconv.Itoa(int(m.lanes[i].CPU)))
	}
}

// Next fills b; see [event.Source].
func (m *Merger) Next(b *event.Batch) error {
	b.Reset()
	if !m.begun {
		m.begin()
	}
	for len(m.heap) > 0 && len(b.Events) < event.DefaultBatch {
		l := m.heap[0]
		limit, tie := m.second()
		for len(b.Events) < event.DefaultBatch {
			m.give(l, b)
			if !m.advance(l) {
				m.pop()
				break
			}
			if l.time > limit || l.time == limit && l.order > tie {
				m.down(0)
				break
			}
		}
	}
	if len(b.Events) == 0 {
		return io.EOF
	}
	return nil
}

func (m *Merger) begin() {
	m.begun = true
	m.d.where = m.where
	for i := range m.lanes {
		if l := &m.lanes[i]; m.advance(l) {
			m.heap = append(m.heap, l)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

// where names the page in work, for the samples of anomalies.
func (m *Merger) where() string {
	if len(m.heap) == 0 {
		return ""
	}
	return m.heap[0].place()
}

func (l *lane) place() string {
	return l.Name + " CPU " + strconv.Itoa(int(l.CPU)) + " page " + strconv.FormatInt(l.page, 10)
}

// give appends what is in front of l.
func (m *Merger) give(l *lane, b *event.Batch) {
	if !m.start.Known() || l.time < m.start {
		m.start = l.time
	}
	m.end = max(m.end, l.time)
	if l.loss {
		l.gone += l.lost
		l.gaps = l.gaps || l.lost == 0
		m.d.loss(b, l.CPU, l.time, l.last, l.Name, l.lost)
		return
	}
	if l.last.Known() && l.time < l.last {
		m.d.note(&AnomalyTimeBack)
	}
	l.last = l.time
	m.d.Record(l.CPU, l.time, l.walk.rec, b)
}

// advance puts the next record in front; it reports whether there is one.
func (m *Merger) advance(l *lane) bool {
	if l.loss { // its page's records follow
		l.loss = false
	}
	for !l.walk.next() {
		if (l.walk.bad || !l.whole) && l.page > 0 && !l.damage {
			l.damage = true
			m.damaged(l)
		}
		if !m.turn(l) {
			return false
		}
		if l.loss {
			l.time = l.at(l.walk.t)
			return true
		}
	}
	l.time = l.at(l.walk.t)
	return true
}

func (l *lane) at(t uint64) event.Time {
	if l.Time != nil {
		return l.Time(t)
	}
	return event.Time(t)
}

func (m *Merger) damaged(l *lane) {
	m.d.count.AddAt(&AnomalyBadPage, 1, l.place())
}

// turn goes to the next page.
func (m *Merger) turn(l *lane) bool {
	page, err := l.Next()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			m.fails = append(m.fails, err)
		}
		return false
	}
	l.page++
	m.d.page++
	l.damage, l.whole = false, true
	lay := &m.d.layout
	if len(page) < lay.DataOffset {
		l.damage = true
		m.damaged(l)
		l.walk = walker{l: lay}
		return true
	}
	t := lay.Order.Uint64(page[lay.TimeOffset:])
	commit := m.d.long(page[lay.CommitOffset:])
	size := int(commit & commitMask)
	data := page[lay.DataOffset:]
	l.lost, l.loss = m.d.missedCount(commit, data, size)
	l.whole = size <= len(data)
	l.walk.reset(lay, m.d.big, t, data[:min(size, len(data))])
	return true
}

// second returns the time and order of the lane that comes after the first.
func (m *Merger) second() (event.Time, int) {
	switch h := m.heap; len(h) {
	case 1:
		return 1<<63 - 1, 1 << 62
	case 2:
		return h[1].time, h[1].order
	default:
		if less(h[1], h[2]) {
			return h[1].time, h[1].order
		}
		return h[2].time, h[2].order
	}
}

func less(a, b *lane) bool {
	return a.time < b.time || a.time == b.time && a.order < b.order
}

// pop takes the first lane off the heap.
func (m *Merger) pop() {
	n := len(m.heap) - 1
	m.heap[0] = m.heap[n]
	m.heap = m.heap[:n]
	m.down(0)
}

// down moves the lane at i to its place.
func (m *Merger) down(i int) {
	h := m.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && less(h[c+1], h[c]) {
			c++
		}
		if !less(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
