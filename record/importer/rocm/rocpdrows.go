package rocm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/sqlitefile"
)

// Columns of the tables of events; those of rocpd_event come behind them.
var (
	regionCols   = []string{"start", "end", "nid", "pid", "tid", "name_id", "event_id"}
	dispatchCols = []string{"start", "end", "nid", "pid", "tid", "agent_id", "kernel_id", "dispatch_id", "queue_id", "stream_id", "private_segment_size",
		"group_segment_size", "grid_size_x", "grid_size_y", "grid_size_z", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z"}
	copyCols   = []string{"start", "end", "nid", "pid", "tid", "name_id", "dst_agent_id", "src_agent_id", "size", "queue_id", "stream_id"}
	allocCols  = []string{"start", "end", "nid", "pid", "tid", "agent_id", "type", "level", "address", "size", "queue_id", "stream_id"}
	sampleCols = []string{"timestamp", "track_id", "event_id"}
	eventCols  = []string{"stack_id", "category_id", "extdata"}
)

const maxArgs = 64 // of a call

// counters reads which events have values of performance counters, and when
// those events were: a value has no time of its own.
func (p *rocpd) counters() {
	p.row("rocpd_info_pmc", []string{"id", "symbol", "name", "units", "agent_id"}, func(rows *sqlitefile.Rows) {
		id, ok := rows.Int(0)
		if !ok || len(p.pmcs) >= maxLinks/16 {
			return
		}
		c := pmc{name: cut(rows.Text(1)), unit: cut(rows.Text(3)), device: p.device(rows, 4)}
		if c.name == "" {
			c.name = cut(rows.Text(2))
		}
		p.pmcs[id] = c
	})
	p.row("rocpd_pmc_event", []string{"event_id"}, func(rows *sqlitefile.Rows) {
		id, ok := rows.Int(0)
		switch {
		case !ok || len(p.counted) > 0 && p.counted[len(p.counted)-1] == id:
		case len(p.counted) >= maxLinks:
			p.rpd.count.Add(&AnomalyTooMany, 1)
		default:
			p.counted = append(p.counted, id)
		}
	})
	slices.Sort(p.counted)
	p.counted = slices.Compact(p.counted)
	if len(p.counted) == 0 {
		return
	}
	for table, at := range map[string]string{"rocpd_sample": "timestamp", "rocpd_kernel_dispatch": "end", "rocpd_region": "end"} {
		p.row(table, []string{"event_id", at}, func(rows *sqlitefile.Rows) {
			id, ok1 := rows.Int(0)
			t, ok2 := rows.Int(1)
			if ok1 && ok2 && p.hasCounters(id) && len(p.times) < maxLinks {
				p.times = append(p.times, eventTime{id, event.Time(t)})
			}
		})
	}
	slices.SortFunc(p.times, func(a, b eventTime) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at)) })
}

func (p *rocpd) hasCounters(id int64) bool {
	_, ok := slices.BinarySearch(p.counted, id)
	return ok
}

// events opens the tables of events.
func (p *rocpd) events() {
	e := sqlitefile.Join{Ref: "event_id", Table: "rocpd_event" + p.suffix, Columns: eventCols}
	begin := func(table string, cols []string, order string, do func(*rpd, *sqlitefile.Rows) event.Event) {
		rows, err := p.file.Joined(table+p.suffix, cols, e, order)
		p.begin(table+p.suffix, rows, err, do)
	}
	p.openArgs()
	begin("rocpd_region", regionCols, "event_id", p.region)
	begin("rocpd_kernel_dispatch", dispatchCols, "", p.dispatch)
	begin("rocpd_memory_copy", copyCols, "", p.copy)
	begin("rocpd_memory_allocate", allocCols, "", p.allocate)
	begin("rocpd_sample", sampleCols, "", p.sample)
	rows, err := p.file.Rows("rocpd_pmc_event"+p.suffix, "event_id", "pmc_id", "value")
	p.begin("rocpd_pmc_event"+p.suffix, rows, err, p.counter)
}

