package perfetto

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// stage is a render stage in work.
type stage struct {
	id, duration, context       uint64
	hasID                       bool
	gpu                         int64
	queue, stageID, kernel      uint64
	hasQueue, hasStage, hasName bool
	hasKernel, hasContext       bool
	name                        string
	logical                     uint64
	hasLogical                  bool
	submission                  uint64
	stream                      uint64
	hasStream                   bool
	shared                      uint64
	hasShared                   bool
	grid, block                 [3]uint64
	hasGrid, hasBlock           bool
	waits                       []uint64
	ours                        bool // gpurec's export wrote it beside a slice of the same activity
}

// renderStage reads a GpuRenderStageEvent.
func (r *reader) renderStage(h *head, m *message) {
	s := h.seq
	var g stage
	r.obj.Reset()
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			g.id, g.hasID = f.v, true
		case 2:
			g.duration = f.v
		case 5:
			g.context, g.hasContext = f.v, true
		case 6:
			r.extraData(&g, f.b)
		case 7:
			r.stageSpecs(s, f.b)
		case 3: // hw_queue_id, oldest form
			g.name2(r, true, f.v)
		case 4:
			g.name2(r, false, f.v)
		case 10:
			g.submission = f.v
		case 11:
			g.gpu = int64(int32(f.v))
		case 13:
			g.queue, g.hasQueue = f.v, true
		case 14:
			g.stageID, g.hasStage = f.v, true
		case 17:
			g.name, g.hasName = r.str(f.b), true
		case 18:
			f.packed(func(v uint64) { g.waits = appendID(g.waits, v) })
		case 19:
			g.kernel, g.hasKernel = f.v, true
		case 20:
			g.name, g.hasName = r.lookup(&s.names, f.v), true
		case 21:
			r.launch(s, &g, f.b)
		case 22:
			g.logical, g.hasLogical = f.v, true
		case 8, 9, 12, 16:
			if f.v != 0 {
				r.obj.Hex([]string{8: "render_target", 9: "render_pass", 12: "command_buffer", 16: "render_pass_instance"}[f.num], f.v)
			}
		default:
			r.noteAt(&AnomalyFieldNotKept, 1, "render stage field %d", f.num)
		}
	}
	if !g.hasID && !g.hasQueue && !g.hasStage && !g.hasName && g.duration == 0 && !h.hasTime {
		return // specifications alone
	}
	if g.ours {
		r.note(&AnomalyDerived, 1)
		return
	}
	r.giveStage(h, &g)
}

// name2 takes names of the oldest form, in which a packet of specifications
// numbers queues and stages.
func (g *stage) name2(r *reader, queue bool, id uint64) {
	name := r.gpus.specs[queueSpec{queue, id}].name
	if name == "" {
		return
	}
	if queue {
		r.obj.Str("hw_queue", name)
		g.logical, g.hasLogical = r.queue(g.gpu, name), true
	} else if !g.hasName {
		g.name, g.hasName = name, true
	}
}

func (r *reader) stageSpecs(s *sequence, b []byte) {
	if r.gpus.specs == nil {
		r.gpus.specs = map[queueSpec]specName{}
	}
	var n [2]uint64
	var f, g field
	for m := (message{b: b}); m.next(&f); {
		switch f.num {
		case 1:
			r.internContext(s, f.b)
		case 2, 3:
			i := f.num - 2
			for x := (message{b: f.b}); x.next(&g); {
				if g.num == 1 && len(r.gpus.specs) < maxInterned {
					r.gpus.specs[queueSpec{i == 0, n[i]}] = specName{r.str(g.b)}
				}
			}
			n[i]++
		}
	}
}

// extraData reads {name, value}, both text.
func (r *reader) extraData(g *stage, b []byte) {
	var name, value string
	var f field
	for m := (message{b: b}); m.next(&f); {
		if f.num == 1 {
			name = r.str(f.b)
		} else {
			value = r.str(f.b)
		}
	}
	g.ours = g.ours || name == "gpu_activity_id"
	if name == "stream" {
		if v, err := strconv.ParseUint(value, 10, 64); err == nil {
			g.stream, g.hasStream = v, true
			return
		}
	}
	if r.obj.Len() < maxArgBytes {
		r.obj.Str(name, value)
	}
}

// launch reads grid, block and further parameters.
func (r *reader) launch(s *sequence, g *stage, b []byte) {
	var f field
	for m := (message{b: b}); m.next(&f); {
		switch f.num {
		case 1:
			g.grid, g.hasGrid = dim3(f.b), true
		case 2:
			g.block, g.hasBlock = dim3(f.b), true
		case 3:
			r.computeArg(s, g, f.b)
		}
	}
}

func dim3(b []byte) (v [3]uint64) {
	var f field
	for m := (message{b: b}); m.next(&f); {
		if f.num >= 1 && f.num <= 3 {
			v[f.num-1] = f.v
		}
	}
	return v
}

// computeArg reads an ExtraComputeArg.
func (r *reader) computeArg(s *sequence, g *stage, b []byte) {
	var name string
	var v field
	var f field
	for m := (message{b: b}); m.next(&f); {
		switch f.num {
		case 1:
			name = r.lookup(&s.kernelArgs, f.v)
		case 2:
			name = r.str(f.b)
		default:
			v = f
		}
	}
	if r.obj.Len() > maxArgBytes {
		return
	}
	o := &r.obj
	switch {
	case name == "shared_mem_dynamic" && (v.num == 3 || v.num == 4):
		g.shared, g.hasShared = v.v, true
	case name == "stream" && (v.num == 3 || v.num == 4):
		g.stream, g.hasStream = v.v, true
	case v.num == 3:
		o.Int(name, int64(v.v))
	case v.num == 4:
		o.Uint(name, v.v)
	case v.num == 5:
		o.Float(name, v.float())
	case v.num == 6:
		o.Str(name, r.str(v.b))
	case v.num == 7:
		o.Str(name, r.lookup(&s.strings, v.v))
	}
}

