package event

import "slices"

// Kind says what an event is. The zero value is no kind at all.
type Kind uint8

// The kinds. A log holds points in time: what has a beginning and an end is
// paired by package correlate. The complete forms (KindAPI, KindIoctl,
// KindSlice, KindGPUActivity) carry the time of their end, and [FieldStart].
const (
	KindUnknown Kind = iota
	KindAPIEnter
	KindAPIExit
	KindAPI
	KindIoctlEnter
	KindIoctlExit
	KindIoctl
	KindJobQueue
	KindJobDep
	KindJobRun
	KindJobDone
	KindFenceInit
	KindFenceEmit
	KindFenceEnable
	KindFenceSignal
	KindFenceWaitStart
	KindFenceWaitEnd
	KindFenceDestroy
	KindGPUActivity
	KindSliceBegin
	KindSliceEnd
	KindSlice
	KindFlow
	KindMark
	KindCounter
	KindSample
	KindSchedSwitch
	KindSchedWaking
	KindSchedWakeup
	KindIRQEntry
	KindIRQExit
	KindPageFault
	KindMemMap
	KindMemUnmap
	KindTask
	KindProcess
	KindThread
	KindDevice
	KindReset
	KindLogLine
	KindLoss
	KindOther
	KindJobNote

	NumKinds // not a kind: their number
)

// String returns the kind's name as it stands in logs and exports ("job_queue").
func (k Kind) String() string {
	if k < NumKinds {
		return kindSpecs[k].Name
	}
	return "unknown"
}

// KindByName returns the kind of a name, or KindUnknown.
func KindByName(name string) Kind {
	return kindByName[name]
}

// KindSpec describes a kind: the schema that a log carries.
type KindSpec struct {
	Kind   Kind
	Name   string
	Fields []Field // in the order of their slots: a new field is added at the end
	Doc    string
}

// Spec returns the description of k. The result is shared and must not be changed.
func (k Kind) Spec() *KindSpec {
	if k < NumKinds {
		return &kindSpecs[k]
	}
	return &kindSpecs[KindUnknown]
}

var launchFields = []Field{
	FieldAPI, FieldName, FieldKernelName, FieldLibrary, FieldFunction,
	FieldGridX, FieldGridY, FieldGridZ, FieldBlockX, FieldBlockY, FieldBlockZ,
	FieldSharedMemBytes, FieldStream, FieldBytes, FieldDirection, FieldAddress,
	FieldCorrelationID, FieldEntryOnly,
}

var jobFields = []Field{
	FieldOrigin, FieldDevice, FieldRing, FieldTimeline, FieldBridge,
	FieldSchedJobID, FieldEntityPtr, FieldJobPtr, FieldFencePtr,
	FieldFenceContext, FieldFenceSeqno, FieldHWFenceContext, FieldHWFenceSeqno,
	FieldClientID, FieldJobCount, FieldHWJobCount, FieldError, FieldElapsed, FieldArgs, FieldStart,
}

var fenceFields = []Field{FieldDriver, FieldTimeline, FieldFenceContext, FieldFenceSeqno, FieldFencePtr, FieldError, FieldDevice, FieldSchedJobID}

var sliceFields = []Field{FieldName, FieldCategory, FieldTrack, FieldArgs, FieldStart, FieldSliceID, FieldCorrelationID}

var wakeFields = []Field{FieldTargetTID, FieldTargetComm, FieldPrio, FieldTargetCPU}

// What a job_note says, in its name. Another name is the source's own.
const (
	NoteReady     = "ready"     // its dependencies are met: the driver may hand it over
	NotePreempted = "preempted" // it was taken off the hardware before its end
	NoteRetired   = "retired"   // the driver is done with it: it ended some time before
	NoteCompleted = "completed" // the ring has completed it and all before it
	NoteTimedOut  = "timed_out" // it took too long; a reset follows
	NoteFault     = "fault"     // it made the hardware fault
	NoteError     = "error"     // the driver gave its fence an error
	NoteRecovery  = "recovery"  // what the driver did with it after a fault
)

