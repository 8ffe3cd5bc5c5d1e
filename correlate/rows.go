package correlate

import "github.com/gpurec/gpurec/record/event"

// ID is the number of a row in its table: the ordinal, from 1, of the row's
// first event in the order of the log, given before any filter. 0 is no row
// and NULL in every export.
type ID int64

// Nullable values. Their zero is unknown, which is NULL in every export.
type (
	OptTime = event.Opt[event.Time]
	OptDur  = event.Opt[int64] // nanoseconds
	OptInt  = event.Opt[int64]
	OptUint = event.Opt[uint64]
	OptReal = event.Opt[float64]
	OptBool = event.Opt[bool]
)

// The row types. A struct tag `col` gives the column's name as exports write
// it, `unit` its unit, `doc` its meaning and when it is NULL. Strings are NULL
// when empty. Columns are only ever added, at the end.

// APICall is a row of api_calls.
type APICall struct {
	ID            ID      `col:"id" doc:"row number"`
	ProcessID     ID      `col:"process_id" doc:"processes.id; NULL if the source names no process"`
	PID           OptInt  `col:"pid" doc:"process id"`
	TID           OptInt  `col:"tid" doc:"thread id"`
	ParentID      ID      `col:"parent_id" doc:"api_calls.id of the call around this one on its thread; NULL at the root"`
	Depth         int64   `col:"depth" doc:"calls around this one"`
	API           string  `col:"api" doc:"family: cuda_driver, cuda_runtime, hip, opencl, vulkan, level_zero, nccl, hsa"`
	Name          string  `col:"name" doc:"function as the source names it"`
	BaseName      string  `col:"base_name" doc:"function without _vN, _v7000, _ptsz, _ptds"`
	StartNS       OptTime `col:"start_ns" unit:"ns" doc:"entry; NULL if only the return was seen"`
	EndNS         OptTime `col:"end_ns" unit:"ns" doc:"return; NULL unless end_kind is returned"`
	DurNS         OptDur  `col:"dur_ns" unit:"ns" doc:"end_ns - start_ns"`
	EndKind       string  `col:"end_kind" doc:"returned, not_probed, open, lost, killed"`
	Result        OptInt  `col:"result" doc:"value returned"`
	KernelName    string  `col:"kernel_name" doc:"GPU function launched, as the source gives it"`
	Stream        OptUint `col:"stream" doc:"stream handle"`
	GridX         OptUint `col:"grid_x" unit:"blocks" doc:"grid"`
	GridY         OptUint `col:"grid_y" unit:"blocks" doc:"grid"`
	GridZ         OptUint `col:"grid_z" unit:"blocks" doc:"grid"`
	BlockX        OptUint `col:"block_x" unit:"threads" doc:"block"`
	BlockY        OptUint `col:"block_y" unit:"threads" doc:"block"`
	BlockZ        OptUint `col:"block_z" unit:"threads" doc:"block"`
	Bytes         OptUint `col:"bytes" unit:"bytes" doc:"bytes copied, set or allocated"`
	CorrelationID OptInt  `col:"correlation_id" doc:"the source's key to activities, valid within the process"`
	SharedMem     OptUint `col:"shared_mem_bytes" unit:"bytes" doc:"dynamic shared memory of a block"`
	Direction     string  `col:"direction" doc:"HtoD, DtoH, DtoD, HtoH, PtoP"`
	Address       OptUint `col:"address" doc:"device address allocated, freed or used"`
	Function      OptUint `col:"function" doc:"handle of the GPU function"`
	Library       string  `col:"library" doc:"file that holds the API function"`
	Source        string  `col:"source" doc:"what witnessed the call"`
	Args          string  `col:"args" doc:"further fields of the source, JSON"`
	Class         string  `col:"class" doc:"what the function is for: launch, graph_launch, memcpy, memset, alloc, free, map, sync, stream, event, module, get_function, context, collective, submit, other; NULL if it is not in the table of functions"`
	Blocking      OptBool `col:"blocking" doc:"the function waits for the device or for another process by its nature; false also for one that enqueues work, which waits only while its queue is full; NULL if it is not in the table of functions"`
	SelfNS        OptDur  `col:"self_ns" unit:"ns" doc:"dur_ns without the calls in it"`
	SameAsID      ID      `col:"same_as_id" doc:"api_calls.id of the same call as another source told it first; such rows are to be left out of sums"`
}

