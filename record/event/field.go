package event

// Field names one value of an event. The same field means the same thing in
// every kind that has it, so that readers may ask any event for it.
type Field uint8

// FieldType says how a field's value is stored and shown.
type FieldType uint8

// The types. All but String and Text are held in 64 bits.
const (
	TypeNone    FieldType = iota
	TypeInt               // signed
	TypeUint              // unsigned
	TypePointer           // unsigned, an address or handle: shown in hexadecimal
	TypeTime              // Time of the log's clock
	TypeFloat             // IEEE 754 double
	TypeBool              // 0 or 1
	TypeString            // few distinct values: worth a dictionary
	TypeText              // free text, many distinct values
)

// The fields. Units stand in their names and in their specs.
const (
	FieldNone Field = iota
	FieldAPI
	FieldName
	FieldKernelName
	FieldLibrary
	FieldFunction
	FieldGridX
	FieldGridY
	FieldGridZ
	FieldBlockX
	FieldBlockY
	FieldBlockZ
	FieldSharedMemBytes
	FieldStream
	FieldContext
	FieldBytes
	FieldDirection
	FieldAddress
	FieldCorrelationID
	FieldEntryOnly
	FieldStart
	FieldResult
	FieldStatus
	FieldFD
	FieldCmd
	FieldArg
	FieldDevice
	FieldDriver
	FieldRole
	FieldOrigin
	FieldRing
	FieldTimeline
	FieldBridge
	FieldSchedJobID
	FieldEntityPtr
	FieldJobPtr
	FieldFencePtr
	FieldFenceContext
	FieldFenceSeqno
	FieldHWFenceContext
	FieldHWFenceSeqno
	FieldOnFencePtr
	FieldOnFenceContext
	FieldOnFenceSeqno
	FieldUnsignalled
	FieldClientID
	FieldJobCount
	FieldHWJobCount
	FieldError
	FieldElapsed
	FieldActivity
	FieldGraphNode
	FieldArgs
	FieldCategory
	FieldTrack
	FieldSliceID
	FieldFlowID
	FieldStep
	FieldScope
	FieldUnit
	FieldValue
	FieldStack
	FieldPeriod
	FieldPrevTID
	FieldPrevComm
	FieldPrevPrio
	FieldPrevState
	FieldNextTID
	FieldNextComm
	FieldNextPrio
	FieldTargetTID
	FieldTargetPID
	FieldTargetComm
	FieldTargetCPU
	FieldPrio
	FieldIRQ
	FieldIP
	FieldObjectPtr
	FieldOffset
	FieldMemFlags
	FieldTaskOp
	FieldFilename
	FieldExitCode
	FieldCmdline
	FieldPPID
	FieldHost
	FieldRank
	FieldVersion
	FieldOrdinal
	FieldCode
	FieldCount
	FieldDomain
	FieldNSPID

	NumFields // not a field: their number
)

// FieldSpec describes a field.
type FieldSpec struct {
	Field Field
	Name  string // as it stands in the log's schema
	Type  FieldType
	Doc   string
}

// Spec returns the description of f. The result is shared and must not be changed.
func (f Field) Spec() *FieldSpec {
	if f < NumFields {
		return &fieldSpecs[f]
	}
	return &fieldSpecs[FieldNone]
}

// String returns the field's name ("fence_seqno").
func (f Field) String() string { return f.Spec().Name }

// FieldByName returns the field of a name, or FieldNone.
func FieldByName(name string) Field { return fieldByName[name] }

