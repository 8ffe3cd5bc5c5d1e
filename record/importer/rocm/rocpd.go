package rocm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/sqlitefile"
)

// sdkClock is what rocprofiler-sdk reads: its own times are CLOCK_BOOTTIME
// (default_clock_id in source/lib/common/utility.hpp), and so is the HSA
// runtime's system clock, to which it brings the times of devices.
const sdkClock = event.ClockBoottime

// rocpd is one process's part of a rocpd database, schema 3: the tables of one
// suffix, whose numbers refer to each other. What rocprofv3 wrote has one part;
// a database into which several were put has several.
//
// A row of rocpd_region, rocpd_kernel_dispatch and rocpd_memory_copy names a row
// of rocpd_event, whose stack_id is the correlation id of the call (internal),
// the same for the call and what it launched.
type rocpd struct {
	*rpd
	suffix  string
	strings map[int64]string
	pids    map[int64]int32 // by number of rocpd_info_process
	tids    map[int64]int32
	nodes   map[int64]uint64 // domain of a machine
	agents  map[int64]agent
	kernels map[int64]string
	tracks  map[int64]track
	pmcs    map[int64]pmc
	streams int64 // how many there are, the default one among them
	args    *side
	counted []int64 // events that counters belong to, ascending
	times   []eventTime
}

// track is what samples lie on.
type track struct{ nid, pid, tid, name int64 }

// pmc is a performance counter.
type pmc struct{ name, unit, device string }

// eventTime is when an event that has counters was.
type eventTime struct {
	id int64
	at event.Time
}

// parts are the tables of a part that hold events or names.
var parts = []string{"rocpd_metadata", "rocpd_string", "rocpd_info_node", "rocpd_info_process", "rocpd_info_thread", "rocpd_info_agent",
	"rocpd_info_queue", "rocpd_info_stream", "rocpd_info_pmc", "rocpd_info_kernel_symbol", "rocpd_track", "rocpd_event", "rocpd_arg", "rocpd_pmc_event",
	"rocpd_region", "rocpd_sample", "rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_memory_allocate"}

// maxWho bounds the processes and threads that are named.
const maxWho = 1 << 16

func openROCPD(in importer.Input, o importer.Options) (importer.Reader, error) {
	r, err := openFile(in, o, event.Meta{Format: "rocpd", Clock: sdkClock})
	if err != nil {
		return nil, err
	}
	suffixes := r.suffixes()
	if len(suffixes) == 0 {
		r.file.Close()
		return nil, &importer.Error{Name: in.Name, Offset: -1, Err: errors.New("holds no rocpd_region, rocpd_kernel_dispatch or rocpd_memory_copy, so it is no rocpd database"),
			Remedy: "if it is a file of rpd_tracer, name it: --from rpd"}
	}
	left, nodes := maxStrings, map[string]uint64{}
	known := map[string]bool{}
	for _, s := range suffixes {
		for _, t := range parts {
			known[t+s] = true
		}
		p := &rocpd{rpd: r, suffix: s, strings: map[int64]string{}, pids: map[int64]int32{}, tids: map[int64]int32{}, nodes: map[int64]uint64{},
			agents: map[int64]agent{}, kernels: map[int64]string{}, tracks: map[int64]track{}, pmcs: map[int64]pmc{}}
		p.names(&left)
		p.identities(nodes)
		p.counters()
		p.events()
	}
	r.leftOut(known)
	return r, nil
}

// suffixes lists the parts, by the tables that hold events.
func (r *rpd) suffixes() (l []string) {
	for n := range r.file.Tables {
		for _, t := range []string{"rocpd_region", "rocpd_kernel_dispatch", "rocpd_memory_copy"} {
			s, ok := strings.CutPrefix(n, t)
			if ok && (s == "" || s[0] == '_') && !slices.Contains(l, s) {
				l = append(l, s)
			}
		}
	}
	slices.Sort(l)
	return l
}

func (p *rocpd) row(table string, cols []string, do func(*sqlitefile.Rows)) {
	p.each(table+p.suffix, cols, do)
}

