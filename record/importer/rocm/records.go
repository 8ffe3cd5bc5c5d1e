package rocm

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// record is any record of buffer_records.
type record struct {
	Kind        int   `json:"kind"`
	Operation   int   `json:"operation"`
	TID         int64 `json:"thread_id"`
	Start       int64 `json:"start_timestamp"`
	End         int64 `json:"end_timestamp"`
	Correlation struct {
		Internal uint64 `json:"internal"`
		External any    `json:"external"`
	} `json:"correlation_id"`
	Stream   *handle `json:"stream_id"`
	Dispatch *struct {
		Agent   handle  `json:"agent_id"`
		Queue   *handle `json:"queue_id"`
		Kernel  uint64  `json:"kernel_id"`
		ID      *uint64 `json:"dispatch_id"`
		Private uint64  `json:"private_segment_size"`
		Group   *uint64 `json:"group_segment_size"`
		Block   dim     `json:"workgroup_size"`
		Grid    dim     `json:"grid_size"`
	} `json:"dispatch_info"`
	Dst     *handle `json:"dst_agent_id"`
	Src     *handle `json:"src_agent_id"`
	Agent   *handle `json:"agent_id"`
	Bytes   *uint64 `json:"bytes"`
	AllocSz *uint64 `json:"allocation_size"`
	Address any     `json:"address"`
	Args    []struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
	} `json:"args"`
	Retval any `json:"retval"`
}

type dim struct{ X, Y, Z uint64 }

// records reads a list of records of one sort.
func (r *reader) records(sort string) error {
	source := "rocprofv3:" + sort
	return r.array(func() error {
		var v record
		if err := r.decode(&v); err != nil {
			return err
		}
		switch {
		case sort == "kernel_dispatch":
			r.dispatch(&v, source)
		case sort == "memory_copy":
			r.copy(&v, source)
		case strings.HasPrefix(sort, "marker"):
			r.marker(&v, source)
		case strings.HasSuffix(sort, "_api"):
			r.call(&v, source)
		default:
			r.other(&v, sort, source)
		}
		return nil
	})
}

// whole makes a complete event of a record.
func (r *reader) whole(k event.Kind, v *record, source string) *event.Event {
	e := r.add(k, event.NoTime, source)
	e.PID = r.proc.pid
	if v.TID > 0 {
		e.TID = int32(v.TID)
	}
	if v.Start == 0 && v.End == 0 {
		r.count.AddAt(&AnomalyNoTime, 1, source)
		return e
	}
	e.Time = event.Time(v.End)
	e.SetTime(event.FieldStart, event.Time(v.Start))
	span(&r.meta, e)
	return e
}

// operation names what a record is.
func (r *reader) operation(v *record) string {
	if ops := r.proc.ops[v.Kind]; v.Operation >= 0 && v.Operation < len(ops) && ops[v.Operation] != "" {
		return ops[v.Operation]
	}
	r.count.AddAt(&AnomalyNoName, 1, "kind "+strconv.Itoa(v.Kind)+" operation "+strconv.Itoa(v.Operation))
	return "kind " + strconv.Itoa(v.Kind) + " operation " + strconv.Itoa(v.Operation)
}

func (r *reader) call(v *record, source string) {
	name := r.operation(v)
	e := r.whole(event.KindAPI, v, source)
	e.SetStr(event.FieldName, name)
	e.SetUint(event.FieldAPI, uint64(r.family(v, name)))
	v.correlate(e)
	if n, ok := number(v.Retval); ok {
		e.SetInt(event.FieldResult, n)
	}
	r.callArgs(e, v)
}

// callArgs takes the arguments of a call; those that have no field are kept by name.
func (r *reader) callArgs(e *event.Event, v *record) {
	r.obj.Reset()
	if n := len(v.Args); n > maxArgs {
		r.count.AddAt(&AnomalyNotRead, uint64(n-maxArgs), "arguments of a call beyond "+strconv.Itoa(maxArgs))
		v.Args = v.Args[:maxArgs]
	}
	for i := range v.Args {
		a := &v.Args[i]
		switch a.Name {
		case "sizeBytes", "size", "sizeInBytes":
			if n, ok := number(a.Value); ok && n >= 0 {
				e.SetInt(event.FieldBytes, n)
			}
		case "stream":
			if s, ok := a.Value.(string); ok {
				setStream(e, s)
			}
		default:
			if r.obj.Len() > maxText {
				r.count.AddAt(&AnomalyNotRead, 1, "arguments of a call beyond 64 KiB")
				continue
			}
			switch x := a.Value.(type) {
			case string:
				r.obj.Str(cut(a.Name), cut(x))
			case interface{ String() string }: // json.Number
				r.obj.Str(cut(a.Name), cut(x.String()))
			default:
				r.count.AddAt(&AnomalyBadRecord, 1, "argument "+cut(a.Name)+" is neither text nor number")
			}
		}
	}
	e.SetStr(event.FieldArgs, r.obj.String())
}

// correlate sets the id that joins calls and work; 0 is none
// (rocprofiler-sdk numbers calls from 1).
func (v *record) correlate(e *event.Event) {
	if id := v.Correlation.Internal; id != 0 {
		e.SetInt(event.FieldCorrelationID, int64(id))
	}
}

// family tells the API of a call: by its kind, else by its name.
func (r *reader) family(v *record, name string) event.API {
	switch kind := r.proc.kinds[v.Kind]; {
	case strings.HasPrefix(kind, "HIP_"):
		return event.APIHIP
	case strings.HasPrefix(kind, "HSA_"):
		return event.APIHSA
	case strings.HasPrefix(kind, "RCCL"):
		return event.APINCCL
	}
	return family(name)
}

