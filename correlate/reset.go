package correlate

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Resets: those that a source names, by an event or in the kernel's log, and
// those that only show in what became of the jobs (fate.go).

const (
	maxResets     = 1 << 10 // remembered, for gaps and fates
	maxOpenResets = 64      // whose end may still be told
	oneReset      = 100e6   // ns: what one thread does to a ring within this is one reset
	maxBlamed     = 1 << 12 // open jobs among which a log line's is looked for
)

// resetAt is a reset that a source named.
type resetAt struct {
	id   ID
	dev  ID
	ring string
	at   event.Time
	end  event.Time // NoTime if that was not told
}

// of reports whether the reset can be of a ring; unknown can be any.
func (s *resetAt) of(dev ID, ring string) bool {
	return (s.dev == 0 || dev == 0 || s.dev == dev) && (s.ring == "" || s.ring == ring)
}

// over reports whether the reset lies, in part, between from and to.
func (s *resetAt) over(from, to event.Time) bool {
	end := s.at
	if s.end.Known() {
		end = s.end
	}
	return s.at < to && (end > from || s.at >= from)
}

// burst is what one thread did to a ring in a reset that only shows in the jobs.
type burst struct {
	t  *thread
	at event.Time
	id ID
}

// named takes a reset that the source names, or the end of one.
func (x *miscTracker) named(ev *event.Event) {
	dev := x.e.ids.deviceID(ev.Str(event.FieldDevice), "")
	ring := ev.Str(event.FieldRing)
	if j := x.e.job.blamedBy(ev); j != nil {
		if ring == "" {
			ring = j.row.Ring
		}
		x.begin(ev.Time, dev, ring, ev.Str(event.FieldName), j)
		return
	}
	if step, ok := ev.Uint(event.FieldStep); ok && step == 2 {
		x.over(ev.Time, dev, ring, ev.Str(event.FieldName))
		return
	}
	if ring == "" && ev.Str(event.FieldTimeline) != "" {
		ring = x.e.job.ringOfQueue(ev)
	}
	x.begin(ev.Time, dev, ring, ev.Str(event.FieldName), nil)
}

// begin begins the row of a named reset; guilty is the job that brought it.
func (x *miscTracker) begin(at event.Time, dev ID, ring, log string, guilty *job) {
	x.e.seq.reset++
	row := Reset{ID: x.e.seq.reset, DeviceID: dev, Ring: ring, TSNS: event.OptTime(at), Rule: ruleSource, Log: log}
	if guilty != nil {
		row.JobID = guilty.row.ID
		guilty.setFate(fateGuilty, ruleSource)
		guilty.fateReset = row.ID
	}
	if len(x.open) == maxOpenResets {
		x.giveReset(&x.open[0])
		x.open = append(x.open[:0], x.open[1:]...)
	}
	x.open = append(x.open, row)
	if at.Known() && len(x.e.ring.resets) < maxResets {
		x.e.ring.resets = append(x.e.ring.resets, resetAt{row.ID, dev, ring, at, event.NoTime})
	}
}

// over ends the latest reset of the device that began under this name, or under
// any if the end has none.
func (x *miscTracker) over(at event.Time, dev ID, ring, log string) {
	for i := len(x.open) - 1; i >= 0; i-- {
		r := &x.open[i]
		if r.DeviceID != dev || ring != "" && r.Ring != ring || log != "" && r.Log != log {
			continue
		}
		r.EndNS = event.OptTime(at)
		for k := range x.e.ring.resets {
			if s := &x.e.ring.resets[k]; s.id == r.ID {
				s.end = at
			}
		}
		x.giveReset(r)
		x.open = append(x.open[:i], x.open[i+1:]...)
		return
	}
	x.e.seq.reset++ // its begin was not seen: when it began is not known
	x.giveReset(&Reset{ID: x.e.seq.reset, DeviceID: dev, Ring: ring, EndNS: event.OptTime(at), Rule: ruleSource, Log: log})
}

// finishResets gives the resets whose end was not told.
func (x *miscTracker) finishResets() {
	for i := range x.open {
		x.giveReset(&x.open[i])
	}
	x.open = nil
}

func (x *miscTracker) giveReset(r *Reset) {
	x.e.rows.Resets = append(x.e.rows.Resets, *r)
	x.e.n++
}

// inferredReset takes a job that was handed to the hardware a second time. What
// one thread hands over at one time is one reset.
func (x *miscTracker) inferredReset(j *job, at OptTime, hw *fence) {
	c, key := Inferred, ""
	if hw != nil {
		c, key = Adjacent, x.e.fenceText(hw.key)
		if j.ring != nil && j.ring.burst.of(hw.by, at) {
			j.fateReset = j.ring.burst.id
			x.e.link(RuleResetJob, "resets", j.fateReset, "jobs", j.row.ID, c, key)
			return
		}
	}
	id := x.newInferred(j, at, key)
	if hw != nil && hw.by != nil && j.ring != nil && at.OK {
		j.ring.burst = burst{hw.by, at.V, id}
	}
	x.e.link(RuleResetJob, "resets", id, "jobs", j.row.ID, c, key)
}

