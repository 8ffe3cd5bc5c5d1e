package correlate

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// scramble makes an event of every kind out of a few values, so that threads,
// pointers, fences and numbers collide in every way.
func scramble(rnd func(n int) int, at event.Time) event.Event {
	e := event.New(event.Kind(1+rnd(int(event.NumKinds)-1)), at)
	if rnd(2) == 0 { // half of all are the scheduler's and the fences'
		e.Reset(event.KindIoctlEnter+event.Kind(rnd(14)), at)
	}
	e.CPU, e.TID, e.PID = int32(rnd(4))-1, int32(rnd(6))-1, int32(rnd(4))-1
	e.Flags = event.Flags(rnd(16))
	e.Source = []string{"a", "b", ""}[rnd(3)]
	for _, f := range e.Kind.Spec().Fields {
		if rnd(3) == 0 {
			continue
		}
		if f == event.FieldOrigin {
			e.SetStr(f, append([]driverSpec{{origin: "drm_sched"}, {origin: "amdgpu"}}, driverSpecs...)[rnd(2+len(driverSpecs))].origin)
			continue
		}
		if e.Kind == event.KindJobNote && f == event.FieldName {
			e.SetStr(f, []string{event.NoteReady, event.NoteRetired, event.NoteCompleted, event.NoteTimedOut, event.NoteError, event.NoteRecovery, "xe_exec_queue_create"}[rnd(7)])
			continue
		}
		if f == event.FieldDriver && rnd(3) == 0 {
			e.SetStr(f, driverSpecs[rnd(len(driverSpecs))].origin)
			continue
		}
		switch f.Spec().Type {
		case event.TypeString, event.TypeText:
			e.SetStr(f, []string{"gfx", "drm_sched", "amdgpu", "compute", "cuLaunchKernel"}[rnd(5)])
		case event.TypeTime:
			e.SetTime(f, at-event.Time(rnd(50)))
		default:
			e.SetUint(f, []uint64{0, 1, 2, 3, 4, 5, 1 << 32, 1<<32 + 1, 1<<64 - 1}[rnd(9)])
		}
	}
	return e
}

func randomEvents(seed uint64, n int) []event.Event {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]event.Event, n)
	at := event.Time(1000)
	for i := range out {
		t := at
		if r.IntN(50) == 0 {
			t = event.NoTime
		}
		out[i] = scramble(r.IntN, t)
		at += event.Time(r.IntN(4))
	}
	return out
}

// TestRandomEvents: whatever comes, the engine ends, gives ids once and
// densely, keeps to its lists, and gives the same rows again.
func TestRandomEvents(t *testing.T) {
	for seed := range uint64(21) {
		if seed == 20 {
			seed = 225 // a gap settled while the row of its job was being given
		}
		for _, o := range []Options{{}, {MaxOpen: 3, BatchRows: 7}} {
			events := randomEvents(seed, 1500)
			r, sum := collect(t, events, o)
			checkRules(t, r)
			checkIDs(t, r)
			checkCounts(t, events, sum)
			again, _ := collect(t, events, o)
			if fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", again) {
				t.Fatalf("seed %d: two runs differ", seed)
			}
			if t.Failed() {
				t.Fatalf("seed %d, %+v", seed, o)
			}
		}
	}
}

