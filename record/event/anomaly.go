package event

import "sort"

// Severity ranks anomalies.
type Severity uint8

// The severities. SeverityInfo is worth knowing; SeverityWarning may mislead a
// reader; SeverityLoss means that events are missing from a sound input;
// SeverityError means that part of the input could not be read (exit status 3).
const (
	SeverityInfo Severity = iota
	SeverityWarning
	SeverityLoss
	SeverityError
)

var severityNames = []string{"info", "warning", "data_loss", "error"}

func (s Severity) String() string { return enumName(severityNames, s) }

// AnomalySpec describes a kind of anomaly. Every dropped, unreadable or
// doubtful event is counted under one of them.
type AnomalySpec struct {
	Name     string // lower case, words joined by _
	Severity Severity
	Doc      string // what happened, one sentence
	Remedy   string // what the reader can do about it
}

// Anomaly is a counted anomaly.
type Anomaly struct {
	*AnomalySpec
	Count  uint64
	Sample string // where it was first seen: a line number, an offset, an event
}

// Counters counts anomalies. The zero value is ready to use. It is not safe
// for concurrent use.
type Counters struct {
	m map[*AnomalySpec]*Anomaly
}

// Add counts n more of spec.
func (c *Counters) Add(spec *AnomalySpec, n uint64) { c.AddAt(spec, n, "") }

// AddAt is Add with a note of where; the first note of each kind is kept.
func (c *Counters) AddAt(spec *AnomalySpec, n uint64, where string) {
	if n == 0 {
		return
	}
	a := c.m[spec]
	if a == nil {
		if c.m == nil {
			c.m = make(map[*AnomalySpec]*Anomaly)
		}
		a = &Anomaly{AnomalySpec: spec}
		c.m[spec] = a
	}
	a.Count += n
	if a.Sample == "" {
		a.Sample = where
	}
}

// Merge adds all that o counted.
func (c *Counters) Merge(o *Counters) {
	if o == nil {
		return
	}
	for _, a := range o.m {
		c.AddAt(a.AnomalySpec, a.Count, a.Sample)
	}
}

// Get returns the count of spec.
func (c *Counters) Get(spec *AnomalySpec) uint64 {
	if a := c.m[spec]; a != nil {
		return a.Count
	}
	return 0
}

// Worst returns the highest severity counted, and whether there is any.
func (c *Counters) Worst() (Severity, bool) {
	w := SeverityInfo
	for _, a := range c.m {
		w = max(w, a.Severity)
	}
	return w, len(c.m) > 0
}

// List returns the anomalies: the most severe first, then by name.
func (c *Counters) List() []Anomaly {
	l := make([]Anomaly, 0, len(c.m))
	for _, a := range c.m {
		l = append(l, *a)
	}
	sort.Slice(l, func(i, j int) bool {
		if l[i].Severity != l[j].Severity {
			return l[i].Severity > l[j].Severity
		}
		return l[i].Name < l[j].Name
	})
	return l
}