// Ioctl is a row of ioctls.
type Ioctl struct {
	ID         ID      `col:"id" doc:"row number"`
	ProcessID  ID      `col:"process_id" doc:"processes.id"`
	PID        OptInt  `col:"pid" doc:"process id"`
	TID        OptInt  `col:"tid" doc:"thread id"`
	DeviceID   ID      `col:"device_id" doc:"devices.id; NULL if the device is not known"`
	Driver     string  `col:"driver" doc:"kernel driver; NULL if not known"`
	Cmd        uint64  `col:"cmd" doc:"request number, 32 bits"`
	Name       string  `col:"name" doc:"decoded name, else 'ioctl 0x…'"`
	Role       string  `col:"role" doc:"submit, wait, alloc, map, query, other, unknown"`
	StartNS    OptTime `col:"start_ns" unit:"ns" doc:"entry; NULL if only the return was seen"`
	EndNS      OptTime `col:"end_ns" unit:"ns" doc:"return; NULL if it was not seen"`
	DurNS      OptDur  `col:"dur_ns" unit:"ns" doc:"end_ns - start_ns"`
	Result     OptInt  `col:"result" doc:"value returned; negative errno on failure"`
	Errno      OptInt  `col:"errno" doc:"positive errno of a failed call; NULL if it succeeded or did not return"`
	APICallID  ID      `col:"api_call_id" doc:"api_calls.id of the innermost call around it"`
	FD         OptInt  `col:"fd" doc:"file descriptor"`
	Status     OptUint `col:"status" doc:"status inside the ioctl's struct (NV_STATUS)"`
	DriverRule string  `col:"driver_rule" doc:"how the driver is known: source, inferred from the fences of its jobs; NULL if it is not"`
	EndKind    string  `col:"end_kind" doc:"returned, open, lost, killed"`
	Source     string  `col:"source" doc:"tracepoints that witnessed it, joined by +"`
}

// Job is a row of jobs.
type Job struct {
	ID             ID      `col:"id" doc:"row number"`
	Origin         string  `col:"origin" doc:"tracepoint family that told it: drm_sched, drm_sched_617, amdgpu, i915, i915_gem (before 4.17), xe, virtio_gpu, msm, v3d, vc4, lima, radeon, kgsl, mali, mali_kbase"`
	DeviceID       ID      `col:"device_id" doc:"devices.id; NULL if no event named the device"`
	Ring           string  `col:"ring" doc:"ring within the device"`
	Owner          string  `col:"owner" doc:"user, kernel, unknown"`
	ProcessID      ID      `col:"process_id" doc:"processes.id of the thread that queued it; NULL if that was not seen"`
	PID            OptInt  `col:"pid" doc:"process that queued it, never the one that ran or ended it"`
	TID            OptInt  `col:"tid" doc:"thread that queued it"`
	ClientID       OptUint `col:"client_id" doc:"DRM client"`
	SchedJobID     OptUint `col:"sched_job_id" doc:"the scheduler's own number, unique on (device, ring)"`
	JobPtr         OptUint `col:"job_ptr" doc:"address of the job; NULL where only a hash is known"`
	FencePtr       OptUint `col:"fence_ptr" doc:"address of the finished fence; NULL where only a hash is known"`
	FenceContext   OptUint `col:"fence_context" doc:"finished fence"`
	FenceSeqno     OptUint `col:"fence_seqno" doc:"finished fence"`
	HWFenceContext OptUint `col:"hw_fence_context" doc:"hardware fence (the last one, if it was run again)"`
	HWFenceSeqno   OptUint `col:"hw_fence_seqno" doc:"hardware fence"`
	QueuedNS       OptTime `col:"queued_ns" unit:"ns" doc:"entered the software queue"`
	RunNS          OptTime `col:"run_ns" unit:"ns" doc:"handed to the hardware"`
	DeviceStartNS  OptTime `col:"device_start_ns" unit:"ns" doc:"max(run_ns, the previous done on the ring)"`
	DoneNS         OptTime `col:"done_ns" unit:"ns" doc:"the hardware finished it"`
	QueueDelayNS   OptDur  `col:"queue_delay_ns" unit:"ns" doc:"run_ns - queued_ns"`
	HWQueueNS      OptDur  `col:"hw_queue_ns" unit:"ns" doc:"device_start_ns - run_ns"`
	DeviceTimeNS   OptDur  `col:"device_time_ns" unit:"ns" doc:"done_ns - device_start_ns"`
	Error          OptInt  `col:"error" doc:"negative errno that a source names; NULL if none does"`
	IoctlID        ID      `col:"ioctl_id" doc:"ioctls.id that queued it"`
	APICallID      ID      `col:"api_call_id" doc:"api_calls.id around that ioctl"`
	EndKind        string  `col:"end_kind" doc:"done, open, killed, lost"`
	FinishedNS     OptTime `col:"finished_ns" unit:"ns" doc:"the finished fence signalled"`
	Runs           int64   `col:"runs" doc:"times it was handed to the hardware, re-runs after a reset included"`
	RingRule       string  `col:"ring_rule" doc:"how the ring is known: source, inferred from the fence's timeline, inferred from the driver's number of the queue"`
	DeviceRule     string  `col:"device_rule" doc:"how the device is known: source, inferred from the fence context, inferred from the driver of the hardware fence, inferred from the ring, …; NULL if it is not"`
	KernelName     string  `col:"kernel_name" doc:"GPU function of the API call, if it names one"`
	Comm           string  `col:"comm" doc:"name of the thread that queued it"`
	EntityPtr      OptUint `col:"entity_ptr" doc:"scheduler entity; NULL where only a hash is known"`
	Low32          bool    `col:"low32" doc:"the fence's context and seqno are only low halves"`
	JobCount       OptUint `col:"job_count" unit:"jobs" doc:"jobs in its entity's software queue when it was queued, itself excluded"`
	HWJobCount     OptInt  `col:"hw_job_count" unit:"jobs" doc:"jobs (from 6.8: credits) in flight on the ring when it was run, itself included"`
	ElapsedNS      OptDur  `col:"elapsed_ns" unit:"ns" doc:"time on the device as the device itself measured it"`
	Args           string  `col:"args" doc:"further fields of the source, JSON"`
	SubmitNS       OptDur  `col:"submit_latency_ns" unit:"ns" doc:"queued_ns - start_ns of the call api_call_id"`
	ReadyNS        OptTime `col:"ready_ns" unit:"ns" doc:"its dependencies were met, where a driver tells it (i915_request_submit)"`
	Fate           string  `col:"fate" doc:"what a reset did to it: guilty (it brought the reset), rerun (handed to the hardware again), cancelled, doubtful (a reset lies in its time on the hardware, and nothing tells whether it ended the job); NULL if none did, as far as is known"`
	FateRule       string  `col:"fate_rule" doc:"how the fate is known: source, inferred from …; NULL with it"`
	DepWaitNS      OptDur  `col:"dependency_wait_ns" unit:"ns" doc:"from queued_ns until the last fence that it depended on was done or had signalled, at most until run_ns; 0 if all had; NULL if no dependency is known, or not when it was met"`
}