// queue numbers the queues of a GPU by their names.
func (r *reader) queue(gpu int64, name string) uint64 {
	k := queueKey{gpu, name}
	n, ok := r.gpus.queues[k]
	if !ok {
		if r.gpus.queues == nil {
			r.gpus.queues = map[queueKey]uint64{}
		}
		n = uint64(len(r.gpus.queues))
		if n < maxInterned {
			r.gpus.queues[k] = n
		}
	}
	return n
}

// giveStage gives work on a device.
func (r *reader) giveStage(h *head, g *stage) {
	s := h.seq
	queue, name, category := "", "", uint64(0)
	if g.hasQueue {
		queue = r.lookup(&s.specs, g.queue)
	}
	if g.hasStage {
		name, category = r.lookup(&s.specs, g.stageID), s.specKinds[g.stageID]
	}
	k := r.stageArgs(s, g, queue)
	e := r.add(event.KindGPUActivity, endOf(h.time, g.duration))
	e.Source = "perfetto:render_stage"
	e.SetTime(event.FieldStart, h.time)
	r.stageName(e, g, k, name)
	e.SetUint(event.FieldActivity, uint64(stageKind(g, category, name)))
	r.stagePlace(e, s, g, queue)
	if g.hasID {
		e.SetInt(event.FieldCorrelationID, int64(g.id))
	}
	if g.hasShared {
		e.SetUint(event.FieldSharedMemBytes, g.shared)
	}
	if g.hasGrid {
		setDims(e, g.grid, event.FieldGridX, event.FieldGridY, event.FieldGridZ)
	}
	if g.hasBlock {
		setDims(e, g.block, event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ)
	}
	if name != "" && name != e.Str(event.FieldName) {
		r.obj.Str("stage", name)
	}
	e.SetStr(event.FieldArgs, r.obj.String())
}

// stageArgs adds what has no field of its own; it returns the kernel, or nil.
func (r *reader) stageArgs(s *sequence, g *stage, queue string) *kernel {
	var k *kernel
	if g.hasKernel {
		if k = s.kernels[g.kernel]; k == nil {
			r.note(&AnomalyInterned, 1)
		}
	}
	if k != nil {
		if k.demangled != "" {
			r.obj.Str("mangled_name", k.name)
		}
		if k.arch != "" {
			r.obj.Str("arch", k.arch)
		}
		var f field
		for m := (message{b: k.args}); m.next(&f); {
			r.computeArg(s, g, f.b)
		}
	}
	if queue != "" {
		r.obj.Str("hw_queue", queue)
	}
	if g.submission != 0 {
		r.obj.Uint("submission_id", g.submission)
	}
	r.idList("waits_for", g.waits)
	return k
}

// stagePlace sets device, process and stream.
func (r *reader) stagePlace(e *event.Event, s *sequence, g *stage, queue string) {
	e.SetStr(event.FieldDevice, r.gpus.name(g.gpu))
	if g.hasContext {
		e.SetUint(event.FieldContext, g.context)
		if c, ok := s.contexts[g.context]; ok && c.pid > 0 {
			e.PID = c.pid
		}
	}
	switch {
	case g.hasStream:
		e.SetUint(event.FieldStream, g.stream)
	case g.hasLogical:
		e.SetUint(event.FieldStream, g.logical)
	case g.hasQueue && queue != "":
		e.SetUint(event.FieldStream, r.queue(g.gpu, queue))
	}
}

func endOf(t event.Time, d uint64) event.Time {
	if !t.Known() {
		return t
	}
	return t + event.Time(d)
}

func setDims(e *event.Event, v [3]uint64, fields ...event.Field) {
	for i, f := range fields {
		e.SetUint(f, v[i])
	}
}

// stageName is the kernel, else what the event is called, else its stage.
func (r *reader) stageName(e *event.Event, g *stage, k *kernel, stage string) {
	switch {
	case k != nil && k.demangled != "":
		e.SetStr(event.FieldName, k.demangled)
	case k != nil:
		e.SetStr(event.FieldName, k.name)
	case g.hasName:
		e.SetStr(event.FieldName, g.name)
	default:
		e.SetStr(event.FieldName, stage)
	}
}

// stageKind tells what a stage is: compute work is a kernel unless its stage
// says that it copies or sets.
func stageKind(g *stage, category uint64, stage string) event.Activity {
	const compute = 2
	low := strings.ToLower(stage)
	switch {
	case g.hasKernel:
		return event.ActivityKernel
	case strings.Contains(low, "memcpy"):
		return event.ActivityMemcpy
	case strings.Contains(low, "memset"):
		return event.ActivityMemset
	case category == compute:
		return event.ActivityKernel
	}
	return event.ActivityOther
}

// maxIDs bounds a list of ids in arguments.
const maxIDs = 64

func appendID(l []uint64, v uint64) []uint64 {
	if len(l) < maxIDs {
		l = append(l, v)
	}
	return l
}

// idList adds a list of numbers to the object in work.
func (r *reader) idList(key string, l []uint64) {
	if len(l) == 0 {
		return
	}
	r.obj.Key(key)
	r.obj.Open('[')
	for _, v := range l {
		r.obj.UintValue(v)
	}
	r.obj.Close(']')
}
