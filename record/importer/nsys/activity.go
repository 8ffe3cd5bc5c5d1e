package nsys

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// activity adds what all work on a device has in common.
func (r *reader) activity(c *cursor, what event.Activity) *event.Event {
	e := r.event(c, event.KindGPUActivity)
	e.SetUint(event.FieldActivity, uint64(what))
	r.place(c, e)
	if v, ok := c.rows.Int(actContext); ok {
		e.SetInt(event.FieldContext, v)
	}
	if v, ok := c.rows.Int(actStream); ok {
		e.SetInt(event.FieldStream, v)
	}
	if v, ok := c.rows.Int(actCorrelation); ok && v != 0 {
		e.SetInt(event.FieldCorrelationID, v)
	}
	if v, ok := c.rows.Int(actGraphNode); ok && v != 0 {
		e.SetInt(event.FieldGraphNode, v)
	}
	return e
}

// place sets process and device.
func (r *reader) place(c *cursor, e *event.Event) {
	if v, ok := c.rows.Int(actPID); ok {
		r.ids(e, v)
		e.TID = event.NoID
	} else if r.onlyPID != event.NoID {
		e.PID = r.onlyPID
		e.Flags |= event.FlagPIDInferred
	}
	if v, ok := c.rows.Int(actDevice); ok && e.Kind == event.KindGPUActivity {
		e.SetStr(event.FieldDevice, r.gpus.name(r, e.PID, v))
	}
}

var kernelCols = []string{"demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
	"dynamicSharedMemory", "staticSharedMemory", "registersPerThread", "localMemoryPerThread", "gridId", "graphId", "clusterX", "clusterY", "clusterZ"}

const (
	kerDemangled = actOwn + iota
	kerShort
	kerMangled
	kerGridX
	kerExtra = kerGridX + 7 // behind grid, block and dynamic shared memory: into args
)

var launchDims = []event.Field{event.FieldGridX, event.FieldGridY, event.FieldGridZ,
	event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ, event.FieldSharedMemBytes}

func (r *reader) kernel(c *cursor) {
	e := r.activity(c, event.ActivityKernel)
	name := r.ref(c, kerDemangled)
	if name == "" {
		name = r.ref(c, kerMangled)
	}
	short := r.ref(c, kerShort)
	if name == "" {
		name = short
	}
	e.SetStr(event.FieldName, name)
	for i, f := range launchDims {
		if v, ok := c.rows.Int(kerGridX + i); ok {
			e.SetInt(f, v)
		}
	}
	r.obj.Reset()
	if short != name && short != "" {
		r.obj.Str("short_name", short)
	}
	for i := kerExtra; i < actOwn+len(kernelCols); i++ {
		if v, ok := c.rows.Int(i); ok && v != 0 {
			r.obj.Int(snake(kernelCols[i-actOwn]), v)
		}
	}
	e.SetStr(event.FieldArgs, r.obj.String())
}