// JobDep is a row of job_deps.
type JobDep struct {
	JobID          ID      `col:"job_id" doc:"jobs.id that depends"`
	OnJobID        ID      `col:"on_job_id" doc:"jobs.id that owns the fence; NULL if no job here does"`
	OnFenceContext OptUint `col:"on_fence_context" doc:"fence depended on"`
	OnFenceSeqno   OptUint `col:"on_fence_seqno" doc:"fence depended on"`
	TSNS           OptTime `col:"ts_ns" unit:"ns" doc:"when the scheduler looked at it"`
	Waited         OptBool `col:"waited" doc:"the job ran only after the fence signalled; NULL if unknown"`
}

// Fence is a row of fences.
type Fence struct {
	ID       ID      `col:"id" doc:"row number"`
	Driver   string  `col:"driver" doc:"driver"`
	Timeline string  `col:"timeline" doc:"timeline"`
	Context  uint64  `col:"context" doc:"fence context"`
	Seqno    uint64  `col:"seqno" doc:"fence seqno"`
	InitNS   OptTime `col:"init_ns" unit:"ns" doc:"dma_fence_init"`
	SignalNS OptTime `col:"signal_ns" unit:"ns" doc:"dma_fence_signaled"`
	JobID    ID      `col:"job_id" doc:"jobs.id it belongs to"`
	Role     string  `col:"role" doc:"scheduled, hardware, finished, other"`
	Low32    bool    `col:"low32" doc:"context and seqno are only low halves"`
}

