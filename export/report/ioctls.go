package report

import (
	"cmp"
	"slices"
	"syscall"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

type ioctlKey struct{ driver, name, role string }

type ioctlAcc struct {
	Ioctl
	time *dist
}

type failKey struct {
	ioctlKey
	errno  correlate.OptInt
	status correlate.OptUint
}

type resetKey struct {
	device     correlate.ID
	ring, rule string
}

// timeoutAcc gathers the waits that ended although their fence had not signalled.
type timeoutAcc struct {
	n, sum  int64
	longest row
	max     int64
	process correlate.ID
	fence   event.FenceKey
}

func (b *Builder) addIoctl(c *correlate.Ioctl) {
	b.see(c.StartNS)
	b.see(c.EndNS)
	k := ioctlKey{c.Driver, c.Name, c.Role}
	a := get(&b.rep.Capped, b.ioctls, k, ioctlKey{}, func(k ioctlKey) *ioctlAcc {
		return &ioctlAcc{Ioctl: Ioctl{Driver: k.driver, Name: k.name, Role: k.role}, time: b.dists.get()}
	})
	a.Calls++
	a.time.addOpt(c.DurNS, row{c.ID, c.StartNS, c.EndNS})
	if (!c.Errno.OK || c.Errno.V == 0) && (!c.Status.OK || c.Status.V == 0) {
		return
	}
	a.Failed++
	f := get(&b.rep.Capped, b.failed, failKey{k, c.Errno, c.Status}, failKey{}, func(k failKey) *FailedIoctl {
		return &FailedIoctl{Driver: k.driver, Name: k.name, Role: k.role, Errno: ptr(k.errno), Status: ptr(k.status)}
	})
	f.Count++
	if f.first == 0 || int64(c.ID) < f.first {
		f.first = int64(c.ID)
	}
	f.longest = max(f.longest, c.DurNS.V)
	f.FirstNS, f.LastNS = earlier(f.FirstNS, c.StartNS), later(f.LastNS, c.StartNS)
}

func earlier(p *int64, t correlate.OptTime) *int64 {
	if !t.OK || p != nil && *p <= int64(t.V) {
		return p
	}
	return timePtr(t)
}

func later(p *int64, t correlate.OptTime) *int64 {
	if !t.OK || p != nil && *p >= int64(t.V) {
		return p
	}
	return timePtr(t)
}

func (b *Builder) addWait(w *correlate.FenceWait) {
	b.see(w.StartNS)
	b.see(w.SignalNS)
	b.see(w.EndNS)
	r := row{w.ID, w.StartNS, w.EndNS}
	b.waits.addOpt(w.WaitNS, r)
	b.wake.addOpt(w.WakeNS, row{w.ID, w.SignalNS, w.EndNS})
	if !w.TimedOut.V {
		return
	}
	t := &b.timeouts
	t.n++
	t.sum += w.WaitNS.V
	if w.WaitNS.V >= t.max {
		t.max, t.longest, t.process = w.WaitNS.V, r, w.ProcessID
		t.fence = event.FenceKey{Context: w.Context.V, Seqno: w.Seqno.V}
	}
}

func (b *Builder) addReset(s *correlate.Reset) {
	k := resetKey{s.DeviceID, s.Ring, s.Rule}
	x := get(&b.rep.Capped, b.resets, k, resetKey{}, func(k resetKey) *Resets { return &Resets{Ring: k.ring, Rule: k.rule, DeviceID: idPtr(k.device)} })
	x.Count++
	x.FirstNS, x.LastNS = earlier(x.FirstNS, s.TSNS), later(x.LastNS, s.TSNS)
	if x.job == 0 {
		x.job = int64(s.JobID)
	}
}

func (b *Builder) endIoctls() {
	r := &b.rep
	for _, a := range b.ioctls {
		a.Time = a.time.stats()
		r.Ioctls = append(r.Ioctls, a.Ioctl)
	}
	slices.SortFunc(r.Ioctls, func(x, y Ioctl) int {
		return cmp.Or(cmp.Compare(y.Time.SumNS, x.Time.SumNS), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Driver, y.Driver), cmp.Compare(x.Role, y.Role))
	})
	for _, f := range b.failed {
		if f.Errno != nil {
			f.Error = syscall.Errno(*f.Errno).Error()
		}
		r.FailedIoctls = append(r.FailedIoctls, *f)
	}
	slices.SortFunc(r.FailedIoctls, func(x, y FailedIoctl) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name), cmp.Compare(x.first, y.first))
	})
}

// endRest completes waits, resets, memory and what has no partner.
func (b *Builder) endRest() {
	r := &b.rep
	r.FenceWaits, r.Wake, r.WaitsTimeout = b.waits.stats(), b.wake.stats(), uint64(b.timeouts.n)
	for _, x := range b.resets {
		x.GPU = b.gpu(id(x.DeviceID))
		r.Resets = append(r.Resets, *x)
	}
	slices.SortFunc(r.Resets, func(x, y Resets) int {
		return cmp.Or(b.compareGPU(id(x.DeviceID), id(y.DeviceID)), cmp.Compare(x.Ring, y.Ring), cmp.Compare(x.Rule, y.Rule))
	})
	r.Memory = append(r.Memory, b.memory.rows(b)...)
	r.Capped += b.memory.capped
	for u, n := range b.unmatched {
		u.Count = n
		r.Unmatched = append(r.Unmatched, u)
	}
	slices.SortFunc(r.Unmatched, func(x, y Unmatched) int {
		return cmp.Or(cmp.Compare(x.Table, y.Table), cmp.Compare(x.Link, y.Link), cmp.Compare(x.Reason, y.Reason))
	})
}
