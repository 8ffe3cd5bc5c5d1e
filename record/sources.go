package record

import (
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

// standardSources builds the sources that the options ask for.
func (s *session) standardSources(t Target) ([]live.Source, error) {
	return nil, nil
}

// asked reports whether a source that cannot be had was asked for by name.
func (s *session) asked(source string) bool {
	switch source {
	case "bpf":
		return len(s.o.Probes) > 0
	case "ftrace":
		return len(s.o.Events) > 0
	}
	return false
}

// keepProbes keeps what a source that failed tells of its probes.
func (s *session) keepProbes(src live.Source) { s.failed = append(s.failed, src.Probes()...) }

// probes returns the plan, and at the end the account, of all sources.
func (s *session) probes() []event.Probe {
	out := append([]event.Probe(nil), s.failed...)
	for _, st := range s.streams {
		out = append(out, st.src.Probes()...)
	}
	return out
}