// withDomain ends the fields of every kind with the domain.
func withDomain(specs [NumKinds]KindSpec) [NumKinds]KindSpec {
	for k := Kind(1); k < NumKinds; k++ {
		specs[k].Fields = slices.Concat(specs[k].Fields, []Field{FieldDomain})
	}
	return specs
}

var kindSpecs = withDomain([NumKinds]KindSpec{
	KindUnknown:        {KindUnknown, "unknown", nil, "No kind: never in a log."},
	KindAPIEnter:       {KindAPIEnter, "api_enter", launchFields, "A thread entered an API function."},
	KindAPIExit:        {KindAPIExit, "api_exit", []Field{FieldAPI, FieldName, FieldResult, FieldAddress, FieldCorrelationID, FieldKernelName, FieldFunction}, "An API function returned."},
	KindAPI:            {KindAPI, "api", append(launchFields[:len(launchFields):len(launchFields)], FieldStart, FieldResult, FieldArgs), "An API call, whole: the time is its end."},
	KindIoctlEnter:     {KindIoctlEnter, "ioctl_enter", []Field{FieldFD, FieldCmd, FieldArg, FieldDevice, FieldDriver, FieldName, FieldRole}, "A thread entered a device ioctl."},
	KindIoctlExit:      {KindIoctlExit, "ioctl_exit", []Field{FieldFD, FieldCmd, FieldResult, FieldStatus}, "A device ioctl returned; result is negative errno on failure."},
	KindIoctl:          {KindIoctl, "ioctl", []Field{FieldFD, FieldCmd, FieldArg, FieldDevice, FieldDriver, FieldName, FieldRole, FieldStart, FieldResult, FieldStatus}, "An ioctl, whole: the time is its end."},
	KindJobQueue:       {KindJobQueue, "job_queue", jobFields, "A job entered the software queue of a ring."},
	KindJobDep:         {KindJobDep, "job_dep", []Field{FieldOrigin, FieldDevice, FieldRing, FieldSchedJobID, FieldFencePtr, FieldFenceContext, FieldFenceSeqno, FieldOnFencePtr, FieldOnFenceContext, FieldOnFenceSeqno, FieldUnsignalled}, "A job depends on a fence."},
	KindJobRun:         {KindJobRun, "job_run", jobFields, "A job was handed to the hardware."},
	KindJobDone:        {KindJobDone, "job_done", jobFields, "The hardware finished a job."},
	KindFenceInit:      {KindFenceInit, "fence_init", fenceFields, "dma_fence_init."},
	KindFenceEmit:      {KindFenceEmit, "fence_emit", fenceFields, "dma_fence_emit: only drivers that call it by hand."},
	KindFenceEnable:    {KindFenceEnable, "fence_enable", fenceFields, "dma_fence_enable_signal: somebody waits for the fence."},
	KindFenceSignal:    {KindFenceSignal, "fence_signal", fenceFields, "dma_fence_signaled: before the fence's callbacks run."},
	KindFenceWaitStart: {KindFenceWaitStart, "fence_wait_start", fenceFields, "A thread began to block on a fence."},
	KindFenceWaitEnd:   {KindFenceWaitEnd, "fence_wait_end", fenceFields, "A thread ended its wait for a fence."},
	KindFenceDestroy:   {KindFenceDestroy, "fence_destroy", fenceFields, "The last reference to a fence went."},
	KindGPUActivity: {KindGPUActivity, "gpu_activity", []Field{FieldActivity, FieldName, FieldDevice, FieldStart, FieldContext, FieldStream, FieldCorrelationID, FieldBytes, FieldDirection,
		FieldGridX, FieldGridY, FieldGridZ, FieldBlockX, FieldBlockY, FieldBlockZ, FieldSharedMemBytes, FieldGraphNode, FieldArgs}, "Work measured on the device, whole: the time is its end."},
	KindSliceBegin:  {KindSliceBegin, "slice_begin", sliceFields, "A host range begins."},
	KindSliceEnd:    {KindSliceEnd, "slice_end", sliceFields, "A host range ends."},
	KindSlice:       {KindSlice, "slice", sliceFields, "A host range, whole: the time is its end."},
	KindFlow:        {KindFlow, "flow", []Field{FieldName, FieldCategory, FieldFlowID, FieldStep, FieldTrack, FieldArgs}, "One end or step of an arrow that the source drew."},
	KindMark:        {KindMark, "mark", []Field{FieldName, FieldCategory, FieldTrack, FieldArgs, FieldScope, FieldStart}, "An instant; start is when it was, if it was told at another time."},
	KindCounter:     {KindCounter, "counter", []Field{FieldName, FieldUnit, FieldDevice, FieldValue, FieldTrack}, "A sampled value."},
	KindSample:      {KindSample, "sample", []Field{FieldName, FieldStack, FieldPeriod}, "A stack sample."},
	KindSchedSwitch: {KindSchedSwitch, "sched_switch", []Field{FieldPrevTID, FieldPrevComm, FieldPrevPrio, FieldPrevState, FieldNextTID, FieldNextComm, FieldNextPrio}, "A CPU went from one thread to another."},
	KindSchedWaking: {KindSchedWaking, "sched_waking", wakeFields, "A thread is being woken."},
	KindSchedWakeup: {KindSchedWakeup, "sched_wakeup", wakeFields, "A thread became runnable."},
	KindIRQEntry:    {KindIRQEntry, "irq_entry", []Field{FieldIRQ, FieldName, FieldDevice, FieldDriver, FieldArgs}, "An interrupt handler began."},
	KindIRQExit:     {KindIRQExit, "irq_exit", []Field{FieldIRQ, FieldResult, FieldName, FieldDevice, FieldDriver, FieldArgs, FieldStart}, "An interrupt handler ended; with start it is whole: a driver told of it once."},
	KindPageFault:   {KindPageFault, "page_fault", []Field{FieldAddress, FieldIP, FieldError}, "A page fault."},
	KindMemMap:      {KindMemMap, "mem_map", []Field{FieldOrigin, FieldDevice, FieldObjectPtr, FieldAddress, FieldBytes, FieldOffset, FieldMemFlags}, "A range entered a GPU address space."},
	KindMemUnmap:    {KindMemUnmap, "mem_unmap", []Field{FieldOrigin, FieldDevice, FieldObjectPtr, FieldAddress, FieldBytes, FieldOffset, FieldMemFlags}, "A range left a GPU address space."},
	KindTask:        {KindTask, "task", []Field{FieldTaskOp, FieldTargetPID, FieldTargetTID, FieldTargetComm, FieldFilename, FieldExitCode}, "A task was forked, changed its program or name, or ended."},
	KindProcess:     {KindProcess, "process", []Field{FieldName, FieldCmdline, FieldPPID, FieldStart, FieldHost, FieldRank, FieldNSPID}, "Identity of a process; start is when it began, if known."},
	KindThread:      {KindThread, "thread", []Field{FieldName, FieldNSPID}, "Name of a thread."},
	KindDevice:      {KindDevice, "device", []Field{FieldDevice, FieldName, FieldDriver, FieldVersion, FieldOrdinal, FieldHost, FieldRank, FieldArgs}, "A GPU: device is its PCI address or other identity."},
	KindReset: {KindReset, "reset", []Field{FieldDevice, FieldRing, FieldName, FieldArgs, FieldStep, FieldOrigin, FieldTimeline, FieldSchedJobID, FieldFencePtr, FieldFenceContext, FieldFenceSeqno, FieldError},
		"A reset that the source names, and the job that brought it, if it names one; step 2: the reset is over."},
	KindLogLine: {KindLogLine, "log_line", []Field{FieldName, FieldDevice, FieldCode}, "A kernel message that matters."},
	KindLoss:    {KindLoss, "loss", []Field{FieldTrack, FieldStart, FieldCount, FieldName}, "Events are missing: of stream `track`, between start and the event's time; `name` is the remedy."},
	KindOther:   {KindOther, "other", []Field{FieldName, FieldArgs}, "An event without a kind of its own: its name and its fields."},
	KindJobNote: {KindJobNote, "job_note", append(jobFields[:len(jobFields):len(jobFields)], FieldName), "What a driver says of a job beside its queueing, run and end; name is what, see the Note constants."},
})

var kindByName = func() map[string]Kind {
	m := make(map[string]Kind, NumKinds)
	for k := Kind(1); k < NumKinds; k++ {
		m[kindSpecs[k].Name] = k
	}
	return m
}()
