package check

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// A broken joiner must not pass. Each case changes the product's rows of a
// capture into those that a joiner with one known mistake would give.
func TestBrokenJoiners(t *testing.T) {
	for _, c := range []struct {
		name, capture string
		breakIt       func(*product)
		want          []string // parts of problems, each of which must be there
	}{
		{"done pops the head of the ring's queue", "6.12-out-of-order-both", popHead, []string{"done before its hardware fence"}},
		{"ring by its name alone", "6.12-two-devices-both", ringByName, []string{"device is", "device_start_ns is"}},
		{"fence by 32 bits", "6.12-low-halves-both", fenceBy32Bits, []string{"no such row", "rows, of which the truth has"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := Unpack("../captures/"+c.capture+".tar.gz", dir); err != nil {
				t.Fatal(err)
			}
			r, err := readResults(dir)
			if err != nil {
				t.Fatal(err)
			}
			p, err := correlated(c.name, originNewer, r.trace.generation(originNewer))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.product(p); len(got) != 0 {
				t.Fatalf("before it is broken: %q", got[0])
			}
			c.breakIt(p)
			all := strings.Join(r.product(p), "\n")
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("nothing says %q:\n%.1000s", want, all)
				}
			}
		})
	}
}

// popHead gives each end to the job at the head of its ring's queue, as if
// jobs of a ring ended in the order in which they were handed to it.
func popHead(p *product) {
	rings := map[string][]*correlate.Job{}
	for i := range p.rows.Jobs {
		j := &p.rows.Jobs[i]
		if j.RunNS.OK && j.DoneNS.OK {
			rings[j.Ring] = append(rings[j.Ring], j)
		}
	}
	for _, jobs := range rings {
		var ends []event.Time
		for _, j := range jobs {
			ends = append(ends, j.DoneNS.V)
		}
		slices.Sort(ends)
		slices.SortFunc(jobs, func(a, b *correlate.Job) int { return cmp.Compare(a.RunNS.V, b.RunNS.V) })
		for i, j := range jobs {
			j.DoneNS.V = ends[i]
		}
	}
}

// ringByName has one ring of each name: the first device's.
func ringByName(p *product) {
	first := map[string]correlate.ID{}
	before := map[string]event.Time{}
	slices.SortFunc(p.rows.Jobs, func(a, b correlate.Job) int { return cmp.Compare(a.DoneNS.V, b.DoneNS.V) })
	for i := range p.rows.Jobs {
		j := &p.rows.Jobs[i]
		if first[j.Ring] == 0 {
			first[j.Ring] = j.DeviceID
		}
		j.DeviceID = first[j.Ring]
		if j.RunNS.OK && j.DoneNS.OK {
			j.DeviceStartNS = event.Some(max(j.RunNS.V, before[j.Ring]))
			before[j.Ring] = j.DoneNS.V
		}
	}
}

// fenceBy32Bits has one job of all those whose fences have equal low halves.
func fenceBy32Bits(p *product) {
	seen := map[Key]bool{}
	var kept []correlate.Job
	for _, j := range p.rows.Jobs {
		k := Key{j.FenceContext.V, j.FenceSeqno.V}.low()
		if seen[k] {
			continue
		}
		seen[k] = true
		j.FenceContext.V, j.FenceSeqno.V = k.Context, k.Seqno
		kept = append(kept, j)
	}
	p.rows.Jobs = kept
}
