package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/ftracetext"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// lineTruths begin the names of the truths about lines, which the importer's
// own test compares.
var lineTruths = []string{"event ", "event lines", "distinct cpus", "lines ", "times lower", "first ts", "last ts", "lost marks"}

// TestFtraceTruths compares what becomes of traces in the kernel's text with
// what was counted in them: jobs, rings, fences, waits and how deep queues were.
func TestFtraceTruths(t *testing.T) {
	met, failed, importer := 0, 0, 0
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		if row[2] != "ftrace" {
			continue
		}
		var asked [][2]string
		for _, truth := range importtest.Truths(t, row[1]) {
			if slices.ContainsFunc(lineTruths, func(p string) bool { return strings.HasPrefix(truth[0], p) }) {
				importer++
				continue
			}
			asked = append(asked, [2]string{truth[0], truth[1]})
		}
		if len(asked) == 0 {
			continue
		}
		answers := ftraceAnswers(join(t, importtest.Shared(t, "traces", row[1]), ftracetext.Format()))
		for _, q := range asked {
			switch got, ok := answers[q[0]]; {
			case !ok:
				failed++
				t.Errorf("%s: nothing answers %q", row[1], q[0])
			case got != strings.ReplaceAll(q[1], ".000000", ""):
				failed++
				t.Errorf("%s: %s: %s, want %s", row[1], q[0], got, q[1])
			default:
				met++
			}
		}
	}
	t.Logf("%d truths met, %d failed; %d are of the lines alone (tested with the importer); not expressible: 0", met, failed, importer)
}

// ftraceAnswers computes from rows what the truths say of a trace, times in µs.
func ftraceAnswers(j *joined) map[string]string {
	a := map[string]string{}
	num := func(what string, n int64) { a[what] = strconv.FormatInt(n, 10) }
	jobAnswers(j, a, num)
	fenceAnswers(j, a, num)
	driverAnswers(j, a)
	return a
}

// v3dQueues are v3d's own words for what its lines call a queue.
var v3dQueues = map[string]string{"v3d_bin": "BCL", "v3d_render": "RCL", "v3d_csd": "CSD"}

// us is a number of whole microseconds, as times of trace text are.
func us(ns int64) string {
	if ns%1000 != 0 {
		return fmt.Sprintf("%d ns", ns)
	}
	return strconv.FormatInt(ns/1000, 10)
}

func jobAnswers(j *joined, a map[string]string, num func(string, int64)) {
	rings, devices, places, xe := map[string]bool{}, map[correlate.ID]bool{}, map[string]bool{}, map[string]bool{}
	var queued, ran, both, done, doneOfBoth, never, xeRuns, elapsed, run2done int64
	var most, mostHW int64
	var runs, delays []string
	for i := range j.rows.Jobs {
		r := &j.rows.Jobs[i]
		if r.Ring != "" {
			rings[r.Ring] = true
		}
		if r.DeviceID != 0 {
			devices[r.DeviceID] = true
		}
		most, mostHW = max(most, int64(r.JobCount.V)), max(mostHW, r.HWJobCount.V)
		if r.QueuedNS.OK {
			queued++
		}
		if r.RunNS.OK {
			ran++
			places[fmt.Sprint(r.DeviceID, r.Ring)] = true
		}
		if r.QueuedNS.OK && r.RunNS.OK {
			both++
			delays = append(delays, us(r.QueueDelayNS.V))
		}
		if r.DoneNS.OK {
			done++
			if r.RunNS.OK {
				doneOfBoth++
			}
		} else {
			never++
		}
		if r.RunNS.OK && r.DoneNS.OK {
			run2done += int64(r.DoneNS.V - r.RunNS.V)
			runs = append(runs, us(int64(r.DoneNS.V-r.RunNS.V)))
		}
		elapsed += r.ElapsedNS.V
		if r.Origin == "xe" {
			xeRuns += r.Runs
			xe[fmt.Sprint(r.FencePtr, r.JobPtr, r.HWFenceContext, r.HWFenceSeqno)] = true
		}
		if r.Origin == "v3d" {
			a[fmt.Sprintf("job %s seqno %d us", v3dQueues[r.Ring], r.SchedJobID.V)] = us(int64(r.DoneNS.V - r.RunNS.V))
		}
		if r.Origin == "mali" && r.RunNS.OK {
			a["gpu_sched_switch true time"] = fmt.Sprintf("%d.%06d", int64(r.RunNS.V)/1e9, int64(r.RunNS.V)%1e9/1e3)
		}
	}
	a["distinct rings"] = strings.Join(slices.Sorted(maps.Keys(rings)), " ")
	a["max job count / hw job count"] = fmt.Sprintf("%d / %d", most, mostHW)
	a["run->done us each"], a["queue->run us each"] = strings.Join(runs, " "), strings.Join(delays, " ")
	a["sum run->done us"], a["sum flush->retired us"] = us(run2done), us(run2done)
	num("jobs", int64(len(j.rows.Jobs)))
	num("drm_sched_job", queued)
	num("drm_run_job", ran)
	num("run jobs with their sched line in file", both)
	num("distinct dev", int64(len(devices)))
	num("distinct (dev,ring) of run jobs", int64(len(places)))
	num("submits", ran) // msm hands over what is submitted
	num("retired", done)
	num("retired with a submit in the file", doneOfBoth)
	num("submits never retired", never)
	num("sum of elapsed ns (GPU)", elapsed)
	num("max submits in flight", mostAtOnce(j))
	num("xe_sched_job_run", xeRuns)
	num("distinct xe fences", int64(len(xe)))
}

