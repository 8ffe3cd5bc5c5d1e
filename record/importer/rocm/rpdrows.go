package rocm

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/sqlitefile"
)

// str is the string of a reference.
func (r *rpd) str(rows *sqlitefile.Rows, col int) string {
	id, ok := rows.Int(col)
	if !ok {
		return ""
	}
	s, ok := r.strings[id]
	if !ok {
		r.count.AddAt(&AnomalyNoName, 1, "string "+strconv.FormatInt(id, 10))
		return "string " + strconv.FormatInt(id, 10)
	}
	return s
}

// whole makes a complete event of the columns start and end.
func (r *rpd) whole(k event.Kind, rows *sqlitefile.Rows, source string) event.Event {
	e := event.New(k, event.NoTime)
	e.Source = source
	start, ok := rows.Int(0)
	end, hasEnd := rows.Int(1)
	if !ok {
		r.count.AddAt(&AnomalyNoTime, 1, source+" row "+strconv.FormatInt(rows.Read, 10))
		return e
	}
	if !hasEnd {
		end = start
	}
	e.Time = event.Time(end)
	e.SetTime(event.FieldStart, event.Time(start))
	return e
}

var kernelAPICols = []string{"api_ptr_id", "stream", "gridX", "gridY", "gridZ", "workgroupX", "workgroupY", "workgroupZ", "groupSegmentSize", "kernelName_id"}

var copyAPICols = []string{"api_ptr_id", "stream", "size", "kind"}

// userMarker is the name under which rpd_tracer keeps ranges of the program.
const userMarker = "UserMarker"

func (r *rpd) api(rows *sqlitefile.Rows) event.Event {
	name := r.str(rows, 5)
	text := r.str(rows, 6)
	id, _ := rows.Int(2)
	if name == userMarker {
		e := r.whole(event.KindSlice, rows, "rpd:marker")
		r.who(&e, rows)
		e.SetStr(event.FieldName, text)
		e.SetStr(event.FieldCategory, "roctx")
		return e
	}
	e := r.whole(event.KindAPI, rows, "rpd:api")
	r.who(&e, rows)
	e.SetStr(event.FieldName, name)
	e.SetUint(event.FieldAPI, uint64(family(name)))
	e.SetInt(event.FieldCorrelationID, id)
	if r.to("rocpd_kernelapi", r.kernels, id) {
		k := r.kernels.rows
		setStream(&e, k.Text(1))
		for i, f := range []event.Field{event.FieldGridX, event.FieldGridY, event.FieldGridZ, event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ, event.FieldSharedMemBytes} {
			if v, ok := k.Int(2 + i); ok && v >= 0 {
				e.SetInt(f, v)
			}
		}
		e.SetStr(event.FieldKernelName, r.str(k, 9))
		r.step("rocpd_kernelapi", r.kernels)
	}
	if r.to("rocpd_copyapi", r.copies, id) {
		c := r.copies.rows
		setStream(&e, c.Text(1))
		if v, ok := c.Int(2); ok && v >= 0 {
			e.SetInt(event.FieldBytes, v)
		}
		if d := copyKind(c); d != event.DirUnknown {
			e.SetUint(event.FieldDirection, uint64(d))
		}
		r.step("rocpd_copyapi", r.copies)
	}
	return e
}

// copyKind maps hipMemcpyKind.
func copyKind(rows *sqlitefile.Rows) event.Direction {
	k, ok := rows.Int(3)
	if !ok {
		return event.DirUnknown
	}
	switch k {
	case 0:
		return event.DirHtoH
	case 1:
		return event.DirHtoD
	case 2:
		return event.DirDtoH
	case 3:
		return event.DirDtoD
	}
	return event.DirUnknown
}

// setStream reads a handle, which stands as text: "0x5581".
func setStream(e *event.Event, s string) {
	if v, err := strconv.ParseUint(s, 0, 64); err == nil {
		e.SetUint(event.FieldStream, v)
	}
}

func (r *rpd) who(e *event.Event, rows *sqlitefile.Rows) {
	if v, ok := rows.Int(3); ok {
		e.PID = int32(v)
	}
	if v, ok := rows.Int(4); ok {
		e.TID = int32(v)
	}
}

// op is work on a device.
func (r *rpd) op(rows *sqlitefile.Rows) event.Event {
	e := r.whole(event.KindGPUActivity, rows, "rpd:op")
	id, _ := rows.Int(2)
	typ, name := r.str(rows, 7), r.str(rows, 6)
	what := event.ActivityOther
	switch {
	case strings.Contains(typ, "Kernel") || strings.Contains(typ, "Dispatch"):
		what = event.ActivityKernel
	case strings.Contains(typ, "Copy"):
		what = event.ActivityMemcpy
	case strings.Contains(typ, "Fill"):
		what = event.ActivityMemset
	}
	e.SetUint(event.FieldActivity, uint64(what))
	if d := direction(typ); what == event.ActivityMemcpy && d != event.DirUnknown {
		e.SetUint(event.FieldDirection, uint64(d))
	}
	if name == "" {
		name = typ
	}
	e.SetStr(event.FieldName, name)
	if v, ok := rows.Int(3); ok {
		e.SetStr(event.FieldDevice, "gpu"+strconv.FormatInt(v, 10))
	}
	if v, ok := rows.Int(4); ok {
		e.SetInt(event.FieldStream, v)
	}
	if api, ok := r.launch[id]; ok {
		e.SetInt(event.FieldCorrelationID, api)
		if api >= 0 && api < int64(len(r.pids)) {
			e.PID = r.pids[api]
		}
	}
	r.obj.Reset()
	if typ != name {
		r.obj.Str("op_type", typ)
	}
	if v, ok := rows.Int(5); ok && v != 0 {
		r.obj.Int("sequence_id", v)
	}
	e.SetStr(event.FieldArgs, r.obj.String())
	return e
}

// monitor is a value that held for a while: its sample stands at the start.
func (r *rpd) monitor(rows *sqlitefile.Rows) event.Event {
	e := event.New(event.KindCounter, event.NoTime)
	e.Source = "rpd:monitor"
	if v, ok := rows.Int(0); ok {
		e.Time = event.Time(v)
	} else {
		r.count.Add(&AnomalyNoTime, 1)
	}
	e.SetStr(event.FieldName, cut(rows.Text(4)))
	if id, ok := rows.Int(3); ok {
		kind := cut(rows.Text(2))
		if kind == "" {
			kind = "gpu"
		}
		e.SetStr(event.FieldDevice, kind+strconv.FormatInt(id, 10))
	}
	if v, ok := rows.Float(5); ok {
		e.SetFloat(event.FieldValue, v)
	} else if v, err := strconv.ParseFloat(strings.TrimSpace(rows.Text(5)), 64); err == nil {
		e.SetFloat(event.FieldValue, v)
	} else {
		r.count.AddAt(&AnomalyBadRecord, 1, "rocpd_monitor row "+strconv.FormatInt(rows.Read, 10))
	}
	return e
}