// openArgs begins to read arguments, by the event that they belong to: the
// order in which regions are read.
func (p *rocpd) openArgs() {
	table := "rocpd_arg" + p.suffix
	rows, err := p.file.Joined(table, []string{"event_id", "name", "value"}, sqlitefile.Join{}, "event_id")
	if err != nil {
		p.damaged(table, 0, err)
		p.args = &side{}
		return
	}
	p.args = &side{rows: rows}
	p.sides = append(p.sides, p.args)
	p.step(table, p.args)
}

// str is the string that a column names.
func (p *rocpd) str(rows *sqlitefile.Rows, col int) string {
	id, ok := rows.Int(col)
	if !ok {
		return ""
	}
	s, ok := p.strings[id]
	if !ok {
		p.count.AddAt(&AnomalyNoName, 1, "string "+strconv.FormatInt(id, 10))
		return "string " + strconv.FormatInt(id, 10)
	}
	return s
}

// device is the GPU that a column names, "" for a CPU.
func (p *rocpd) device(rows *sqlitefile.Rows, col int) string {
	id, ok := rows.Int(col)
	if !ok {
		return ""
	}
	return p.agents[id].device
}

// spanOf begins an event of the columns start, end, nid, pid, tid.
func (p *rocpd) spanOf(k event.Kind, rows *sqlitefile.Rows, source string) event.Event {
	e := p.whole(k, rows, source)
	p.domain(&e, rows, 2)
	e.PID = p.pid(rows, 3)
	return e
}

func (p *rocpd) thread(e *event.Event, rows *sqlitefile.Rows, col int) {
	if id, ok := rows.Int(col); ok {
		if tid, ok := p.tids[id]; ok {
			e.TID = tid
		} else {
			p.count.AddAt(&AnomalyNoName, 1, "thread "+strconv.FormatInt(id, 10))
		}
	}
}

// region is a call, or a range of the program.
func (p *rocpd) region(_ *rpd, rows *sqlitefile.Rows) event.Event {
	name, category := p.str(rows, 5), p.str(rows, 8)
	upper := strings.ToUpper(category)
	api := family(name)
	switch {
	case strings.Contains(upper, "HIP_"):
		api = event.APIHIP
	case strings.Contains(upper, "HSA_"):
		api = event.APIHSA
	case strings.Contains(upper, "RCCL"):
		api = event.APINCCL
	}
	id, _ := rows.Int(6)
	call := (api != event.APIUnknown || strings.HasSuffix(upper, "_API")) && !strings.Contains(upper, "MARKER")
	if !call {
		e := p.spanOf(event.KindSlice, rows, "rocpd:region")
		p.thread(&e, rows, 4)
		p.named(&e, name, category, rows, 9)
		p.obj.Reset()
		p.readArgs(id, func(k, v string) { p.obj.Str(k, v) })
		e.SetStr(event.FieldArgs, p.obj.String())
		return e
	}
	e := p.spanOf(event.KindAPI, rows, "rocpd:region")
	p.thread(&e, rows, 4)
	e.SetStr(event.FieldName, name)
	e.SetUint(event.FieldAPI, uint64(api))
	correlation(&e, rows, 7)
	p.obj.Reset()
	p.readArgs(id, func(k, v string) {
		n, err := strconv.ParseInt(v, 0, 64)
		switch {
		case k == "stream":
			setStream(&e, v)
		case (k == "sizeBytes" || k == "size" || k == "sizeInBytes") && err == nil && n >= 0:
			e.SetInt(event.FieldBytes, n)
		default:
			p.obj.Str(k, v)
		}
	})
	e.SetStr(event.FieldArgs, p.obj.String())
	return e
}

// readArgs gives the arguments of an event.
func (p *rocpd) readArgs(id int64, do func(name, value string)) {
	table := "rocpd_arg" + p.suffix
	if id <= 0 || !p.to(table, p.args, id) {
		return
	}
	for n := 0; p.args.ok && p.args.id == id; n++ {
		if n < maxArgs {
			do(cut(p.args.rows.Text(1)), cut(p.args.rows.Text(2)))
		} else {
			p.count.AddAt(&AnomalyTooMany, 1, table)
		}
		p.step(table, p.args)
	}
}