var fieldSpecs = [NumFields]FieldSpec{
	FieldNone:           {FieldNone, "", TypeNone, ""},
	FieldAPI:            {FieldAPI, "api", TypeUint, "API family, see API"},
	FieldName:           {FieldName, "name", TypeString, "name as the source gives it: function, activity, slice, counter, event"},
	FieldKernelName:     {FieldKernelName, "kernel_name", TypeString, "GPU function, mangled or not, as the source gives it"},
	FieldLibrary:        {FieldLibrary, "library", TypeString, "file that holds the function"},
	FieldFunction:       {FieldFunction, "function", TypePointer, "handle of the GPU function (CUfunction, host stub)"},
	FieldGridX:          {FieldGridX, "grid_x", TypeUint, "blocks"},
	FieldGridY:          {FieldGridY, "grid_y", TypeUint, "blocks"},
	FieldGridZ:          {FieldGridZ, "grid_z", TypeUint, "blocks"},
	FieldBlockX:         {FieldBlockX, "block_x", TypeUint, "threads"},
	FieldBlockY:         {FieldBlockY, "block_y", TypeUint, "threads"},
	FieldBlockZ:         {FieldBlockZ, "block_z", TypeUint, "threads"},
	FieldSharedMemBytes: {FieldSharedMemBytes, "shared_mem_bytes", TypeUint, "dynamic shared memory of a block, bytes"},
	FieldStream:         {FieldStream, "stream", TypeUint, "stream: its handle in an API call, its number in an activity"},
	FieldContext:        {FieldContext, "context", TypeUint, "GPU context"},
	FieldBytes:          {FieldBytes, "bytes", TypeUint, "bytes copied, set, allocated or mapped"},
	FieldDirection:      {FieldDirection, "direction", TypeUint, "direction of a copy, see Direction"},
	FieldAddress:        {FieldAddress, "address", TypePointer, "address allocated, freed, faulted or mapped"},
	FieldCorrelationID:  {FieldCorrelationID, "correlation_id", TypeInt, "the source's key from call to activity; valid within a process"},
	FieldEntryOnly:      {FieldEntryOnly, "entry_only", TypeBool, "the call's return is not probed: no exit will come"},
	FieldStart:          {FieldStart, "start", TypeTime, "when it began"},
	FieldResult:         {FieldResult, "result", TypeInt, "value returned"},
	FieldStatus:         {FieldStatus, "status", TypeUint, "status inside the ioctl's struct (NV_STATUS and the like)"},
	FieldFD:             {FieldFD, "fd", TypeInt, "file descriptor"},
	FieldCmd:            {FieldCmd, "cmd", TypeUint, "ioctl request number, 32 bits"},
	FieldArg:            {FieldArg, "arg", TypePointer, "ioctl argument"},
	FieldDevice:         {FieldDevice, "device", TypeString, "device: PCI address, else another identity of the source"},
	FieldDriver:         {FieldDriver, "driver", TypeString, "kernel driver"},
	FieldRole:           {FieldRole, "role", TypeUint, "what an ioctl does, see Role"},
	FieldOrigin:         {FieldOrigin, "origin", TypeString, "tracepoint family that told it: drm_sched, drm_sched_617, amdgpu, i915, i915_gem, xe, virtio_gpu, msm, v3d, vc4, lima, radeon, kgsl, mali, mali_kbase"},
	FieldRing:           {FieldRing, "ring", TypeString, "ring (hardware queue) within its device"},
	FieldTimeline:       {FieldTimeline, "timeline", TypeString, "fence timeline"},
	FieldBridge:         {FieldBridge, "bridge", TypeBool, "a second witness (amdgpu_cs_ioctl, amdgpu_sched_run_job) of a job's event"},
	FieldSchedJobID:     {FieldSchedJobID, "sched_job_id", TypeUint, "the scheduler's own number, unique on (device, ring)"},
	FieldEntityPtr:      {FieldEntityPtr, "entity_ptr", TypePointer, "scheduler entity"},
	FieldJobPtr:         {FieldJobPtr, "job_ptr", TypePointer, "scheduler job"},
	FieldFencePtr:       {FieldFencePtr, "fence_ptr", TypePointer, "fence; for jobs the finished fence"},
	FieldFenceContext:   {FieldFenceContext, "fence_context", TypeUint, "fence context; for jobs of the finished fence"},
	FieldFenceSeqno:     {FieldFenceSeqno, "fence_seqno", TypeUint, "fence seqno; for jobs of the finished fence"},
	FieldHWFenceContext: {FieldHWFenceContext, "hw_fence_context", TypeUint, "context of the hardware fence"},
	FieldHWFenceSeqno:   {FieldHWFenceSeqno, "hw_fence_seqno", TypeUint, "seqno of the hardware fence"},
	FieldOnFencePtr:     {FieldOnFencePtr, "on_fence_ptr", TypePointer, "fence that the job depends on"},
	FieldOnFenceContext: {FieldOnFenceContext, "on_fence_context", TypeUint, "its context"},
	FieldOnFenceSeqno:   {FieldOnFenceSeqno, "on_fence_seqno", TypeUint, "its seqno"},
	FieldUnsignalled:    {FieldUnsignalled, "unsignalled", TypeBool, "the fence had not signalled: the job really waits"},
	FieldClientID:       {FieldClientID, "client_id", TypeUint, "DRM client id; close to 2^64 for jobs of the driver itself; 0 if the driver gave none"},
	FieldJobCount:       {FieldJobCount, "job_count", TypeUint, "jobs in the entity's software queue, this one excluded"},
	FieldHWJobCount:     {FieldHWJobCount, "hw_job_count", TypeInt, "jobs (from 6.8: credits) in flight on the ring"},
	FieldError:          {FieldError, "error", TypeInt, "negative errno, or a fault's error code"},
	FieldElapsed:        {FieldElapsed, "elapsed_ns", TypeUint, "time on the device as the device measured it, ns"},
	FieldActivity:       {FieldActivity, "activity", TypeUint, "what the device did, see Activity"},
	FieldGraphNode:      {FieldGraphNode, "graph_node", TypeUint, "graph node"},
	FieldArgs:           {FieldArgs, "args", TypeText, "further fields of the source: a JSON object"},
	FieldCategory:       {FieldCategory, "category", TypeString, "category (cpu_op, nvtx, …)"},
	FieldTrack:          {FieldTrack, "track", TypeString, "track or stream that is not a thread"},
	FieldSliceID:        {FieldSliceID, "slice_id", TypeUint, "pairs the begin and end of a range that is not nested in its thread"},
	FieldFlowID:         {FieldFlowID, "flow_id", TypeUint, "the source's id of an arrow"},
	FieldStep:           {FieldStep, "step", TypeUint, "0 start, 1 step, 2 end of an arrow or of a reset"},
	FieldScope:          {FieldScope, "scope", TypeString, "g (all), p (process), t (thread)"},
	FieldUnit:           {FieldUnit, "unit", TypeString, "unit of a counter"},
	FieldValue:          {FieldValue, "value", TypeFloat, "value of a counter"},
	FieldStack:          {FieldStack, "stack", TypeText, "frames, innermost first, one a line"},
	FieldPeriod:         {FieldPeriod, "period", TypeUint, "sample period"},
	FieldPrevTID:        {FieldPrevTID, "prev_tid", TypeInt, "thread that left the CPU"},
	FieldPrevComm:       {FieldPrevComm, "prev_comm", TypeString, "its name"},
	FieldPrevPrio:       {FieldPrevPrio, "prev_prio", TypeInt, "its priority"},
	FieldPrevState:      {FieldPrevState, "prev_state", TypeString, "its state in letters: R, S, D, R+ …"},
	FieldNextTID:        {FieldNextTID, "next_tid", TypeInt, "thread that came onto the CPU"},
	FieldNextComm:       {FieldNextComm, "next_comm", TypeString, "its name"},
	FieldNextPrio:       {FieldNextPrio, "next_prio", TypeInt, "its priority"},
	FieldTargetTID:      {FieldTargetTID, "target_tid", TypeInt, "the other task: woken, forked"},
	FieldTargetPID:      {FieldTargetPID, "target_pid", TypeInt, "its process"},
	FieldTargetComm:     {FieldTargetComm, "target_comm", TypeString, "its name"},
	FieldTargetCPU:      {FieldTargetCPU, "target_cpu", TypeInt, "CPU that it is to run on"},
	FieldPrio:           {FieldPrio, "prio", TypeInt, "priority"},
	FieldIRQ:            {FieldIRQ, "irq", TypeInt, "interrupt number"},
	FieldIP:             {FieldIP, "ip", TypePointer, "instruction"},
	FieldObjectPtr:      {FieldObjectPtr, "object_ptr", TypePointer, "buffer object"},
	FieldOffset:         {FieldOffset, "offset", TypeUint, "offset in the object, bytes"},
	FieldMemFlags:       {FieldMemFlags, "mem_flags", TypeUint, "mapping flags of the driver"},
	FieldTaskOp:         {FieldTaskOp, "task_op", TypeUint, "see TaskOp"},
	FieldFilename:       {FieldFilename, "filename", TypeString, "program file"},
	FieldExitCode:       {FieldExitCode, "exit_code", TypeInt, "exit code"},
	FieldCmdline:        {FieldCmdline, "cmdline", TypeText, "command line, arguments separated by blanks"},
	FieldPPID:           {FieldPPID, "ppid", TypeInt, "parent process"},
	FieldHost:           {FieldHost, "host", TypeString, "host"},
	FieldRank:           {FieldRank, "rank", TypeInt, "rank in a distributed job"},
	FieldVersion:        {FieldVersion, "version", TypeString, "driver version"},
	FieldOrdinal:        {FieldOrdinal, "ordinal", TypeInt, "number of the device in its source"},
	FieldCode:           {FieldCode, "code", TypeInt, "number of the message (Xid)"},
	FieldCount:          {FieldCount, "count", TypeUint, "number of events"},
	FieldDomain:         {FieldDomain, "domain", TypeUint, "of a merged log: the machine and clock that the event belongs to; pids, tids, CPUs, fences, pointers and devices of different domains are unrelated; unknown is domain 0"},
	FieldNSPID:          {FieldNSPID, "ns_pid", TypeInt, "what the process, or the thread, is called in its own pid namespace (a container)"},
}

var fieldByName = func() map[string]Field {
	m := make(map[string]Field, NumFields)
	for f := Field(1); f < NumFields; f++ {
		m[fieldSpecs[f].Name] = f
	}
	return m
}()
