package check

import "strings"

// layout checks what docs/perfetto.md says of the tracks and Perfetto does not
// mind: their numbers, ranks and units, and that groups hold tracks alone.
func (c *checker) layout() {
	ranks := map[rankKey]*Track{}
	for i, t := range c.rep.Tracks {
		if t.UUID != uint64(i+1) {
			c.problem("layout", "%s has number %d, not %d: numbers are dense", t.Path(), t.UUID, i+1)
		}
		if t.IsCounter && t.Unit != "" && !strings.HasPrefix(t.Unit, " ") {
			c.problem("layout", "%s: the unit %q would stick to the number", t.Path(), t.Unit)
		}
		if isGroup(t) && len(t.Slices)+len(t.Instants)+len(t.Samples) > 0 {
			c.problem("layout", "%s is a group, and holds events", t.Path())
		}
		if t.IsCounter && t.Name == "utilisation" && t.Parent != nil && t.Parent.Parent == nil {
			for _, s := range t.Samples {
				if s.Value < 0 || s.Value > 100.000001 {
					c.problem("layout", "%s is %g %% at %d", t.Path(), s.Value, s.Time)
				}
			}
		}
		c.rank(t, ranks)
	}
}

// isGroup reports whether a track is there for those below it.
func isGroup(t *Track) bool {
	if t.IsProcess || t.IsThread {
		return t.IsProcess
	}
	return t.Parent == nil && (t.Name == "gpurec" || strings.HasPrefix(t.Name, "GPU ")) && t.Ordering == 3 ||
		t.Parent != nil && t.Parent.IsProcess && strings.HasPrefix(t.Name, "GPU ") && strings.HasSuffix(t.Name, " streams")
}

type rankKey struct {
	parent *Track
	rank   int32
}

// rank checks that the order below a track is decided: by ranks that differ,
// but for lanes of one name, and tracks of the source, which go by name.
func (c *checker) rank(t *Track, seen map[rankKey]*Track) {
	p := t.Parent
	switch {
	case t.IsProcess:
		if t.Rank >= 0 {
			c.problem("layout", "%s has rank %d: other processes have 0", t.Path(), t.Rank)
		}
		if t.Rank == -1 {
			return // all beyond the first thousand
		}
	case t.IsThread:
		if t.Rank < 1 {
			c.problem("layout", "%s has rank %d", t.Path(), t.Rank)
		}
	case p == nil || p.Ordering != 3:
		return
	case t.Rank == 0:
		if !strings.HasPrefix(t.Name, "stream ") { // of stream 0
			c.problem("layout", "%s has no rank, and those beside it have", t.Path())
		}
	}
	k := rankKey{p, t.Rank}
	if o := seen[k]; o == nil {
		seen[k] = t
	} else if o.Name != t.Name || t.IsThread || t.IsProcess {
		if t.Rank != 40 && t.Rank != 50 && t.Rank != 1<<30-1 {
			c.problem("layout", "%s and %s have one rank, %d", o.Path(), t.Path(), t.Rank)
		}
	}
}
