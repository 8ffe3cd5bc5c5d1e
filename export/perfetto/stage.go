package perfetto

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export/picture"
	"github.com/gpurec/gpurec/record/event"
)

// AnomalyStageNoGPU counts activities that are no render stages: Perfetto would
// take them for those of GPU 0.
var AnomalyStageNoGPU = event.AnomalySpec{Name: "perfetto_stage_no_gpu", Severity: event.SeverityWarning,
	Doc:    "GPU activities whose device is not known: not written as render stages.",
	Remedy: "their slices are under their process"}

const seqStages = 6

// Fields of GpuRenderStageEvent.
const (
	fieldRenderStage = 53

	rsEventID  = 1
	rsDuration = 2
	rsContext  = 5
	rsExtra    = 6
	rsSubmit   = 10
	rsGPU      = 11
	rsQueue    = 13
	rsStage    = 14
	rsKernel   = 19
	rsName     = 20
	rsLaunch   = 21
)

// Fields of InternedData, and the categories of its specifications.
const (
	inNames    = 2
	inContexts = 23
	inSpecs    = 24
	inKernels  = 1000

	categoryCompute = 2
)

// stageWriter writes render stages on sequence 6. Contexts and queues are
// those of one process: numbers of streams and contexts repeat between processes.
type stageWriter struct {
	out   *packets
	begun bool
	size  int // bytes interned
	ids   map[stageKey]uint64
	last  map[protowire.Number]uint64 // iids given, by field of InternedData
	in    []byte
	ev    []byte
	sub   []byte
}

// stageKey is what an interned message stands for.
type stageKey struct {
	field protowire.Number
	text  string
}

func (w *stageWriter) forget() {
	w.ids, w.last = map[stageKey]uint64{}, map[protowire.Number]uint64{}
	w.begun, w.size = false, 0
}

// iid returns the number of an interned message, which body writes if it is new.
func (w *stageWriter) iid(field protowire.Number, key string, body func(b []byte) []byte) uint64 {
	k := stageKey{field, key}
	if id := w.ids[k]; id != 0 {
		return id
	}
	w.last[field]++
	id := w.last[field]
	w.ids[k] = id
	w.sub = body(appendUint(w.sub[:0], 1, id))
	w.in = appendBytes(w.in, field, w.sub)
	w.size += len(w.sub)
	return id
}

// Stages implements [picture.StagePen]: the device must be in GpuInfo.
func (w *pen) Stages(v *picture.Device) bool {
	return v.Known && v.Row.Index >= 0 && v.Row.Index < maxGPUs
}

// Stage implements [picture.StagePen].
func (w *pen) Stage(s *picture.Stage) {
	if !w.Stages(s.Device) {
		w.scene.Counters.Add(&AnomalyStageNoGPU, 1)
		return
	}
	w.stages.write(s, &w.tracks.ids)
}

func (w *stageWriter) write(s *picture.Stage, pids *kernelIDs) {
	if w.ids == nil || len(w.ids) > maxInterned || w.size > maxInternedBytes {
		w.forget()
	}
	r := s.Row
	w.in = w.in[:0]
	b := appendUint(w.ev[:0], rsEventID, uint64(r.ID))
	b = appendUint(b, rsDuration, uint64(s.End-s.Start))
	b = appendUint(b, rsContext, w.context(s, pids))
	b = appendInt(b, rsGPU, s.Device.Row.Index)
	b = appendUint(b, rsQueue, w.queue(s))
	b = appendUint(b, rsStage, w.spec("stage "+stageKind(r), stageKind(r), computes(r)))
	b = appendUint(b, rsName, w.iid(inNames, s.Name, func(b []byte) []byte { return appendString(b, 2, valid(s.Name)) }))
	if r.Kind == "kernel" && r.Name != "" {
		b = appendUint(b, rsKernel, w.kernel(r.Name))
	}
	if r.CorrelationID.OK && r.CorrelationID.V > 0 && r.CorrelationID.V <= math.MaxUint32 {
		b = appendUint(b, rsSubmit, uint64(r.CorrelationID.V))
	}
	if l := appendLaunch(nil, r); len(l) > 0 {
		b = appendBytes(b, rsLaunch, l)
	}
	w.ev = w.extra(b, s)
	w.send(s.Start)
}

func (w *stageWriter) send(at int64) {
	flags := byte(flagNeeds)
	if !w.begun {
		flags, w.begun = flagCleared, true
	}
	w.out.head(seqStages, flags, at)
	if len(w.in) > 0 {
		w.out.buf = appendBytes(w.out.buf, fieldInterned, w.in)
	}
	w.out.buf = appendBytes(w.out.buf, fieldRenderStage, w.ev)
	w.out.send()
}

