package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// sameLogs compares what BPF and ftrace told of one run: the same jobs, fences,
// dependencies, waits and links, each named by what it is and not by its id.
// What the kernel makes differ is listed in docs/correlation.md: high halves of
// keys, confidences, calls of the API, and names.
func sameLogs(a, b *product) (problems []string) {
	x, y := facts(a), facts(b)
	differ := func(f string) bool { return x[f] != y[f] && !mentions(f, a.excused) && !mentions(f, b.excused) }
	for f, n := range x {
		if differ(f) {
			problems = append(problems, fmt.Sprintf("%s has %d, %s %d: %s", a.what, n, b.what, y[f], f))
		}
	}
	for f, n := range y {
		if x[f] == 0 && differ(f) {
			problems = append(problems, fmt.Sprintf("%s has %d, %s 0: %s", b.what, n, a.what, f))
		}
	}
	slices.Sort(problems)
	return problems
}

// name tells a row by what it is.
type names struct {
	jobs, fences, waits, ioctls map[correlate.ID]string
}

// facts are a log's rows and links of jobs, fences, waits and ioctls, as lines, with their number.
func facts(p *product) map[string]int {
	n := names{jobs: map[correlate.ID]string{}, fences: map[correlate.ID]string{}, waits: map[correlate.ID]string{}, ioctls: map[correlate.ID]string{}}
	all := map[string]int{}
	for i := range p.rows.Jobs {
		j := &p.rows.Jobs[i]
		n.jobs[j.ID] = fmt.Sprintf("job %v", Key{j.FenceContext.V, j.FenceSeqno.V}.low())
		hw := Key{j.HWFenceContext.V, j.HWFenceSeqno.V}.low()
		all[fmt.Sprintf("%s of thread %d on ring %s: queued %v, run %v, %d times, done %v, finished %v, %s, hardware fence %v, in an ioctl %v", n.jobs[j.ID], j.TID.V,
			j.Ring, j.QueuedNS.OK, j.RunNS.OK, j.Runs, j.DoneNS.OK, j.FinishedNS.OK, j.EndKind, hw, j.IoctlID != 0)]++
	}
	for i := range p.rows.Fences {
		f := &p.rows.Fences[i]
		n.fences[f.ID] = fmt.Sprintf("fence %v", Key{f.Context, f.Seqno}.low())
		all[fmt.Sprintf("%s of %s, role %s, made %v, signalled %v, of %s", n.fences[f.ID], f.Driver, f.Role, f.InitNS.OK, f.SignalNS.OK, n.jobs[f.JobID])]++
	}
	nth := map[int64]int{}
	slices.SortFunc(p.rows.FenceWaits, func(x, y correlate.FenceWait) int { return cmp.Compare(x.ID, y.ID) })
	for i := range p.rows.FenceWaits {
		w := &p.rows.FenceWaits[i]
		nth[w.TID.V]++
		n.waits[w.ID] = fmt.Sprintf("wait %d of thread %d", nth[w.TID.V], w.TID.V)
		all[fmt.Sprintf("%s for %v, signalled %v, %s, for %s", n.waits[w.ID], Key{w.Context.V, w.Seqno.V}.low(), w.SignalNS.OK, w.EndKind, n.jobs[w.JobID])]++
	}
	nth = map[int64]int{}
	slices.SortFunc(p.rows.Ioctls, func(x, y correlate.Ioctl) int { return cmp.Compare(x.ID, y.ID) })
	for i := range p.rows.Ioctls {
		o := &p.rows.Ioctls[i]
		if o.Cmd>>8&0xff != 'd' {
			continue // not DRM's: BPF leaves others out
		}
		nth[o.TID.V]++
		n.ioctls[o.ID] = fmt.Sprintf("ioctl %d of thread %d", nth[o.TID.V], o.TID.V)
		all[fmt.Sprintf("%s: %#x gives %d", n.ioctls[o.ID], o.Cmd, o.Result.V)]++
	}
	for i := range p.rows.JobDeps {
		d := &p.rows.JobDeps[i]
		all[fmt.Sprintf("%s depends on %v, %s", n.jobs[d.JobID], Key{d.OnFenceContext.V, d.OnFenceSeqno.V}.low(), n.jobs[d.OnJobID])]++
	}
	for _, l := range p.rows.Links {
		src, dst := n.of(l.SrcTable, l.SrcID), n.of(l.DstTable, l.DstID)
		if src != "" && dst != "" { // not of the API's calls
			all[fmt.Sprintf("link %s: %s, %s", l.Rule, src, dst)]++
		}
	}
	return all
}

func (n *names) of(table string, id correlate.ID) string {
	switch table {
	case "jobs":
		return n.jobs[id]
	case "fences":
		return n.fences[id]
	case "fence_waits":
		return n.waits[id]
	case "ioctls":
		return n.ioctls[id]
	}
	return ""
}
