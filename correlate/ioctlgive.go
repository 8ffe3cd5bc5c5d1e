package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// How an ioctl gets its call and its driver, and leaves.

// done ends an ioctl. One in no call may still be in a call that comes whole,
// after it: a few of a thread wait for that.
func (x *ioctlTracker) done(i *ioctl) {
	t := i.t
	if i.row.StartNS.OK && i.row.EndNS.OK {
		x.e.ids.did(t, span{kind: wasIoctl, start: i.row.StartNS.V, end: i.row.EndNS.V, name: x.name(i), cmd: uint32(i.row.Cmd), driver: i.fd})
	}
	if i.row.APICallID != 0 || !i.row.EndNS.OK || !i.row.StartNS.OK || len(t.calls) > 0 {
		x.release(i)
		return
	}
	if x.late >= x.e.caps.Ioctls {
		x.e.ids.calm()
	}
	x.e.ids.remember(t)
	t.late = append(t.late, i)
	x.late++
	if len(t.late) > maxLate {
		x.release(t.late[0])
		t.late = slices.Delete(t.late, 0, 1)
		x.late--
	}
}

// adopt puts the ioctls that lie in a call that came whole into it. Calls come
// in the order of their ends: the first that holds an ioctl is the innermost.
func (x *ioctlTracker) adopt(c *call, t *thread) {
	keep := t.late[:0]
	for _, i := range t.late {
		if i.row.StartNS.V < c.row.StartNS.V || i.row.EndNS.V > c.row.EndNS.V {
			keep = append(keep, i)
			continue
		}
		x.inCall(i, c, t)
		for _, q := range i.queued {
			if q.waits() {
				q.j.row.APICallID, q.j.callStart = c.row.ID, c.row.StartNS
				setStr(&q.j.row.KernelName, c.row.KernelName)
			}
		}
		x.release(i)
	}
	x.late -= len(t.late) - len(keep)
	clear(t.late[len(keep):])
	t.late = keep
}

func (x *ioctlTracker) releaseLate(t *thread) {
	for _, i := range t.late {
		x.release(i)
	}
	x.late -= len(t.late)
	t.late = nil
}

// release gives an ioctl, or holds it until its descriptor's driver is known.
func (x *ioctlTracker) release(i *ioctl) {
	i.released, i.t = true, nil
	if i.row.Driver != "" || i.fd == nil || i.fd.driver != "" || byte(i.row.Cmd>>8) != magicDRM || i.noCmd {
		x.give(i)
		return
	}
	i.fd.held = append(i.fd.held, i)
	x.order = append(x.order, heldIoctl{i, i.row.ID})
	x.trim()
}

// trim gives the ioctls that waited the longest for their driver, beyond the cap.
func (x *ioctlTracker) trim() {
	for len(x.order)-x.head > x.e.caps.Ioctls {
		h := x.order[x.head]
		x.head++
		if h.i.row.ID == h.id {
			x.unhold(h.i)
			x.give(h.i)
		}
	}
	if x.head > x.e.caps.Ioctls {
		x.order = slices.Delete(x.order, 0, x.head)
		x.head = 0
	}
}

// unhold takes an ioctl, the oldest of its descriptor, off it.
func (x *ioctlTracker) unhold(i *ioctl) {
	if h := i.fd.held; len(h) > 0 && h[0] == i {
		h[0] = nil
		i.fd.held = h[1:]
	}
}

// resolve tells a descriptor the driver of jobs queued through it.
func (x *ioctlTracker) resolve(s *fdState, driver string, dev *device) {
	if s.driver != "" {
		if s.driver != driver {
			x.e.count(&anomalyDriverConflict)
			s.driver, s.dev = driver, dev
		}
		return
	}
	s.driver, s.dev = driver, dev
	for _, i := range s.held {
		x.give(i)
	}
	s.held = nil
}

func (x *ioctlTracker) fdOf(k fdKey) *fdState {
	s, ok := x.fds.get(x.e.caps.Contexts, k)
	if !ok {
		s = &fdState{}
		x.fds.put(x.e.caps.Contexts, k, s)
	}
	return s
}

func (x *ioctlTracker) name(i *ioctl) string {
	if i.row.Name != "" {
		return i.row.Name
	}
	d := i.row.Driver
	if d == "" && i.fd != nil {
		d = i.fd.driver
	}
	return ioctlName(d, uint32(i.row.Cmd))
}

func ioctlName(driver string, cmd uint32) string { return gpu.IoctlName(driver, cmd) }

// give gives an ioctl's row.
func (x *ioctlTracker) give(i *ioctl) {
	e, r := x.e, &i.row
	if r.Driver == "" && i.fd != nil && i.fd.driver != "" && byte(r.Cmd>>8) == magicDRM {
		r.Driver, r.DriverRule = i.fd.driver, ruleDriverByFD
		if i.jobs > 0 {
			r.DriverRule = ruleDriverByJobs
		}
		if i.fd.dev != nil && r.DeviceID == 0 {
			r.DeviceID = i.fd.dev.row.ID
		}
	}
	x.role(i)
	if r.Name == "" {
		if i.noCmd {
			r.Name = "ioctl"
		} else {
			r.Name = ioctlName(r.Driver, uint32(r.Cmd))
		}
	}
	r.DurNS = sub(r.EndNS, r.StartNS)
	r.Source = x.joinSources(i.sources[:min(i.nsrc, maxSources)])
	if r.APICallID == 0 {
		e.unm.add(note{table: "ioctls", id: r.ID, link: missAPICall, reason: NotRecorded, from: timeOr(r.StartNS), to: timeOr(r.StartNS)})
	}
	if r.Role == event.RoleWait.String() && i.waits == 0 && i.wokenBy == 0 {
		x.noteJob(i)
	}
	e.rows.Ioctls = append(e.rows.Ioctls, *r)
	e.n++
	x.pool.put(i)
}

// noteJob says that nothing tells which job an ioctl waited for. Work of KFD
// and of NVIDIA's RM is no job of a scheduler.
func (x *ioctlTracker) noteJob(i *ioctl) {
	n := note{table: "ioctls", id: i.row.ID, link: missJob, reason: NotRecorded, from: timeOr(i.row.StartNS), to: timeOr(i.row.EndNS)}
	if m := byte(i.row.Cmd >> 8); m == magicKFD || m == magicNVIDIA {
		n.reason, n.proof = NotPossible, proofNever
	}
	x.e.unm.add(n)
}

// role settles what the ioctl does: as its source or the table says, else a
// submission where a job was queued in it.
func (x *ioctlTracker) role(i *ioctl) {
	r := &i.row
	if r.Role != "" && r.Role != event.RoleUnknown.String() {
		return
	}
	r.Role = event.RoleUnknown.String()
	if d, ok := gpu.LookupIoctl(r.Driver, uint32(r.Cmd)); ok && !i.noCmd {
		r.Role = d.Role.String()
	}
	if r.Role == event.RoleUnknown.String() && i.jobs > 0 {
		r.Role = event.RoleSubmit.String()
	}
}

// joinSources joins the names of witnesses, each once. The few pairs that
// there are get their text once.
func (x *ioctlTracker) joinSources(s []string) string {
	if len(s) == 1 {
		return s[0]
	}
	k := [2]string{s[0], s[1]}
	if v, ok := x.joined[k]; ok && len(s) == 2 {
		return v
	}
	out := s[0]
	for _, o := range s[1:] {
		if o != "" && o != out {
			out += "+" + o
		}
	}
	if len(s) == 2 && len(x.joined) < maxSources*maxSources {
		x.joined[k] = out
	}
	return out
}
