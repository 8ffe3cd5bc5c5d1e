package nsys

import (
	"sort"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/sqlitefile"
)

// table says what the rows of a table become.
type table struct {
	name   string
	source string   // of its events
	cols   []string // read beside start and end, in the order of their numbers
	row    func(r *reader, c *cursor)
}

// The first columns of every table that is read.
const (
	colStart = iota
	colEnd
	colFirst // of the table's own
)

// Columns of the tables, by the order in cols.
const (
	apiTID = colFirst + iota
	apiClass
	apiCorrelation
	apiName
	apiResult
)

var apiCols = []string{"globalTid", "eventClass", "correlationId", "nameId", "returnValue"}

const (
	actPID = colFirst + iota
	actDevice
	actContext
	actStream
	actCorrelation
	actGraphNode
	actOwn // of the kind of activity
)

var actCols = []string{"globalPid", "deviceId", "contextId", "streamId", "correlationId", "graphNodeId"}

func actWith(own ...string) []string { return append(actCols[:len(actCols):len(actCols)], own...) }

// tables lists the tables whose rows have a kind of their own. What else has
// a time becomes [event.KindOther], see [reader.start].
func tables() []table {
	t := []table{
		{name: "CUPTI_ACTIVITY_KIND_RUNTIME", source: "cupti:runtime", cols: apiCols, row: (*reader).api},
		{name: "CUPTI_ACTIVITY_KIND_DRIVER", source: "cupti:driver", cols: apiCols, row: (*reader).api},
		{name: "VULKAN_API", source: "nsys:vulkan", cols: apiCols, row: (*reader).api},
		{name: "CUPTI_ACTIVITY_KIND_KERNEL", source: "cupti:kernel", cols: actWith(kernelCols...), row: (*reader).kernel},
		{name: "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", source: "cupti:kernel", cols: actWith(kernelCols...), row: (*reader).kernel},
		{name: "CUPTI_ACTIVITY_KIND_CDP_KERNEL", source: "cupti:cdp_kernel", cols: actWith(kernelCols...), row: (*reader).kernel},
		{name: "CUPTI_ACTIVITY_KIND_MEMCPY", source: "cupti:memcpy", cols: actWith(copyCols...), row: (*reader).copy},
		{name: "CUPTI_ACTIVITY_KIND_MEMCPY2", source: "cupti:memcpy", cols: actWith(copyCols...), row: (*reader).copy},
		{name: "CUPTI_ACTIVITY_KIND_MEMSET", source: "cupti:memset", cols: actWith(setCols...), row: (*reader).set},
		{name: "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", source: "cupti:graph", cols: actWith(graphCols...), row: (*reader).graph},
		{name: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", source: "cupti:sync", cols: actWith(syncCols...), row: (*reader).sync},
		{name: "CUPTI_ACTIVITY_KIND_OVERHEAD", source: "cupti:overhead", cols: overheadCols, row: (*reader).overhead},
		{name: "PROFILER_OVERHEAD", source: "nsys:overhead", cols: overheadCols, row: (*reader).overhead},
		{name: "NVTX_EVENTS", source: "nsys:nvtx", cols: nvtxCols, row: (*reader).nvtx},
		{name: "GPU_METRICS", source: "nsys:gpu_metrics", cols: metricCols, row: (*reader).metric},
	}
	for name, category := range map[string]string{
		"OSRT_API": "osrt", "CUBLAS_EVENTS": "cublas", "CUDNN_EVENTS": "cudnn", "OPENGL_API": "opengl", "NVVIDEO_ENCODER_API": "nvvideo",
		"NVVIDEO_DECODER_API": "nvvideo", "NVVIDEO_JPEG_API": "nvvideo", "CUDA_GRAPH_NODE_EVENTS": "cuda_graph_node", "CUDA_GRAPH_EVENTS": "cuda_graph",
		"MPI_OTHER_EVENTS": "mpi", "MPI_P2P_EVENTS": "mpi", "MPI_START_WAIT_EVENTS": "mpi", "MPI_COLLECTIVES_EVENTS": "mpi",
		"OPENACC_DATA_EVENTS": "openacc", "OPENACC_LAUNCH_EVENTS": "openacc", "OPENACC_OTHER_EVENTS": "openacc", "OPENMP_EVENT_KIND_TASK": "openmp",
		"NCCL_EVENTS": "nccl", "UCP_EVENTS": "ucx", "OSHMEM_EVENTS": "openshmem", "DIRECTX_API": "directx",
	} {
		t = append(t, table{name: name, source: "nsys:" + category, row: callSlice(category)})
	}
	sort.SliceStable(t, func(i, j int) bool { return t[i].name < t[j].name })
	return t
}

// Tables that are read for what they say of others, and need no count.
func described(name string) bool {
	switch name {
	case "StringIds", "META_DATA_EXPORT", "META_DATA_CAPTURE", "PROCESSES", "ThreadNames", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE",
		"TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_SYSTEM_ENV", "TARGET_INFO_GPU_METRICS", "ANALYSIS_DETAILS":
		return true
	}
	return strings.HasPrefix(name, "ENUM_") || strings.HasPrefix(name, "sqlite_")
}

// start begins to read all tables that hold events. Tables with a time that
// [tables] does not know are read whole, as [event.KindOther].
func (r *reader) start() {
	known := map[string]bool{}
	for _, t := range tables() {
		known[t.name] = true
		if r.file.Tables[t.name] != nil {
			r.startTable(t)
		}
	}
	var names []string
	for n := range r.file.Tables {
		if !known[n] && !described(n) {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	for _, n := range names {
		r.startOther(r.file.Tables[n])
	}
}

// startTable opens a cursor: columns 0 and 1 are start and end.
func (r *reader) startTable(t table) {
	ft := r.file.Tables[t.name]
	start := "start"
	if !ft.Has(start) {
		start = "timestamp"
	}
	if t.cols == nil {
		t.cols = otherColumns(ft)
	}
	rows, err := r.file.Rows(t.name, append([]string{start, "end"}, t.cols...)...)
	if err != nil {
		r.damaged(t.name, 0, err)
		return
	}
	c := &cursor{t: &t, rows: rows}
	if r.advance(c) {
		r.cursors = append(r.cursors, c)
	}
}

// startOther reads a table that has no kind of its own.
func (r *reader) startOther(ft *sqlitefile.Table) {
	if !ft.Has("start") && !ft.Has("timestamp") {
		n, err := r.file.Count(ft.Name)
		if err != nil {
			r.damaged(ft.Name, 0, err)
		}
		r.fact("rows."+ft.Name, strconv.FormatInt(n, 10))
		r.count.AddAt(&AnomalyNotRead, uint64(n), "table "+ft.Name)
		return
	}
	r.startTable(table{name: ft.Name, source: "nsys:" + ft.Name, row: (*reader).other})
}

// otherColumns are all but start and end.
func otherColumns(ft *sqlitefile.Table) []string {
	l := []string{}
	for _, n := range ft.Columns {
		if n != "start" && n != "end" && n != "timestamp" {
			l = append(l, n)
		}
	}
	return l
}

// other keeps a row whole.
func (r *reader) other(c *cursor) {
	e := r.event(c, event.KindOther)
	e.SetStr(event.FieldName, c.t.name)
	r.obj.Reset()
	if end, ok := c.rows.Int(colEnd); ok {
		r.obj.Int("end", end)
	}
	r.columns(c, e, nil)
	e.SetStr(event.FieldArgs, r.obj.String())
}

// columns adds the columns of a row to the object in work, with the threads
// and names that they stand for; skip names those that went elsewhere.
func (r *reader) columns(c *cursor, e *event.Event, skip func(string) bool) {
	for i, n := range c.t.cols {
		at := colFirst + i
		if c.rows.Null(at) || skip != nil && skip(n) {
			continue
		}
		switch v := c.rows.Value(at).(type) {
		case int64:
			r.column(e, n, v)
		case float64:
			r.obj.Float(n, v)
		case bool:
			r.obj.Bool(n, v)
		default:
			r.obj.Str(n, r.cut(c.rows.Text(at)))
		}
	}
}

func (r *reader) column(e *event.Event, name string, v int64) {
	switch name {
	case "globalTid":
		r.ids(e, v)
		return
	case "globalPid":
		if e.PID == event.NoID {
			r.ids(e, v)
			e.TID = event.NoID
		}
		return
	case "cpu":
		e.CPU = int32(v)
		return
	}
	if base, ok := strings.CutSuffix(name, "Id"); ok && (base == "name" || base == "text" || base == "jsonText" || base == "fileName") {
		r.obj.Str(base, r.strings.get(v))
		return
	}
	r.obj.Int(name, v)
}
