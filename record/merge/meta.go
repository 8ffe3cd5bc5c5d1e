package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Alignment says how an input came to the clock of the result.
type Alignment struct {
	Input    string
	From, To event.Clock
	Rule     string
	OffsetNS int64   // what was added to the input's first time
	DriftPPM float64 // by how much that grows, as calls show it
	Matched  int     // calls that agree
	Possible int     // calls that could have
	Residual int64   // median distance of a matched call, ns
	Aligned  bool
	Begin    event.Time // least and greatest time, on the result's clock if aligned; NoTime if no event has one
	End      event.Time
	Domain   uint64
	Pids     string // of a container: "27 is 51234"; "" if its pids are the machine's
	Host     string
	Rank     event.Opt[int64]
}

// Alignments returns how each input was aligned, in their order.
func (m *Merged) Alignments() []Alignment {
	var l []Alignment
	for _, s := range m.inputs {
		a := Alignment{Input: s.name, From: s.meta.Clock, To: m.target.clock, Rule: s.way.rule, Aligned: s.way.ok,
			Domain: s.domain, Host: s.host, Rank: s.rank, Pids: s.namespaceText()}
		a.Begin, a.End = s.least, s.most
		if s.way.ok && s.least.Known() {
			a.Begin, a.End = s.way.convert(s.least), s.way.convert(s.most)
			a.OffsetNS = int64(s.way.convert(s.least) - s.least)
		}
		if f := &s.way.fit; f.n > 0 {
			a.Matched, a.Possible, a.Residual, a.DriftPPM = f.n, f.possible, f.residual, f.drift*1e6
		}
		l = append(l, a)
	}
	return l
}

// String is the line that stands in the metadata and that people read.
func (a *Alignment) String() string {
	pids := ""
	if a.Pids != "" {
		pids = "; pids of a container: " + a.Pids
	}
	if !a.Aligned {
		return fmt.Sprintf("clock=%s, unaligned", a.From) + pids
	}
	s := fmt.Sprintf("%s to %s by %s: %+d ns", a.From, a.To, a.Rule, a.OffsetNS)
	if a.Matched > 0 {
		s += fmt.Sprintf(", drift %+.3f ppm, residual %d ns, %d of %d calls agree", a.DriftPPM, a.Residual, a.Matched, a.Possible)
	}
	return s + pids
}

// describe makes the metadata of the result.
func (m *Merged) describe() {
	r := &m.meta
	r.Format, r.Clock = "merged", m.target.clock
	r.Host = m.anchor().meta.Host
	for i, a := range m.Alignments() {
		s := m.inputs[i]
		if len(r.Command) == 0 {
			r.Command, r.ExitStatus = s.meta.Command, s.meta.ExitStatus
		}
		r.Probes = append(r.Probes, s.meta.Probes...)
		r.Cost.CPUTimeNS += s.meta.Cost.CPUTimeNS
		r.Cost.BytesWritten += s.meta.Cost.BytesWritten
		r.Cost.Events += s.meta.Cost.Events
		r.Inputs = append(r.Inputs, s.inputs()...)
		for _, x := range s.meta.Anomalies {
			x.Sample = strings.TrimSuffix(s.name+": "+x.Sample, ": ")
			r.Anomalies = append(r.Anomalies, x)
		}
		m.extent(s)
		m.facts(i, &a)
	}
	m.reference()
}

// inputs names the files that an input was made of.
func (s *scanned) inputs() []string {
	if len(s.meta.Inputs) > 0 {
		return s.meta.Inputs
	}
	return []string{s.name}
}

// extent takes the input's part into start and end.
func (m *Merged) extent(s *scanned) {
	if !s.way.ok {
		return
	}
	r := &m.meta
	from, to := s.meta.Start, s.meta.End
	if !from.OK {
		from = event.OptTime(s.least)
	}
	if !to.OK {
		to = event.OptTime(s.most)
	}
	if t := s.way.convert(from.V); from.OK && (!r.Start.OK || t < r.Start.V) {
		r.Start = event.Some(t)
	}
	if t := s.way.convert(to.V); to.OK && (!r.End.OK || t > r.End.V) {
		r.End = event.Some(t)
	}
}

// facts keeps what an input says of itself under its number, and how it was
// aligned.
func (m *Merged) facts(i int, a *Alignment) {
	s := m.inputs[i]
	prefix := "input." + strconv.Itoa(i+1)
	add := func(k, v string) {
		if v != "" {
			m.meta.Facts = append(m.meta.Facts, event.Fact{Key: prefix + k, Value: v})
		}
	}
	add("", s.name)
	add(".format", s.meta.Format)
	add(".clock", string(s.meta.Clock))
	add(".align", a.String())
	if s.domain != 0 {
		add(".domain", strconv.FormatUint(s.domain, 10))
	}
	add(".host", s.host)
	add(".devices", strings.Join(s.aliasText(), ", "))
	for _, f := range s.meta.Facts {
		add("."+f.Key, f.Value)
	}
}

// reference takes the snapshots that relate the result's clock to others.
func (m *Merged) reference() {
	l := m.snapshots(m.target.machine)
	slices.SortStableFunc(l, func(a, b event.ClockSnapshot) int {
		return cmp.Or(cmp.Compare(a.Boottime, b.Boottime), cmp.Compare(a.Monotonic, b.Monotonic), cmp.Compare(a.Realtime, b.Realtime))
	})
	m.meta.Snapshots = slices.Compact(l)
}