// context is the iid of a GPU context of a process.
func (w *stageWriter) context(s *picture.Stage, pids *kernelIDs) uint64 {
	pid := uint64(0)
	if s.Process != nil {
		pid = pids.id(s.Process.PID)
	}
	return w.iid(inContexts, fmt.Sprint(pid, " ", s.Row.Context), func(b []byte) []byte {
		if pid != 0 {
			b = appendUint(b, 2, pid)
		}
		return b
	})
}

// queue is the iid of a stream as a hardware queue.
func (w *stageWriter) queue(s *picture.Stage) uint64 {
	name := "stream unknown"
	if s.Row.Stream.OK {
		name = "stream " + strconv.FormatUint(s.Row.Stream.V, 10)
	}
	if p := s.Process; p != nil {
		name = strings.TrimSpace(p.Label()+" "+strconv.FormatInt(p.PID, 10)) + " " + name
	}
	return w.spec("queue "+name, name, false)
}

func (w *stageWriter) spec(key, name string, compute bool) uint64 {
	return w.iid(inSpecs, key, func(b []byte) []byte {
		b = appendString(b, 2, valid(name))
		if compute {
			b = appendUint(b, 4, categoryCompute)
		}
		return b
	})
}

func (w *stageWriter) kernel(name string) uint64 {
	return w.iid(inKernels, name, func(b []byte) []byte {
		b = appendString(b, 2, valid(name))
		if !strings.HasPrefix(name, "_Z") { // it is spelled out
			b = appendString(b, 3, valid(name))
		}
		return b
	})
}

func stageKind(r *correlate.GPUActivity) string {
	if r.Kind == "" {
		return "other"
	}
	return r.Kind
}

// computes reports whether an activity is of Perfetto's category COMPUTE.
func computes(r *correlate.GPUActivity) bool {
	return r.Kind == "kernel" || r.Kind == "graph" || r.Kind == "collective"
}

func appendLaunch(b []byte, r *correlate.GPUActivity) []byte {
	for i, d := range [2][3]correlate.OptUint{{r.GridX, r.GridY, r.GridZ}, {r.BlockX, r.BlockY, r.BlockZ}} {
		if !d[0].OK {
			continue
		}
		var dim []byte
		for k, v := range d {
			if v.OK && v.V <= math.MaxUint32 {
				dim = appendUint(dim, protowire.Number(k+1), v.V)
			}
		}
		b = appendBytes(b, protowire.Number(i+1), dim)
	}
	return b
}

// extra writes what the UI's plugins read by name.
func (w *stageWriter) extra(b []byte, s *picture.Stage) []byte {
	add := func(name, value string) {
		w.sub = appendString(appendString(w.sub[:0], 1, name), 2, valid(value))
		b = appendBytes(b, rsExtra, w.sub)
	}
	r := s.Row
	add("gpu_activity_id", strconv.FormatInt(int64(r.ID), 10))
	add("device", strconv.FormatInt(s.Device.Row.Index, 10))
	if r.Stream.OK {
		add("stream", strconv.FormatUint(r.Stream.V, 10))
	}
	if r.Context.OK {
		add("context", strconv.FormatUint(r.Context.V, 10))
	}
	if r.CorrelationID.OK {
		add("correlation_id", strconv.FormatInt(r.CorrelationID.V, 10))
	}
	if r.Bytes.OK {
		add("bytes", strconv.FormatUint(r.Bytes.V, 10))
	}
	if p := s.Process; p != nil {
		add("process_id", strconv.FormatInt(p.PID, 10))
		if p.Name != "" {
			add("process_name", p.Name)
		}
	}
	return b
}

// Fields of TrackEvent that tie API calls to render stages.
const (
	teCorrelation = 3000
	teAPI         = 3001
)

// Submits implements [picture.StagePen].
func (w *pen) Submits(api string, ids []correlate.ID) {
	switch {
	case strings.HasPrefix(api, "cuda"):
		w.ev = appendUint(w.ev, teAPI, 4)
	case api == "hip":
		w.ev = appendUint(w.ev, teAPI, 5)
	}
	if len(ids) == 0 {
		return
	}
	b := w.sub[:0]
	for _, id := range ids {
		b = appendUint(b, 1, uint64(id))
	}
	w.sub = b
	w.ev = appendBytes(w.ev, teCorrelation, b)
}
