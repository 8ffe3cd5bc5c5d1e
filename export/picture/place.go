package picture

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/correlate"
)

// place is where a process ran, as a merged log tells: processes of different
// places may have one pid.
type place struct {
	host      string
	rank      correlate.OptInt
	unaligned bool
}

func (p place) String() string {
	var s []string
	if p.host != "" {
		s = append(s, p.host)
	}
	if p.rank.OK {
		s = append(s, "rank "+strconv.FormatInt(p.rank.V, 10))
	}
	if p.unaligned {
		s = append(s, "clock not aligned")
	}
	return strings.Join(s, ", ")
}

// placeAll says where each process is, if not all are in one place, and what
// number it goes by: the second of two places that have one pid needs another.
func placeAll(procs []*Process) {
	places := map[place]bool{}
	first := map[int64]place{}
	other := int64(-1 << 40) // below what any source has
	for _, p := range procs {
		places[p.place] = true
		p.Shown = p.PID
		if o, seen := first[p.PID]; !seen {
			first[p.PID] = p.place
		} else if o != p.place {
			other--
			p.Shown = other
		}
	}
	for _, p := range procs {
		if len(places) > 1 || p.place.unaligned {
			p.where = p.place.String()
		}
	}
}