// named names a range or an instant of the program: its message, if it has one.
func (p *rocpd) named(e *event.Event, name, category string, rows *sqlitefile.Rows, ext int) {
	if strings.Contains(strings.ToUpper(category), "MARKER") {
		category = "roctx"
	}
	var x struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(rows.Text(ext)), &x) == nil && x.Message != "" {
		name = cut(x.Message)
	}
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldCategory, category)
}

// dispatch is a kernel. Its grid is in work items, as HSA has it; events count
// work groups.
func (p *rocpd) dispatch(_ *rpd, rows *sqlitefile.Rows) event.Event {
	e := p.spanOf(event.KindGPUActivity, rows, "rocpd:kernel_dispatch")
	e.SetUint(event.FieldActivity, uint64(event.ActivityKernel))
	correlation(&e, rows, 18)
	id, _ := rows.Int(6)
	name, ok := p.kernels[id]
	if !ok {
		name = "kernel " + strconv.FormatInt(id, 10)
		p.count.AddAt(&AnomalyNoName, 1, name)
	}
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldDevice, p.device(rows, 5))
	p.obj.Reset()
	p.stream(&e, rows, 8, 9)
	for i, f := range [3][2]event.Field{{event.FieldGridX, event.FieldBlockX}, {event.FieldGridY, event.FieldBlockY}, {event.FieldGridZ, event.FieldBlockZ}} {
		grid, ok1 := rows.Int(12 + i)
		block, ok2 := rows.Int(15 + i)
		if ok1 && ok2 && block > 0 && grid >= 0 {
			e.SetInt(f[0], grid/block+min(grid%block, 1))
			e.SetInt(f[1], block)
		}
	}
	if v, ok := rows.Int(11); ok && v >= 0 {
		e.SetInt(event.FieldSharedMemBytes, v)
	}
	if v, ok := rows.Int(7); ok {
		p.obj.Int("dispatch_id", v)
	}
	if v, ok := rows.Int(10); ok && v != 0 {
		p.obj.Int("private_segment_size", v)
	}
	e.SetStr(event.FieldArgs, p.obj.String())
	return e
}

// stream takes the stream of the program; where it has none but the default one
// the queue tells more of what runs beside what.
func (p *rocpd) stream(e *event.Event, rows *sqlitefile.Rows, queue, stream int) {
	q, ok1 := rows.Int(queue)
	s, ok2 := rows.Int(stream)
	switch {
	case ok2 && (p.streams > 1 || s != 0 || !ok1):
		e.SetInt(event.FieldStream, s)
		if ok1 {
			p.obj.Int("queue", q)
		}
	case ok1:
		e.SetInt(event.FieldStream, q)
	}
}

func (p *rocpd) copy(_ *rpd, rows *sqlitefile.Rows) event.Event {
	e := p.spanOf(event.KindGPUActivity, rows, "rocpd:memory_copy")
	e.SetUint(event.FieldActivity, uint64(event.ActivityMemcpy))
	correlation(&e, rows, 11)
	name := p.str(rows, 5)
	e.SetStr(event.FieldName, name)
	if d := direction(name); d != event.DirUnknown {
		e.SetUint(event.FieldDirection, uint64(d))
	}
	if v, ok := rows.Int(8); ok && v >= 0 {
		e.SetInt(event.FieldBytes, v)
	}
	p.obj.Reset()
	p.stream(&e, rows, 9, 10)
	dst, src := p.device(rows, 6), p.device(rows, 7)
	if dst == "" {
		dst = src
	} else if src != "" && src != dst {
		p.obj.Str("src_device", src)
	}
	e.SetStr(event.FieldDevice, dst)
	e.SetStr(event.FieldArgs, p.obj.String())
	return e
}