// marker is a range or an instant that the program named through roctx.
func (r *reader) marker(v *record, source string) {
	name := r.proc.markers[v.Correlation.Internal]
	if name == "" {
		name = r.operation(v)
	}
	k := event.KindSlice
	if v.Start == v.End {
		k = event.KindMark
	}
	if k == event.KindMark {
		e := r.add(k, event.Time(v.Start), source)
		e.PID = r.proc.pid
		if v.TID > 0 {
			e.TID = int32(v.TID)
		}
		span(&r.meta, e)
		e.SetStr(event.FieldName, name)
		e.SetStr(event.FieldCategory, "roctx")
		return
	}
	e := r.whole(k, v, source)
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldCategory, "roctx")
}

// dispatch is a kernel. Its grid is in work items, as HSA has it; events count
// work groups.
func (r *reader) dispatch(v *record, source string) {
	e := r.whole(event.KindGPUActivity, v, source)
	e.TID = event.NoID
	e.SetUint(event.FieldActivity, uint64(event.ActivityKernel))
	v.correlate(e)
	d := v.Dispatch
	if d == nil {
		r.count.AddAt(&AnomalyBadRecord, 1, source+" without dispatch_info")
		return
	}
	name, ok := r.proc.kernels[d.Kernel]
	if !ok {
		name = "kernel " + strconv.FormatUint(d.Kernel, 10)
		r.count.AddAt(&AnomalyNoName, 1, name)
	}
	e.SetStr(event.FieldName, name)
	device := r.device(d.Agent.Handle)
	if device == "" {
		r.count.AddAt(&AnomalyNoName, 1, "agent "+strconv.FormatUint(d.Agent.Handle, 10))
	}
	e.SetStr(event.FieldDevice, device)
	r.obj.Reset()
	switch {
	case v.Stream != nil:
		e.SetUint(event.FieldStream, v.Stream.Handle)
		if d.Queue != nil {
			r.obj.Uint("queue", d.Queue.Handle)
		}
	case d.Queue != nil:
		e.SetUint(event.FieldStream, d.Queue.Handle)
	}
	for i, g := range []struct{ grid, block uint64 }{{d.Grid.X, d.Block.X}, {d.Grid.Y, d.Block.Y}, {d.Grid.Z, d.Block.Z}} {
		grid := []event.Field{event.FieldGridX, event.FieldGridY, event.FieldGridZ}[i]
		block := []event.Field{event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ}[i]
		if g.block > 0 {
			e.SetUint(grid, (g.grid+g.block-1)/g.block)
			e.SetUint(block, g.block)
		}
	}
	if d.Group != nil {
		e.SetUint(event.FieldSharedMemBytes, *d.Group)
	}
	if d.ID != nil {
		r.obj.Uint("dispatch_id", *d.ID)
	}
	if d.Private != 0 {
		r.obj.Uint("private_segment_size", d.Private)
	}
	e.SetStr(event.FieldArgs, r.obj.String())
}

// device is the GPU of an agent.
func (r *reader) device(h uint64) string {
	if a, ok := r.proc.agents[h]; ok {
		return a.device
	}
	return ""
}

func (r *reader) copy(v *record, source string) {
	op := r.operation(v)
	e := r.whole(event.KindGPUActivity, v, source)
	e.TID = event.NoID
	e.SetUint(event.FieldActivity, uint64(event.ActivityMemcpy))
	e.SetStr(event.FieldName, op)
	v.correlate(e)
	if d := direction(op); d != event.DirUnknown {
		e.SetUint(event.FieldDirection, uint64(d))
	}
	if v.Bytes != nil {
		e.SetUint(event.FieldBytes, *v.Bytes)
	}
	if v.Stream != nil {
		e.SetUint(event.FieldStream, v.Stream.Handle)
	}
	src, dst := "", ""
	if v.Src != nil {
		src = r.device(v.Src.Handle)
	}
	if v.Dst != nil {
		dst = r.device(v.Dst.Handle)
	}
	dev := dst
	if dev == "" {
		dev = src
	}
	e.SetStr(event.FieldDevice, dev)
	if src != "" && dst != "" && src != dst {
		r.obj.Reset()
		r.obj.Str("src_device", src)
		e.SetStr(event.FieldArgs, r.obj.String())
	}
}

// other keeps records of sorts that have no kind of their own: allocations,
// scratch memory, page migrations, OpenMP.
func (r *reader) other(v *record, sort, source string) {
	name := r.operation(v)
	e := r.add(event.KindOther, event.NoTime, source)
	e.PID = r.proc.pid
	if v.TID > 0 {
		e.TID = int32(v.TID)
	}
	o := &r.obj
	o.Reset()
	if v.Start != 0 || v.End != 0 {
		e.Time = event.Time(v.Start)
		span(&r.meta, e)
		o.Int("end", v.End)
	}
	o.Str("sort", sort)
	if v.Correlation.Internal != 0 {
		o.Uint("correlation_id", v.Correlation.Internal)
	}
	if v.Agent != nil {
		if d := r.device(v.Agent.Handle); d != "" {
			o.Str("device", d)
		}
	}
	if v.AllocSz != nil {
		o.Uint("bytes", *v.AllocSz)
	}
	if v.Bytes != nil {
		o.Uint("bytes", *v.Bytes)
	}
	if s, ok := v.Address.(string); ok {
		o.Str("address", cut(s))
	}
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldArgs, o.String())
}

// number reads a whole number, which may stand as text.
func number(v any) (int64, bool) {
	var s string
	switch x := v.(type) {
	case interface{ String() string }: // json.Number
		s = x.String()
	case string:
		s = x
	default:
		return 0, false
	}
	n, err := strconv.ParseInt(s, 0, 64)
	return n, err == nil
}