// names reads what rows refer to by number.
func (p *rocpd) names(left *int) {
	p.row("rocpd_string", []string{"id", "string"}, func(rows *sqlitefile.Rows) {
		id, ok := rows.Int(0)
		s := cut(rows.Text(1))
		if *left -= len(s) + 64; ok && *left > 0 {
			p.strings[id] = s
		}
	})
	p.row("rocpd_metadata", []string{"tag", "value"}, func(rows *sqlitefile.Rows) {
		if len(p.meta.Facts) < 1000 {
			p.meta.Facts = append(p.meta.Facts, event.Fact{Key: "rocpd." + cut(rows.Text(0)), Value: cut(rows.Text(1))})
		}
	})
	p.row("rocpd_info_kernel_symbol", []string{"id", "display_name", "kernel_name"}, func(rows *sqlitefile.Rows) {
		name := cut(rows.Text(1))
		if name == "" {
			name = strings.TrimSuffix(cut(rows.Text(2)), ".kd")
		}
		if *left -= len(name) + 64; *left > 0 {
			id, _ := rows.Int(0)
			p.kernels[id] = name
		}
	})
	p.row("rocpd_info_stream", []string{"id"}, func(*sqlitefile.Rows) { p.streams++ })
	p.row("rocpd_track", []string{"id", "nid", "pid", "tid", "name_id"}, func(rows *sqlitefile.Rows) {
		var t track
		id, ok := rows.Int(0)
		t.nid, _ = rows.Int(1)
		t.pid, _ = rows.Int(2)
		t.tid, _ = rows.Int(3)
		t.name, _ = rows.Int(4)
		if ok && len(p.tracks) < maxLinks/16 {
			p.tracks[id] = t
		}
	})
}

// identities reads machines, processes, threads and devices. Machines are apart:
// the first that any part names is domain 0.
func (p *rocpd) identities(nodes map[string]uint64) {
	hosts := map[int64]string{}
	p.row("rocpd_info_node", []string{"id", "machine_id", "hostname", "release", "hardware_name"}, func(rows *sqlitefile.Rows) {
		id, ok := rows.Int(0)
		if !ok || len(nodes) >= 4096 {
			return
		}
		key := cut(rows.Text(1) + "\x00" + rows.Text(2))
		d, seen := nodes[key]
		if !seen {
			d = uint64(len(nodes))
			nodes[key] = d
		}
		p.nodes[id], hosts[id] = d, cut(rows.Text(2))
		if h := &p.meta.Host; d == 0 && h.Name == "" {
			h.Name, h.Kernel, h.Machine = hosts[id], cut(rows.Text(3)), cut(rows.Text(4))
		}
	})
	p.row("rocpd_info_process", []string{"id", "nid", "pid", "ppid", "start", "command"}, func(rows *sqlitefile.Rows) {
		id, _ := rows.Int(0)
		pid, ok := rows.Int(2)
		if !ok || len(p.pids) >= maxWho {
			return
		}
		p.pids[id] = int32(pid)
		e := p.identity(event.KindProcess, rows, hosts)
		e.PID = int32(pid)
		p.describe(&e, rows)
	})
	p.row("rocpd_info_thread", []string{"id", "nid", "pid", "tid", "name"}, func(rows *sqlitefile.Rows) {
		id, _ := rows.Int(0)
		tid, ok := rows.Int(3)
		if !ok || len(p.tids) >= maxWho {
			return
		}
		p.tids[id] = int32(tid)
		if name := cut(rows.Text(4)); name != "" {
			e := p.identity(event.KindThread, rows, nil)
			e.PID, e.TID = p.pid(rows, 2), int32(tid)
			e.SetStr(event.FieldName, name)
			p.first = append(p.first, e)
		}
	})
	p.row("rocpd_info_agent", []string{"id", "nid", "type", "type_index", "name", "product_name", "extdata"}, func(rows *sqlitefile.Rows) {
		p.agent(rows, hosts)
	})
}