// FenceWait is a row of fence_waits.
type FenceWait struct {
	ID        ID      `col:"id" doc:"row number"`
	ProcessID ID      `col:"process_id" doc:"processes.id that waits"`
	PID       OptInt  `col:"pid" doc:"process"`
	TID       OptInt  `col:"tid" doc:"thread"`
	Context   OptUint `col:"context" doc:"fence"`
	Seqno     OptUint `col:"seqno" doc:"fence"`
	StartNS   OptTime `col:"start_ns" unit:"ns" doc:"began to block"`
	SignalNS  OptTime `col:"signal_ns" unit:"ns" doc:"the fence signalled; may lie before start_ns"`
	EndNS     OptTime `col:"end_ns" unit:"ns" doc:"ran again"`
	WaitNS    OptDur  `col:"wait_ns" unit:"ns" doc:"end_ns - start_ns"`
	WakeNS    OptDur  `col:"wake_ns" unit:"ns" doc:"end_ns - signal_ns, if the signal lies inside the wait"`
	JobID     ID      `col:"job_id" doc:"jobs.id waited for"`
	IoctlID   ID      `col:"ioctl_id" doc:"ioctls.id around the wait"`
	Driver    string  `col:"driver" doc:"driver that the event names"`
	Timeline  string  `col:"timeline" doc:"timeline that the event names"`
	EndKind   string  `col:"end_kind" doc:"returned, open, lost, killed"`
	TimedOut  OptBool `col:"timed_out" doc:"the wait returned and no signal of its fence had been seen; NULL if the fence is not known or no signals are recorded"`
	Low32     bool    `col:"low32" doc:"context and seqno are only low halves"`
}

// GPUActivity is a row of gpu_activities.
type GPUActivity struct {
	ID            ID      `col:"id" doc:"row number"`
	ProcessID     ID      `col:"process_id" doc:"processes.id"`
	PID           OptInt  `col:"pid" doc:"process"`
	DeviceID      ID      `col:"device_id" doc:"devices.id"`
	Kind          string  `col:"kind" doc:"kernel, memcpy, memset, graph, collective, other"`
	Name          string  `col:"name" doc:"as the source gives it"`
	Context       OptUint `col:"context" doc:"GPU context"`
	Stream        OptUint `col:"stream" doc:"stream number"`
	StartNS       OptTime `col:"start_ns" unit:"ns" doc:"began on the device"`
	EndNS         OptTime `col:"end_ns" unit:"ns" doc:"ended on the device"`
	DurNS         OptDur  `col:"dur_ns" unit:"ns" doc:"end_ns - start_ns"`
	CorrelationID OptInt  `col:"correlation_id" doc:"the source's key to the call"`
	APICallID     ID      `col:"api_call_id" doc:"api_calls.id that launched it"`
	Bytes         OptUint `col:"bytes" unit:"bytes" doc:"bytes copied or set"`
	GridX         OptUint `col:"grid_x" unit:"blocks" doc:"grid"`
	GridY         OptUint `col:"grid_y" unit:"blocks" doc:"grid"`
	GridZ         OptUint `col:"grid_z" unit:"blocks" doc:"grid"`
	BlockX        OptUint `col:"block_x" unit:"threads" doc:"block"`
	BlockY        OptUint `col:"block_y" unit:"threads" doc:"block"`
	BlockZ        OptUint `col:"block_z" unit:"threads" doc:"block"`
	Direction     string  `col:"direction" doc:"HtoD, DtoH, DtoD, HtoH, PtoP"`
	Args          string  `col:"args" doc:"further fields of the source, JSON"`
	LaunchNS      OptDur  `col:"launch_delay_ns" unit:"ns" doc:"start_ns - start_ns of the call api_call_id, for the first activity of the call; negative if the clocks are apart"`
	SameAsID      ID      `col:"same_as_id" doc:"gpu_activities.id of the same work as another source told it first; such rows are to be left out of sums"`
}

// Slice is a row of slices.
type Slice struct {
	ID        ID      `col:"id" doc:"row number"`
	ProcessID ID      `col:"process_id" doc:"processes.id"`
	PID       OptInt  `col:"pid" doc:"process"`
	TID       OptInt  `col:"tid" doc:"thread; NULL on another track"`
	DeviceID  ID      `col:"device_id" doc:"devices.id"`
	Track     string  `col:"track" doc:"track, if it is not a thread"`
	Category  string  `col:"category" doc:"category"`
	Name      string  `col:"name" doc:"name"`
	StartNS   OptTime `col:"start_ns" unit:"ns" doc:"begin"`
	EndNS     OptTime `col:"end_ns" unit:"ns" doc:"end; NULL if it was not seen"`
	DurNS     OptDur  `col:"dur_ns" unit:"ns" doc:"end_ns - start_ns"`
	Depth     int64   `col:"depth" doc:"slices around it on its track"`
	ParentID  ID      `col:"parent_id" doc:"slices.id around it"`
	Args      string  `col:"args" doc:"further fields of the source, JSON"`
}