func (x *miscTracker) newInferred(j *job, at OptTime, hw string) ID {
	x.e.seq.reset++
	row := Reset{ID: x.e.seq.reset, Ring: j.row.Ring, TSNS: at, Rule: ruleInferred, JobID: j.row.ID, HWFence: hw}
	if j.dev != nil {
		row.DeviceID = j.dev.row.ID
	}
	x.giveReset(&row)
	j.fateReset = row.ID
	return row.ID
}

// of reports whether what a thread does at a time belongs to the reset.
func (b *burst) of(t *thread, at OptTime) bool {
	return b.t != nil && b.t == t && at.OK && max(at.V-b.at, b.at-at.V) <= oneReset
}

// logged takes a line of the kernel's log that tells of a reset, or of the job
// that brings one.
func (x *miscTracker) logged(ev *event.Event, dev ID) {
	l, ok := resetLine(ev.Str(event.FieldName))
	switch {
	case !ok:
	case l.blame:
		if j := x.e.job.blamed(l.ring, l.hwSeqno); j != nil {
			j.setFate(fateGuilty, ruleSource)
		}
	case l.over:
		x.over(ev.Time, dev, l.ring, "")
	default:
		x.begin(ev.Time, dev, l.ring, ev.Str(event.FieldName), nil)
	}
}

// logReset is what a line of the kernel's log says of a reset.
type logReset struct {
	ring    string // "" is the whole device
	over    bool   // it ended
	blame   bool   // the job of this number on the ring brings one
	hwSeqno uint32
}

// resetLine reads the lines of amdgpu (amdgpu_job.c, amdgpu_device.c), i915
// (intel_reset.c) and xe (xe_guc_submit.c). amdgpu's timeout names what the
// ring's hardware has completed: the job after that hangs.
func resetLine(s string) (l logReset, ok bool) {
	if ring, rest, found := cutBetween(s, "ring ", " timeout, signaled seq="); found {
		n, _, _ := strings.Cut(rest, ",")
		seq, err := strconv.ParseUint(n, 10, 32)
		return logReset{ring: ring, blame: true, hwSeqno: uint32(seq) + 1}, err == nil
	}
	if ring, _, found := cutBetween(s, "Starting ", " ring reset"); found {
		return logReset{ring: ring}, true
	}
	for _, end := range []string{" reset succeeded", " reset failed"} {
		if ring, _, found := cutBetween(s, "Ring ", end); found {
			return logReset{ring: ring, over: true}, true
		}
	}
	if _, rest, found := strings.Cut(s, "Engine reset: engine_class="); found { // xe
		class, rest, _ := strings.Cut(rest, ",")
		if _, id, found := strings.Cut(rest, "guc_id="); found {
			return logReset{ring: class + strings.TrimRight(id, " \n")}, true
		}
	}
	if engine, _, found := cutBetween(s, "Resetting ", " for "); found && strings.Contains(s, "i915") {
		if engine == "chip" {
			engine = ""
		}
		return logReset{ring: engine}, true
	}
	switch {
	case strings.Contains(s, "GPU reset begin"):
		return logReset{}, true
	case strings.Contains(s, "GPU reset(") && strings.Contains(s, "succeeded"), strings.Contains(s, "GPU reset end"), strings.Contains(s, "GPU Recovery Failed"):
		return logReset{over: true}, true
	}
	return l, false
}

// cutBetween returns the one word between two texts, and what comes after.
func cutBetween(s, before, after string) (word, rest string, ok bool) {
	head, rest, ok := strings.Cut(s, after)
	if !ok {
		return "", "", false
	}
	i := strings.LastIndex(head, before)
	if i < 0 {
		return "", "", false
	}
	word = head[i+len(before):]
	return word, rest, word != "" && !strings.Contains(word, " ")
}

// blamed returns the open job of a ring whose hardware fence has this number.
func (x *jobTracker) blamed(ring string, hwSeqno uint32) *job {
	j := x.newest
	for n := 0; j != nil && n < maxBlamed; n++ {
		if j.row.Ring == ring && j.hw != nil && uint32(j.hw.key.Seqno) == hwSeqno && !j.done {
			return j
		}
		j = j.older
	}
	return nil
}

// blamedBy returns the job that a reset's event names, nil if it names none.
func (x *jobTracker) blamedBy(ev *event.Event) *job {
	var j *job
	if d := x.driver(ev); d != nil {
		if k, ok := d.keyOf(ev); ok && d.key != keyOrder {
			j = x.ofDriver(ev, d, k)
		}
	} else if _, ok := ev.Fence(); ok {
		j = x.byFence(ev)
	}
	if j == nil || j.given {
		return nil
	}
	return j
}

// ringOfQueue is the ring of a driver's queue that an event names by number.
func (x *jobTracker) ringOfQueue(ev *event.Event) string {
	line := ev.Str(event.FieldTimeline)
	if s := x.queues[driverLine{ev.Str(event.FieldDevice), line}]; s != "" {
		return s
	}
	if d := x.driver(ev); d != nil && d.key == keyPointer {
		return line
	}
	return ""
}