var copyCols = []string{"bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "copyCount", "migrationCause"}

const (
	cpyBytes = actOwn + iota
	cpyKind
	cpySrcKind
	cpyDstKind
	cpySrcDevice
	cpyDstDevice
	cpyCount
	cpyCause
)

// direction maps CUpti_ActivityMemcpyKind; arrays are memory of the device.
func direction(kind int64) event.Direction {
	switch kind {
	case 1, 3, 11:
		return event.DirHtoD
	case 2, 4, 12:
		return event.DirDtoH
	case 5, 6, 7, 8, 13:
		return event.DirDtoD
	case 9:
		return event.DirHtoH
	case 10:
		return event.DirPtoP
	}
	return event.DirUnknown
}

func (r *reader) copy(c *cursor) {
	e := r.activity(c, event.ActivityMemcpy)
	kind, ok := c.rows.Int(cpyKind)
	d := direction(kind)
	name := "Memcpy"
	if ok && d != event.DirUnknown {
		e.SetUint(event.FieldDirection, uint64(d))
		name += " " + d.String()
	}
	e.SetStr(event.FieldName, name)
	r.bytes(e, c, cpyBytes)
	r.obj.Reset()
	if ok {
		r.labelled("copy_kind", "ENUM_CUDA_MEMCPY_OPER", c, cpyKind)
	}
	r.labelled("src_kind", "ENUM_CUDA_MEM_KIND", c, cpySrcKind)
	r.labelled("dst_kind", "ENUM_CUDA_MEM_KIND", c, cpyDstKind)
	if v, ok := c.rows.Int(cpySrcDevice); ok {
		r.obj.Int("src_device", v)
	}
	if v, ok := c.rows.Int(cpyDstDevice); ok {
		r.obj.Int("dst_device", v)
	}
	if v, ok := c.rows.Int(cpyCount); ok && v > 1 {
		r.obj.Int("copy_count", v)
	}
	r.labelled("migration_cause", "ENUM_CUDA_UNIF_MEM_MIGRATION", c, cpyCause)
	e.SetStr(event.FieldArgs, r.obj.String())
}

func (r *reader) bytes(e *event.Event, c *cursor, at int) {
	if v, ok := c.rows.Int(at); ok && v >= 0 {
		e.SetInt(event.FieldBytes, v)
	}
}

// labelled adds a column that is a number of an ENUM table, by its label.
func (r *reader) labelled(key, enum string, c *cursor, at int) {
	if s := r.label(enum, c, at); s != "" {
		r.obj.Str(key, s)
	}
}

var setCols = []string{"bytes", "value", "memKind"}

func (r *reader) set(c *cursor) {
	e := r.activity(c, event.ActivityMemset)
	e.SetStr(event.FieldName, "Memset")
	r.bytes(e, c, actOwn)
	r.obj.Reset()
	if v, ok := c.rows.Int(actOwn + 1); ok {
		r.obj.Int("value", v)
	}
	r.labelled("mem_kind", "ENUM_CUDA_MEM_KIND", c, actOwn+2)
	e.SetStr(event.FieldArgs, r.obj.String())
}

var graphCols = []string{"graphId", "graphExecId"}

// graph is a whole launch of a graph: how nsys traces graphs by default.
func (r *reader) graph(c *cursor) {
	e := r.activity(c, event.ActivityGraph)
	r.obj.Reset()
	name := "graph"
	for i, key := range []string{"graph_id", "graph_exec_id"} {
		if v, ok := c.rows.Int(actOwn + i); ok {
			r.obj.Int(key, v)
			if i == 0 {
				name += " " + strconv.FormatInt(v, 10)
			}
		}
	}
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldArgs, r.obj.String())
}

var syncCols = []string{"syncType", "eventId", "eventSyncId"}

// sync is a wait for the device, or of one stream for another. It is no work
// on the device: a range on a track of its own, since its thread is not named.
func (r *reader) sync(c *cursor) {
	e := r.event(c, event.KindSlice)
	r.place(c, e)
	e.SetStr(event.FieldCategory, "cuda_sync")
	e.SetStr(event.FieldTrack, "CUDA synchronisation")
	name := r.label("ENUM_CUPTI_SYNC_TYPE", c, actOwn)
	if name == "" {
		name = "sync"
	}
	e.SetStr(event.FieldName, name)
	if v, ok := c.rows.Int(actCorrelation); ok && v != 0 {
		e.SetInt(event.FieldCorrelationID, v)
	}
	r.obj.Reset()
	for i, key := range []string{"device", "context", "stream"} {
		if v, ok := c.rows.Int(actDevice + i); ok {
			r.obj.Int(key, v)
		}
	}
	for i, key := range []string{"event_id", "event_sync_id"} {
		if v, ok := c.rows.Int(actOwn + 1 + i); ok && v != 0 {
			r.obj.Int(key, v)
		}
	}
	e.SetStr(event.FieldArgs, r.obj.String())
}

var metricCols = []string{"typeId", "metricId", "value"}

// metric is a sample of a GPU's counters. The low byte of its type is the GPU.
func (r *reader) metric(c *cursor) {
	e := r.event(c, event.KindCounter)
	typ, _ := c.rows.Int(colFirst)
	id, _ := c.rows.Int(colFirst + 1)
	name := r.gpus.metrics[metricKey{typ, id}]
	if name == "" {
		name = "metric " + strconv.FormatInt(id, 10)
	}
	name, unit := metricUnit(name)
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldUnit, unit)
	if v, ok := c.rows.Float(colFirst + 2); ok {
		e.SetFloat(event.FieldValue, v)
	}
	e.SetStr(event.FieldDevice, r.gpus.byID(r, typ&0xff))
}

// metricUnit splits "SMs Active [Throughput %]".
func metricUnit(s string) (name, unit string) {
	name, unit, ok := strings.Cut(s, " [")
	if unit, ok2 := strings.CutSuffix(unit, "]"); ok && ok2 {
		if strings.HasSuffix(unit, "%") {
			return s, "%"
		}
		return name, unit
	}
	return s, ""
}

// snake gives a column's name as arguments are written: registersPerThread
// becomes registers_per_thread.
func snake(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