// Ring is a row of rings: a summary, written at the end.
type Ring struct {
	ID           ID      `col:"id" doc:"row number"`
	DeviceID     ID      `col:"device_id" doc:"devices.id; NULL if unknown"`
	Ring         string  `col:"ring" doc:"ring"`
	Jobs         int64   `col:"jobs" doc:"jobs seen on it"`
	Done         int64   `col:"done" doc:"jobs whose end was seen"`
	FirstStartNS OptTime `col:"first_start_ns" unit:"ns" doc:"first device start"`
	LastDoneNS   OptTime `col:"last_done_ns" unit:"ns" doc:"last done"`
	BusyNS       OptDur  `col:"busy_ns" unit:"ns" doc:"sum of device times"`
	IdleNS       OptDur  `col:"idle_ns" unit:"ns" doc:"sum of its gaps; last_done - first_start - busy if every run was seen"`
	MaxBacklog   int64   `col:"max_backlog" unit:"jobs" doc:"most jobs queued and not done at once"`
}

// IdleGap is a row of idle_gaps.
type IdleGap struct {
	DeviceID     ID      `col:"device_id" doc:"devices.id"`
	Ring         string  `col:"ring" doc:"ring"`
	StartNS      OptTime `col:"start_ns" unit:"ns" doc:"begin"`
	EndNS        OptTime `col:"end_ns" unit:"ns" doc:"end"`
	Cause        string  `col:"cause" doc:"in_reset, nothing_submitted, dependency, scheduling_latency, launch_latency (devices known only by activities; ring is NULL)"`
	JobID        ID      `col:"job_id" doc:"jobs.id that ended the gap"`
	WaitsForID   ID      `col:"waits_for_job_id" doc:"jobs.id depended on, for cause dependency"`
	SubmitterWas string  `col:"submitter_was" doc:"what the thread that queued job_id did in the gap, for cause nothing_submitted"`
	SubmitterID  ID      `col:"submitter_process_id" doc:"processes.id of the thread whose submission ended it, for causes nothing_submitted and launch_latency"`
	SubmitterTID OptInt  `col:"submitter_tid" doc:"that thread"`
	APICallID    ID      `col:"api_call_id" doc:"api_calls.id that led to the work that ended it, of devices known only by activities"`
}

// Counter is a row of counters.
type Counter struct {
	Name      string  `col:"name" doc:"name"`
	DeviceID  ID      `col:"device_id" doc:"devices.id"`
	ProcessID ID      `col:"process_id" doc:"processes.id"`
	TSNS      OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	Value     float64 `col:"value" doc:"value"`
	Unit      string  `col:"unit" doc:"unit"`
}

// Link is a row of links: src is the cause, dst the effect.
type Link struct {
	SrcTable   string `col:"src_table" doc:"table of the cause"`
	SrcID      ID     `col:"src_id" doc:"row of the cause"`
	DstTable   string `col:"dst_table" doc:"table of the effect"`
	DstID      ID     `col:"dst_id" doc:"row of the effect"`
	Rule       string `col:"rule" doc:"name of the rule, see docs/correlation.md"`
	Confidence string `col:"confidence" doc:"exact, nested, adjacent, inferred"`
	Key        string `col:"key" doc:"key that matched"`
}

// Unmatched is a row of unmatched: why a row has no partner.
type Unmatched struct {
	SrcTable string `col:"src_table" doc:"table of the row"`
	SrcID    ID     `col:"src_id" doc:"the row"`
	Link     string `col:"link" doc:"partner that is missing, 'api_call', 'ioctl', 'run', …"`
	Reason   string `col:"reason" doc:"not_recorded, not_possible, before_start, after_stop, open, killed, kernel_internal, lost, evicted, ambiguous, faulted"`
	LossID   ID     `col:"loss_id" doc:"losses.id, for reason lost"`
}

// Loss is a row of losses.
type Loss struct {
	ID      ID      `col:"id" doc:"row number"`
	Stream  string  `col:"stream" doc:"stream that lost events"`
	CPU     OptInt  `col:"cpu" doc:"CPU"`
	StartNS OptTime `col:"start_ns" unit:"ns" doc:"last event before the gap; NULL if unknown"`
	EndNS   OptTime `col:"end_ns" unit:"ns" doc:"first event after it"`
	Count   OptUint `col:"count" doc:"events lost; NULL if unknown"`
	Remedy  string  `col:"remedy" doc:"what to do"`
}