// allocate keeps an allocation: it has no kind of its own.
func (p *rocpd) allocate(_ *rpd, rows *sqlitefile.Rows) event.Event {
	e := event.New(event.KindOther, event.NoTime)
	e.Source = "rocpd:memory_allocate"
	if t, ok := rows.Int(0); ok {
		e.Time = event.Time(t)
	} else {
		p.count.AddAt(&AnomalyNoTime, 1, e.Source+" row "+strconv.FormatInt(rows.Read, 10))
	}
	p.domain(&e, rows, 2)
	e.PID = p.pid(rows, 3)
	p.thread(&e, rows, 4)
	e.SetStr(event.FieldName, strings.ToLower("memory_"+cut(rows.Text(6))))
	o := &p.obj
	o.Reset()
	if v, ok := rows.Int(1); ok {
		o.Int("end", v)
	}
	o.Str("level", strings.ToLower(cut(rows.Text(7))))
	if d := p.device(rows, 5); d != "" {
		o.Str("device", d)
	}
	for i, key := range []string{"address", "bytes"} {
		if v, ok := rows.Int(8 + i); ok {
			o.Int(key, v)
		}
	}
	if v, ok := rows.Int(12); ok && v > 0 {
		o.Int("correlation_id", v)
	}
	e.SetStr(event.FieldArgs, o.String())
	return e
}

// sample is an instant of the program. One that has counters is only their
// time, and no event of its own.
func (p *rocpd) sample(_ *rpd, rows *sqlitefile.Rows) event.Event {
	if id, ok := rows.Int(2); ok && p.hasCounters(id) {
		return event.Event{}
	}
	e := event.New(event.KindMark, event.NoTime)
	e.Source = "rocpd:sample"
	if t, ok := rows.Int(0); ok {
		e.Time = event.Time(t)
	} else {
		p.count.AddAt(&AnomalyNoTime, 1, e.Source+" row "+strconv.FormatInt(rows.Read, 10))
	}
	id, _ := rows.Int(1)
	if t, ok := p.tracks[id]; ok {
		if d := p.nodes[t.nid]; d != 0 {
			e.SetUint(event.FieldDomain, d)
		}
		if pid, ok := p.pids[t.pid]; ok {
			e.PID = pid
		}
		if tid, ok := p.tids[t.tid]; ok {
			e.TID = tid
		}
		p.named(&e, p.strings[t.name], p.str(rows, 4), rows, 5)
	} else {
		p.count.AddAt(&AnomalyNoName, 1, "track "+strconv.FormatInt(id, 10))
		p.named(&e, "", p.str(rows, 4), rows, 5)
	}
	return e
}

// counter is a value of a performance counter, at the time of its event: of a
// kernel's, its end.
func (p *rocpd) counter(_ *rpd, rows *sqlitefile.Rows) event.Event {
	e := event.New(event.KindCounter, event.NoTime)
	e.Source = "rocpd:pmc"
	if id, ok := rows.Int(0); ok {
		i, found := slices.BinarySearchFunc(p.times, id, func(t eventTime, id int64) int { return cmp.Compare(t.id, id) })
		if found {
			e.Time = p.times[i].at
		} else {
			p.count.AddAt(&AnomalyNoTime, 1, "counter of event "+strconv.FormatInt(id, 10))
		}
	}
	id, _ := rows.Int(1)
	c, ok := p.pmcs[id]
	if !ok {
		c.name = "counter " + strconv.FormatInt(id, 10)
		p.count.AddAt(&AnomalyNoName, 1, c.name)
	}
	e.SetStr(event.FieldName, c.name)
	e.SetStr(event.FieldUnit, c.unit)
	e.SetStr(event.FieldDevice, c.device)
	if v, ok := rows.Float(2); ok {
		e.SetFloat(event.FieldValue, v)
	} else {
		p.count.AddAt(&AnomalyBadRecord, 1, "rocpd_pmc_event row "+strconv.FormatInt(rows.Read, 10))
	}
	return e
}
