package check

import "github.com/gpurec/gpurec/correlate"

// waits holds the waits by the driver's ioctl of a log that begins late and ends
// early: one that lies in it is whole; one that lasts when the log begins, or
// when it ends, lacks that end and says so; others are not there.
func (e *edges) waits(x *jobIndex) {
	ch := newChain(e.p)
	rows := map[Call]*correlate.FenceWait{}
	for i := range e.p.rows.FenceWaits {
		row := &e.p.rows.FenceWaits[i]
		call, ok := e.call(row)
		if !ok {
			e.say("wait %d of thread %d is none that a client tells of", row.ID, row.TID.V)
		}
		rows[call] = row
	}
	for _, call := range e.r.calls {
		if call.Name != "wait" || call.Kind != "driver" {
			continue
		}
		row, j := rows[call], x.byKey[call.Key]
		begins, ends := call.Enter >= e.w.begun && call.Enter <= e.w.ended, call.Exit >= e.w.begun && call.Exit <= e.w.ended
		switch {
		case !begins && !ends && row == nil:
		case !begins && !ends, row == nil:
			e.problem(j, "%s: a wait for it from %d to %d has a row: %v", e.p.what, call.Enter, call.Exit, row != nil)
		case begins && ends:
			ch.wait(&e.comparison, call, j)
		default:
			e.cut(j, row, begins)
		}
	}
}

// call is the client's wait that a row is of: the one of its thread in which all
// its moments lie.
func (e *edges) call(row *correlate.FenceWait) (Call, bool) {
	for _, c := range e.r.calls {
		if c.Name != "wait" || int64(c.TID) != row.TID.V {
			continue
		}
		in := func(t correlate.OptTime) bool { return !t.OK || c.Enter <= int64(t.V) && int64(t.V) <= c.Exit }
		if in(row.StartNS) && in(row.EndNS) {
			return c, true
		}
	}
	return Call{}, false
}

// cut holds a wait of which the log has one end.
func (e *edges) cut(j *Job, row *correlate.FenceWait, begins bool) {
	link, reason, kind := "enter", correlate.NotRecorded, "returned"
	if begins {
		link, reason, kind = "exit", correlate.Open, "open"
	}
	if got := e.p.lacks[lackKey("fence_waits", row.ID, link)]; got != string(reason) || row.EndKind != kind || row.StartNS.OK != begins || row.EndNS.OK == begins {
		e.problem(j, "%s: a wait for it is cut off; it ends as %q and lacks its %s as %q, not as %q and %q", e.p.what, row.EndKind, link, got, kind, reason)
	}
	if job := e.rows[j]; job == nil || row.JobID != job.ID {
		e.problem(j, "%s: a wait for it, cut off, is one for job %d", e.p.what, row.JobID)
	}
	e.counts["cut_waits"]++
}
