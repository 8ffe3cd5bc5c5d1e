package nsys

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/sqlitefile"
)

// scan is a small table on its way.
type scan struct{ rows *sqlitefile.Rows }

// maxRows bounds what is kept of a table of names.
const maxRows = 1 << 17

// each reads a small table.
func (r *reader) each(table string, cols []string, do func(*scan)) {
	rows, err := r.file.Rows(table, cols...)
	if err != nil {
		r.damaged(table, 0, err)
		return
	}
	defer rows.Close()
	for s := (&scan{rows}); rows.Read < maxRows; {
		ok, err := rows.Next()
		if err != nil {
			r.damaged(table, rows.Read, err)
		}
		if !ok {
			return
		}
		do(s)
	}
}

func (r *reader) fact(key, value string) {
	if value != "" {
		r.meta.Facts = append(r.meta.Facts, event.Fact{Key: key, Value: r.cut(value)})
	}
}

// describing are tables that are read for what they say of others.
var describing = []string{"META_DATA_EXPORT", "META_DATA_CAPTURE", "StringIds", "ANALYSIS_DETAILS", "TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_SYSTEM_ENV"}

// describe takes from the file what it says of itself. The environment of the
// traced program, which it also holds, is left where it is.
func (r *reader) describe() {
	normalised, shift := false, int64(0)
	r.each("META_DATA_EXPORT", []string{"name", "value"}, func(s *scan) {
		switch k, v := s.rows.Text(0), s.rows.Text(1); k {
		case "EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION", "EXPORT_PARAM_TIME_SHIFT", "EXPORT_PARAM_TIME_NORMALIZE":
			r.fact("nsys."+strings.ToLower(strings.TrimPrefix(k, "EXPORT_")), v)
			normalised = normalised || k == "EXPORT_PARAM_TIME_NORMALIZE" && v == "true"
			if n, err := strconv.ParseInt(v, 10, 64); err == nil && k == "EXPORT_PARAM_TIME_SHIFT" {
				shift = n
			}
		}
	})
	for _, t := range describing {
		if n, err := r.file.Count(t); err == nil && n > 0 { // what is damaged says so when it is read
			r.fact("rows."+t, strconv.FormatInt(n, 10))
		}
	}
	r.command()
	r.sessionStart(shift)
	r.system()
	// --ts-normalize shifts all times to Unix time.
	if normalised {
		r.meta.Clock = event.ClockRealtime
	}
}

// command rebuilds the command line that nsys ran.
func (r *reader) command() {
	type arg struct {
		n int
		v string
	}
	var cmd string
	var list []arg
	r.each("META_DATA_CAPTURE", []string{"name", "value"}, func(s *scan) {
		k, v := s.rows.Text(0), s.rows.Text(1)
		if k == "PROCESS_0:COMMAND" {
			cmd = r.cut(v)
		}
		if n, ok := strings.CutPrefix(k, "PROCESS_0:ARGUMENT_"); ok {
			if i, err := strconv.Atoi(n); err == nil && len(list) < 1024 {
				list = append(list, arg{i, r.cut(v)})
			}
		}
	})
	if cmd == "" {
		return
	}
	slices.SortStableFunc(list, func(a, b arg) int { return cmp.Compare(a.n, b.n) })
	r.meta.Command = []string{cmd}
	for _, a := range list {
		r.meta.Command = append(r.meta.Command, a.v)
	}
}

// sessionStart keeps the base of the times: Unix time at the moment that the
// session began, from which they count. nsys export --ts-shift adds to all of
// them: then they count from as much earlier. What the system's own clock showed
// (systemClockNs) is kept as a fact; NVIDIA does not say which clock that is.
func (r *reader) sessionStart(shift int64) {
	r.each("TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs", "systemClockNs", "localTime"}, func(s *scan) {
		if v, ok := s.rows.Int(0); ok {
			r.fact("session_start_realtime_ns", strconv.FormatInt(v-shift, 10))
		}
		if v, ok := s.rows.Int(1); ok {
			r.fact("session_start_system_clock_ns", strconv.FormatInt(v, 10))
		}
		r.fact("session_start_local", s.rows.Text(2))
	})
	r.each("ANALYSIS_DETAILS", []string{"duration", "startTime", "stopTime"}, func(s *scan) {
		for i, k := range []string{"analysis_duration_ns", "analysis_start_ns", "analysis_stop_ns"} {
			if v, ok := s.rows.Int(i); ok {
				r.fact(k, strconv.FormatInt(v, 10))
			}
		}
	})
}

// system takes the few properties of the machine that have a place.
func (r *reader) system() {
	r.each("TARGET_INFO_SYSTEM_ENV", []string{"name", "value"}, func(s *scan) {
		v := s.rows.Text(1)
		switch h := &r.meta.Host; s.rows.Text(0) {
		case "Hostname":
			h.Name = v
		case "HardwarePlatform":
			h.Machine = v
		case "KernelVersion":
			h.Kernel = v
		case "CpuCores":
			h.CPUs, _ = strconv.Atoi(v)
		case "OsDescription":
			r.fact("os", v)
		case "NvDriverVersion":
			r.gpus.driver = v
			r.fact("nvidia_driver", v)
		case "CudaDriverVersion":
			r.fact("cuda_driver_version", v)
		}
	})
}

// identities makes the events of devices, processes and threads, which come first.
func (r *reader) identities() {
	r.devices()
	r.each("TARGET_INFO_GPU_METRICS", []string{"typeId", "metricId", "metricName"}, func(s *scan) {
		t, _ := s.rows.Int(0)
		m, ok := s.rows.Int(1)
		if ok {
			r.gpus.metrics[metricKey{t, m}] = r.cut(s.rows.Text(2))
		}
	})
	r.each("PROCESSES", []string{"globalPid", "name"}, func(s *scan) {
		e := event.New(event.KindProcess, event.NoTime)
		if v, ok := s.rows.Int(0); ok {
			r.ids(&e, v)
			e.TID = event.NoID
		}
		e.Source = "nsys:processes"
		e.SetStr(event.FieldName, r.cut(s.rows.Text(1)))
		r.head = append(r.head, e)
	})
	r.each("ThreadNames", []string{"globalTid", "nameId"}, func(s *scan) {
		e := event.New(event.KindThread, event.NoTime)
		v, ok := s.rows.Int(0)
		if ok {
			r.ids(&e, v)
		}
		e.Source = "nsys:threads"
		if id, ok := s.rows.Int(1); ok {
			e.SetStr(event.FieldName, r.strings.get(id))
		}
		r.head = append(r.head, e)
	})
	r.soleProcess()
}

// soleProcess finds the process of activities in exports that do not name it,
// if all calls are of one.
func (r *reader) soleProcess() {
	t := r.file.Tables["CUPTI_ACTIVITY_KIND_KERNEL"]
	if t == nil || t.Has("globalPid") || !r.file.Tables["CUPTI_ACTIVITY_KIND_RUNTIME"].Has("globalTid") {
		return
	}
	rows, err := r.file.Rows("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid")
	if err != nil {
		return
	}
	defer rows.Close()
	pid := event.NoID
	for {
		ok, err := rows.Next()
		if err != nil || !ok {
			r.onlyPID = pid
			return
		}
		v, ok := rows.Int(0)
		if !ok {
			continue
		}
		e := event.New(event.KindAPI, event.NoTime)
		r.ids(&e, v)
		if pid != event.NoID && pid != e.PID {
			return
		}
		pid = e.PID
	}
}