// identity begins an event whose machine stands in column 1.
func (p *rocpd) identity(k event.Kind, rows *sqlitefile.Rows, hosts map[int64]string) event.Event {
	e := event.New(k, event.NoTime)
	e.Source = "rocpd:info"
	p.domain(&e, rows, 1)
	if nid, ok := rows.Int(1); ok && hosts != nil && hosts[nid] != "" {
		e.SetStr(event.FieldHost, hosts[nid])
	}
	return e
}

func (p *rocpd) describe(e *event.Event, rows *sqlitefile.Rows) {
	cmd := cut(rows.Text(5))
	program, _, _ := strings.Cut(cmd, " ")
	e.SetStr(event.FieldName, program[strings.LastIndexByte(program, '/')+1:])
	e.SetStr(event.FieldCmdline, cmd)
	if v, ok := rows.Int(3); ok && v > 0 {
		e.SetInt(event.FieldPPID, v)
	}
	if v, ok := rows.Int(4); ok && v > 0 {
		e.SetTime(event.FieldStart, event.Time(v))
	}
	if p.meta.Command == nil && cmd != "" {
		p.meta.Command = []string{cmd}
	}
	p.first = append(p.first, *e)
}

// agent reads a device; its extdata is the agent as rocprofiler-sdk has it, where
// KFD's location is bus, device and function.
func (p *rocpd) agent(rows *sqlitefile.Rows, hosts map[int64]string) {
	id, ok := rows.Int(0)
	if !ok || rows.Text(2) != "GPU" || len(p.agents) >= 4096 {
		return
	}
	ordinal, _ := rows.Int(3)
	dev := "gpu" + strconv.FormatInt(ordinal, 10)
	var x struct {
		Location uint32 `json:"location_id"`
		Domain   uint32 `json:"domain"`
	}
	if json.Unmarshal([]byte(rows.Text(6)), &x) == nil && x.Location != 0 {
		dev = fmt.Sprintf("%04x:%02x:%02x.%x", x.Domain, x.Location>>8&0xff, x.Location>>3&0x1f, x.Location&7)
	}
	p.agents[id] = agent{dev, ordinal}
	e := p.identity(event.KindDevice, rows, hosts)
	arch, product := cut(rows.Text(4)), cut(rows.Text(5))
	e.SetStr(event.FieldDevice, dev)
	e.SetStr(event.FieldDriver, "amdgpu")
	e.SetInt(event.FieldOrdinal, ordinal)
	if product == "" {
		e.SetStr(event.FieldName, arch)
	} else {
		e.SetStr(event.FieldName, product)
		p.obj.Reset()
		p.obj.Str("arch", arch)
		e.SetStr(event.FieldArgs, p.obj.String())
	}
	p.first = append(p.first, e)
}

// pid returns the process that a column names.
func (p *rocpd) pid(rows *sqlitefile.Rows, col int) int32 {
	if id, ok := rows.Int(col); ok {
		if pid, ok := p.pids[id]; ok {
			return pid
		}
		p.count.AddAt(&AnomalyNoName, 1, "process "+strconv.FormatInt(id, 10))
	}
	return event.NoID
}

// domain says of which machine an event is.
func (p *rocpd) domain(e *event.Event, rows *sqlitefile.Rows, col int) {
	if nid, ok := rows.Int(col); ok {
		if d := p.nodes[nid]; d != 0 {
			e.SetUint(event.FieldDomain, d)
		}
	}
}

// leftOut counts the rows of tables that are not read.
func (r *rpd) leftOut(known map[string]bool) {
	for _, n := range slices.Sorted(maps.Keys(r.file.Tables)) {
		if known[n] || strings.HasPrefix(n, "sqlite_") {
			continue
		}
		c, err := r.file.Count(n)
		if err != nil {
			r.damaged(n, c, err)
		}
		if c > 0 {
			r.count.AddAt(&AnomalyNotRead, uint64(c), "table "+n)
		}
	}
}

// correlation takes the id of the call.
func correlation(e *event.Event, rows *sqlitefile.Rows, col int) {
	if v, ok := rows.Int(col); ok && v > 0 {
		e.SetInt(event.FieldCorrelationID, v)
	}
}