// checkIDs: the ids of a table are 1 … n, each once, and every reference hits.
func checkIDs(t *testing.T, r *Rows) {
	t.Helper()
	seen := map[string]map[ID]bool{}
	add := func(table string, id ID) {
		m := seen[table]
		if m == nil {
			m = map[ID]bool{}
			seen[table] = m
		}
		if m[id] || id <= 0 {
			t.Errorf("%s: id %d twice or none", table, id)
		}
		m[id] = true
	}
	for _, x := range r.APICalls {
		add("api_calls", x.ID)
	}
	for _, x := range r.Ioctls {
		add("ioctls", x.ID)
	}
	for _, x := range r.Jobs {
		add("jobs", x.ID)
	}
	for _, x := range r.Fences {
		add("fences", x.ID)
	}
	for _, x := range r.FenceWaits {
		add("fence_waits", x.ID)
	}
	for _, x := range r.GPUActivities {
		add("gpu_activities", x.ID)
	}
	for _, x := range r.Slices {
		add("slices", x.ID)
	}
	for _, x := range r.Losses {
		add("losses", x.ID)
	}
	for _, x := range r.Resets {
		add("resets", x.ID)
	}
	for _, x := range r.Processes {
		add("processes", x.ID)
	}
	for _, x := range r.Devices {
		add("devices", x.ID)
	}
	for table, m := range seen {
		for id := range m {
			if id > ID(len(m)) {
				t.Errorf("%s: id %d of %d rows", table, id, len(m))
			}
		}
	}
	hit := func(what, table string, id ID) {
		if id != 0 && !seen[table][id] {
			t.Errorf("%s names %s %d, which is not there", what, table, id)
		}
	}
	for _, l := range r.Links {
		hit("link "+l.Rule, l.SrcTable, l.SrcID)
		hit("link "+l.Rule, l.DstTable, l.DstID)
	}
	twice := map[string]bool{}
	for _, u := range r.Unmatched {
		hit("unmatched", u.SrcTable, u.SrcID)
		hit("unmatched", "losses", u.LossID)
		k := fmt.Sprint(u.SrcTable, u.SrcID, u.Link)
		if twice[k] {
			t.Errorf("unmatched twice: %+v", u)
		}
		twice[k] = true
	}
	for _, x := range r.Jobs {
		hit("job", "processes", x.ProcessID)
		hit("job", "devices", x.DeviceID)
		hit("job", "ioctls", x.IoctlID)
		hit("job", "api_calls", x.APICallID)
		if x.DeviceTimeNS.OK && (x.DeviceTimeNS.V < 0 || x.HWQueueNS.V < 0) {
			t.Errorf("job %d: negative time %+v", x.ID, x)
		}
	}
	for _, x := range r.JobEvents {
		hit("job event", "jobs", x.JobID)
	}
	for _, x := range r.Resets {
		hit("reset", "jobs", x.JobID)
		hit("reset", "devices", x.DeviceID)
	}
	for _, x := range r.IRQs {
		hit("interrupt", "devices", x.DeviceID)
	}
	for _, x := range r.APICalls {
		hit("api call", "api_calls", x.ParentID)
	}
	for _, x := range r.Slices {
		hit("slice", "slices", x.ParentID)
	}
	for _, x := range r.FenceWaits {
		hit("wait", "jobs", x.JobID)
		hit("wait", "ioctls", x.IoctlID)
	}
	for _, x := range r.Rings {
		if x.FirstStartNS.OK && x.BusyNS.V < 0 {
			t.Errorf("ring %+v", x)
		}
	}
}

func checkCounts(t *testing.T, events []event.Event, sum *Summary) {
	t.Helper()
	var want [event.NumKinds]uint64
	for i := range events {
		want[events[i].Kind]++
	}
	if want != sum.Events {
		t.Errorf("events %v, want %v", sum.Events, want)
	}
}

// FuzzEvents builds event streams out of bytes.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("a few bytes are enough to begin with, the rest is found"))
	f.Add([]byte{})
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(i * 7)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		at := event.Time(0)
		rnd := func(n int) int {
			if len(data) < 2 {
				data = nil
				return 0
			}
			v := int(binary.LittleEndian.Uint16(data)) % n
			data = data[1:]
			return v
		}
		var events []event.Event
		for len(data) > 1 && len(events) < 2000 {
			at += event.Time(rnd(4))
			events = append(events, scramble(rnd, at))
		}
		r, _ := collect(t, events, Options{MaxOpen: 16})
		checkRules(t, r)
		checkIDs(t, r)
	})
}