// mostAtOnce is the greatest backlog that the rings had.
func mostAtOnce(j *joined) int64 {
	var most int64
	for i := range j.rows.Rings {
		most = max(most, j.rows.Rings[i].MaxBacklog)
	}
	return most
}

func fenceAnswers(j *joined, a map[string]string, num func(string, int64)) {
	timelines := map[string]bool{}
	for i := range j.rows.Fences {
		f := &j.rows.Fences[i]
		timelines[f.Driver+"/"+f.Timeline] = true
	}
	var emitted event.Time
	var init, emit uint64
	for i := range j.events {
		e := &j.events[i]
		k, _ := e.Fence()
		if e.Kind == event.KindFenceInit {
			init = k.Seqno
		}
		if e.Kind == event.KindFenceEmit {
			emitted, emit = e.Time, k.Seqno
		}
		if e.Kind == event.KindOther { // the scheduler and the syncs name timelines in fields of their own
			var f struct{ Driver, Timeline string }
			if json.Unmarshal([]byte(e.Str(event.FieldArgs)), &f) == nil && f.Timeline != "" {
				timelines[f.Driver+"/"+f.Timeline] = true
			}
		}
	}
	a["distinct driver/timeline"] = strings.Join(slices.Sorted(maps.Keys(timelines)), " ")
	a["fence init seqno differs from emit seqno"] = fmt.Sprintf("%d / %d", init, emit)
	for i := range j.rows.Fences {
		if f := &j.rows.Fences[i]; f.Seqno == emit && f.SignalNS.OK {
			a["emit->signaled us"] = us(int64(f.SignalNS.V - emitted))
		}
	}
	if w := j.rows.FenceWaits; len(w) > 0 {
		a["wait us"] = us(w[0].WaitNS.V)
	}
}

// driverAnswers answers what only events of single drivers tell.
func driverAnswers(j *joined, a map[string]string) {
	var commit event.Time // of the last commit to CRTC 0
	for i := range j.rows.Others {
		if o := &j.rows.Others[i]; o.Name == "drm_mode_atomic_commit" && strings.Contains(o.Fields, `"crtcs":"{0x0}"`) {
			commit = o.TSNS.V
		}
	}
	for i := range j.events {
		e := &j.events[i]
		if e.Kind != event.KindMark || e.Str(event.FieldName) != "drm_vblank_event" {
			continue
		}
		var f struct{ Crtc int64 }
		if json.Unmarshal([]byte(e.Str(event.FieldArgs)), &f) != nil {
			continue
		}
		if f.Crtc == 0 {
			a["commit->vblank crtc0 us"] = us(int64(e.Time - commit))
			continue
		}
		a[fmt.Sprintf("drm_vblank_event minus its time= us (crtc %d)", f.Crtc)] = fmt.Sprintf("%.3f", float64(e.Time-e.TimeOf(event.FieldStart))/1000)
	}
	for i := range j.events {
		if e := &j.events[i]; e.Kind == event.KindJobRun {
			if at := e.TimeOf(event.FieldStart); at.Known() {
				a["line time minus payload ts us"] = us(int64(e.Time - at))
			}
		}
	}
}
