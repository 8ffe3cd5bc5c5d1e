package check

import (
	"cmp"
	"path/filepath"
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
		name, capture, origin string
		breakIt               func(*product)
		want                  []string // parts of problems, each of which must be there
	}{
		{"done pops the head of the ring's queue", "6.12-out-of-order-both", originNewer, popHead, []string{"done before its hardware fence"}},
		{"ring by its name alone", "6.12-two-devices-both", originNewer, ringByName, []string{"device is", "device_start_ns is"}},
		{"fence by 32 bits", "6.12-low-halves-both", originNewer, fenceBy32Bits, []string{"no such row", "rows, of which the truth has"}},
		{"a process by its pid alone", "6.12-pids-both", originNewer, processByPID, []string{"are one process"}},
		{"done by an address that has no lifetime", "6.12-reuse-both", originLegacy, addressForEver, []string{"done after its finished fence", "done_ns known is false", "not all of one job"}},
		{"numbers of fences that never wrap", "6.12-low-halves-both", originNewer, noWrap, []string{"done before its hardware fence"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := unpacked(t, c.capture)
			p, err := correlated(c.name, c.origin, r.trace.generation(c.origin))
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

// processByPID has one process of all that had one pid.
func processByPID(p *product) {
	first := map[int64]correlate.ID{}
	for i := range p.rows.Jobs {
		j := &p.rows.Jobs[i]
		if first[j.PID.V] == 0 {
			first[j.PID.V] = j.ProcessID
		}
		j.ProcessID = first[j.PID.V]
	}
}

// addressForEver gives every end to the first job that had the address.
func addressForEver(p *product) {
	first := map[uint64]*correlate.Job{}
	for i := range p.rows.Jobs {
		j := &p.rows.Jobs[i]
		if had := first[j.FencePtr.V]; had != nil && j.DoneNS.OK {
			had.DoneNS, j.DoneNS = j.DoneNS, correlate.OptTime{}
		} else if had == nil {
			first[j.FencePtr.V] = j
		}
	}
}

// noWrap ends a job when a fence of its context with an equal or greater number
// signals, as if numbers never began again.
func noWrap(p *product) {
	contexts := map[uint64][]*correlate.Job{}
	for i := range p.rows.Jobs {
		if j := &p.rows.Jobs[i]; j.DoneNS.OK {
			contexts[j.FenceContext.V] = append(contexts[j.FenceContext.V], j)
		}
	}
	for _, jobs := range contexts {
		slices.SortFunc(jobs, func(a, b *correlate.Job) int { return cmp.Compare(b.FenceSeqno.V, a.FenceSeqno.V) })
		end := jobs[0].DoneNS
		for _, j := range jobs {
			end.V = min(end.V, j.DoneNS.V)
			j.DoneNS = end
		}
	}
}

// Nor must a log whose rows hide or misname what is missing, nor one whose losses
// are not counted right.
func TestBrokenLogs(t *testing.T) {
	for _, c := range []struct {
		name, capture, log, origin string
		breakIt                    func(*product)
		want                       string
	}{
		{"a loss counts one less", "6.12-starved-legacy", "ftrace.gpurec", originLegacy, func(p *product) {
			p.rows.Losses[0].Count.V--
		}, "produced - written - lost is 1, not 0"},
		{"a loss of BPF counts one more", "6.12-starved-newer", "bpf.gpurec", originNewer, func(p *product) {
			p.rows.Losses[0].Count.V++
		}, "produced - written - lost is -1, not 0"},
		{"an event is gone without a loss", "6.1-starved-newer", "ftrace.gpurec", originNewer, func(p *product) {
			p.events = p.events[1:]
		}, "produced - written - lost is 1, not 0"},
		{"what a loss hurts does not say so", "6.1-starved-legacy", "bpf.gpurec", originLegacy, reasonInstead(correlate.Lost, correlate.NotRecorded), `as "not_recorded", not as "lost"`},
		{"what the end cut off is called lost", "6.12-late-newer", "bpf.gpurec", originNewer, reasonInstead(correlate.AfterStop, correlate.Lost), `as "lost", not as "after_stop"`},
		{"what was before the start is called unknown", "6.1-late-legacy", "ftrace.gpurec", originLegacy, reasonInstead(correlate.BeforeStart, correlate.NotRecorded), `as "not_recorded", not as "before_start"`},
		{"a row of two jobs", "6.12-late-newer", "ftrace.gpurec", originNewer, func(p *product) {
			a, b := &p.rows.Jobs[20], &p.rows.Jobs[21]
			a.RunNS, b.RunNS = b.RunNS, a.RunNS
		}, "made of events that are not all of one job"},
		{"a job is left out", "6.1-late-newer", "bpf.gpurec", originNewer, func(p *product) {
			p.rows.Jobs = p.rows.Jobs[1:]
		}, "no such row, and its"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := unpacked(t, c.capture)
			p, err := readLog(filepath.Join(r.dir, c.log), c.log, c.origin)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.edges(p); len(got) != 0 {
				t.Fatalf("before it is broken: %q", got[0])
			}
			c.breakIt(p)
			if all := strings.Join(r.edges(p), "\n"); !strings.Contains(all, c.want) {
				t.Errorf("nothing says %q:\n%.1000s", c.want, all)
			}
		})
	}
}

func reasonInstead(is, say correlate.Reason) func(*product) {
	return func(p *product) {
		for _, m := range p.missing {
			for link, reason := range m {
				if reason == string(is) {
					m[link] = string(say)
				}
			}
		}
	}
}

// Nor a chain that is joined by process and not by thread, or to another job.
func TestBrokenChains(t *testing.T) {
	for _, c := range []struct {
		name    string
		breakIt func(*product)
		want    string
	}{
		{"ioctls of the process, not of the thread", func(p *product) {
			for i := range p.rows.Jobs {
				p.rows.Jobs[i].IoctlID = p.rows.Jobs[len(p.rows.Jobs)-1-i].IoctlID
			}
		}, "are not those of the launch"},
		{"a wait for another job", func(p *product) {
			w := p.rows.FenceWaits
			for i := range w {
				w[i].JobID = w[0].JobID
			}
		}, "is one for job"},
		{"calls that hold no ioctl", func(p *product) {
			for i := range p.rows.Links {
				if l := &p.rows.Links[i]; l.Rule == correlate.RuleAPIIoctl {
					l.Confidence = string(correlate.Inferred)
				}
			}
		}, `link api-ioctl is "inferred"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := unpacked(t, "6.12-chain-legacy")
			p, err := readLog(filepath.Join(r.dir, "bpf.gpurec"), "bpf.gpurec", originLegacy)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.chain(p); len(got) != 0 {
				t.Fatalf("before it is broken: %q", got[0])
			}
			c.breakIt(p)
			if all := strings.Join(r.chain(p), "\n"); !strings.Contains(all, c.want) {
				t.Errorf("nothing says %q:\n%.1000s", c.want, all)
			}
		})
	}
}

func unpacked(t *testing.T, capture string) *results {
	t.Helper()
	dir := t.TempDir()
	if err := Unpack("../captures/"+capture+".tar.gz", dir); err != nil {
		t.Fatal(err)
	}
	r, err := readResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