// AnomalyRow is a row of anomalies.
type AnomalyRow struct {
	Name     string `col:"name" doc:"name"`
	Severity string `col:"severity" doc:"info, warning, data_loss, error"`
	Count    uint64 `col:"count" doc:"how often"`
	Remedy   string `col:"remedy" doc:"what to do"`
	Doc      string `col:"doc" doc:"what happened"`
	Sample   string `col:"sample" doc:"where it was first seen"`
}

// Process is a row of processes, written at the end.
type Process struct {
	ID          ID      `col:"id" doc:"row number"`
	PID         OptInt  `col:"pid" doc:"process id"`
	Name        string  `col:"name" doc:"name"`
	Cmdline     string  `col:"cmdline" doc:"command line"`
	PPID        OptInt  `col:"ppid" doc:"parent"`
	StartNS     OptTime `col:"start_ns" unit:"ns" doc:"began; NULL if that was not seen"`
	EndNS       OptTime `col:"end_ns" unit:"ns" doc:"ended; NULL if that was not seen"`
	PIDInferred bool    `col:"pid_inferred" doc:"the source names no process: pid is a thread id"`
	Host        string  `col:"host" doc:"host"`
	Rank        OptInt  `col:"rank" doc:"rank"`
	ExitCode    OptInt  `col:"exit_code" doc:"exit code"`
	Unaligned   bool    `col:"unaligned" doc:"times of its rows are of another clock than the log's and could not be converted"`
	NSPID       OptInt  `col:"ns_pid" doc:"process id in its own pid namespace (a container); NULL if that is not another"`
}

// Thread is a row of threads, written at the end.
type Thread struct {
	ID        ID      `col:"id" doc:"row number"`
	ProcessID ID      `col:"process_id" doc:"processes.id"`
	PID       OptInt  `col:"pid" doc:"process"`
	TID       OptInt  `col:"tid" doc:"thread"`
	Name      string  `col:"name" doc:"last name"`
	StartNS   OptTime `col:"start_ns" unit:"ns" doc:"began"`
	EndNS     OptTime `col:"end_ns" unit:"ns" doc:"ended"`
	FirstNS   OptTime `col:"first_ns" unit:"ns" doc:"first event"`
}

// Device is a row of devices, written at the end.
type Device struct {
	ID        ID     `col:"id" doc:"row number"`
	Index     int64  `col:"gpu" doc:"number in exports: the source's own if all differ and none has an address, else by host, rank, PCI address, ordinal"`
	Device    string `col:"device" doc:"PCI address or other identity"`
	Name      string `col:"name" doc:"product"`
	Driver    string `col:"driver" doc:"kernel driver"`
	Version   string `col:"version" doc:"driver version"`
	Ordinal   OptInt `col:"ordinal" doc:"number in its source"`
	Host      string `col:"host" doc:"host"`
	Rank      OptInt `col:"rank" doc:"rank"`
	Rule      string `col:"rule" doc:"source if an event names it, inferred if it was deduced from drivers and rings"`
	Unaligned bool   `col:"unaligned" doc:"times of its rows are of another clock than the log's and could not be converted"`
}

// FunctionName is a row of function_names.
type FunctionName struct {
	Name      string `col:"name" doc:"as the source gives it: gpu_activities.name, api_calls.kernel_name, jobs.kernel_name"`
	Demangled string `col:"demangled_name" doc:"the C++ declaration"`
	Short     string `col:"short_name" doc:"the function's own name, as pictures show it"`
}

// ProbeRow is a row of probes.
type ProbeRow struct {
	Name      string `col:"name" doc:"function or tracepoint"`
	Mechanism string `col:"mechanism" doc:"uprobe, tp_btf, ftrace, …"`
	State     string `col:"state" doc:"attached, missing, failed"`
	Reason    string `col:"reason" doc:"why not, and how to get it"`
	Hits      uint64 `col:"hits" doc:"events"`
	Misses    uint64 `col:"misses" doc:"recursion misses"`
	Lost      uint64 `col:"lost" doc:"events lost"`
	RunTimeNS uint64 `col:"run_time_ns" unit:"ns" doc:"BPF run time"`
}

// Metadata is a row of metadata.
type Metadata struct {
	Key   string `col:"key" doc:"key"`
	Value string `col:"value" doc:"value"`
}
