package picture

// Track is a row of the picture, or a group of rows.
type Track struct {
	ID          uint64 // for the pen: 0 at first
	Parent      *Track // nil at the top
	Name        string // unique below its parent, but for lanes: they share name and rank
	Description string
	Unit        string // of a counter: as the UI appends it, with a leading blank
	Counter     bool
	Ordered     bool     // its children go by rank
	Group       bool     // it holds tracks and nothing else
	Rank        int32    // among the children of its parent
	Process     *Process // the track is that of a process
	Thread      *Thread  // the track is that of a thread
	Parts       string   // what the slices inside its slices are called, for formats that give them a row of their own

	open []int64 // ends of the open slices, outermost first
}

func (t *Track) child(name string, rank int32) *Track {
	return &Track{Parent: t, Name: name, Rank: rank}
}

func (t *Track) childCounter(name, unit string, rank int32) *Track {
	c := t.child(name, rank)
	c.Counter, c.Unit = true, unit
	return c
}

// lanes are several tracks of one name, which a UI may show as one stacked row:
// each holds slices that do not overlap.
type lanes struct {
	parent *Track
	name   string
	rank   int32
	limit  int    // 0: none
	parts  string // [Track.Parts]
	tracks []*Track
	ends   laneEnds
}

// take returns the first lane that is free from start on and books it to end.
// It returns -1 if there is none and the limit is reached.
func (l *lanes) take(start, end int64) int {
	i := l.ends.firstFree(start)
	if i < 0 {
		if l.limit > 0 && l.ends.n >= l.limit {
			return -1
		}
		i = l.ends.n
	}
	l.ends.book(i, end)
	return i
}

// track returns the track of a lane.
func (l *lanes) track(i int) *Track {
	for len(l.tracks) <= i {
		t := l.parent.child(l.name, l.rank)
		t.Parts = l.parts
		l.tracks = append(l.tracks, t)
	}
	return l.tracks[i]
}

// maxDepth is below the depth at which Perfetto gives up (512).
const maxDepth = 256

// nests reports whether a slice to end lies inside the open one of its track.
func (t *Track) nests(end int64) bool {
	n := len(t.open)
	return n == 0 || t.open[n-1] >= end && n < maxDepth
}
