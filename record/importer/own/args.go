package own

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Arg is an argument that gpurec's exports write (docs/perfetto.md). Those of
// launches are common to other writers.
type Arg uint8

const (
	argNone Arg = iota
	argAPICall
	argIoctl
	argWait
	argJob
	argActivity
	argSlice
	argMark
	argOther
	argSampleID
	argMemMap
	argLastID // the ones above are row numbers: only gpurec's exports have them
	argResult
	// ArgStream is a number of calls and activities, a name of losses.
	ArgStream
	argBytes
	argCorrelation
	argSchedJob
	argPID
	argTID
	argQueueDelay
	argHWQueue
	argError
	argHidden
	argContext
	argCPU
	argCount
	argCode
	argQueued
	argDone
	argFinished
	argPeriod
	argInferred
	argLow32
	argLastNumber // the ones above are numbers
	argKernelName
	argGrid
	argBlock
	argDevice // a number of activities, a name of all else
	argCmd
	argRole
	argEnd
	argFence
	argRing
	argHWFence
	argOnFence
	argKind
	argRemedy
	argLog
	argArgs
	argFields
	argSeverity
	argDoc
	argSample
	argStack
	argAddress
	argObjectPtr
	argClipped
	argIgnored // follows from others
	numArgs
)

// argNames are the names of the arguments.
var argNames = map[string]Arg{
	"api_call_id":       argAPICall,
	"ioctl_id":          argIoctl,
	"fence_wait_id":     argWait,
	"job_id":            argJob,
	"gpu_activity_id":   argActivity,
	"slice_id":          argSlice,
	"mark_id":           argMark,
	"other_id":          argOther,
	"sample_id":         argSampleID,
	"mem_map_id":        argMemMap,
	"result":            argResult,
	"stream":            ArgStream,
	"bytes":             argBytes,
	"correlation_id":    argCorrelation,
	"sched_job_id":      argSchedJob,
	"pid":               argPID,
	"tid":               argTID,
	"queue_delay_ns":    argQueueDelay,
	"hw_queue_ns":       argHWQueue,
	"error":             argError,
	"queued_hidden":     argHidden,
	"context":           argContext,
	"cpu":               argCPU,
	"count":             argCount,
	"code":              argCode,
	"queued_ns":         argQueued,
	"done_ns":           argDone,
	"finished_ns":       argFinished,
	"period":            argPeriod,
	"pid_inferred":      argInferred,
	"low32":             argLow32,
	"kernel_name":       argKernelName,
	"grid":              argGrid,
	"block":             argBlock,
	"device":            argDevice,
	"cmd":               argCmd,
	"role":              argRole,
	"end":               argEnd,
	"fence":             argFence,
	"ring":              argRing,
	"hw_fence":          argHWFence,
	"depends_on_fence":  argOnFence,
	"kind":              argKind,
	"remedy":            argRemedy,
	"log":               argLog,
	"args":              argArgs,
	"fields":            argFields,
	"severity":          argSeverity,
	"doc":               argDoc,
	"sample":            argSample,
	"stack":             argStack,
	"address":           argAddress,
	"object_ptr":        argObjectPtr,
	"clipped":           argClipped,
	"errno":             argIgnored,
	"links":             argIgnored,
	"rule":              argIgnored,
	"confidence":        argIgnored,
	"wait_ns":           argIgnored,
	"wake_ns":           argIgnored,
	"already_signalled": argIgnored,
	"unmatched_reason":  argIgnored,
	"device_time_ns":    argIgnored,
	"depends_on_job_id": argIgnored,
	"depends_on_ring":   argIgnored,
	"cause":             argIgnored,
	"next_job_id":       argIgnored,
	"dur_ns":            argIgnored,
	"submitter":         argIgnored,
	"submitter_was":     argIgnored,
	"waits_for_job_id":  argIgnored,
	"waits_for_ring":    argIgnored,
	"also_in":           argIgnored,
}

// IsNumber reports whether the argument is a number, also where a format
// writes a large one as text.
func (a Arg) IsNumber() bool { return a < argLastNumber && a != ArgStream }

// Args holds the arguments of a slice or an instant.
type Args struct {
	has      uint64
	ids      bool // a row number is among them
	foreign  bool // an argument that gpurec's exports do not write
	inferred bool
	nums     [numArgs]uint64
	strs     [numArgs]string
}

// Reset empties a.
func (a *Args) Reset() { a.has, a.ids, a.foreign, a.inferred = 0, false, false, false }

// Meet notes that there is an argument of that name. ok is false if its value
// is of no use.
func (a *Args) Meet(name string) (arg Arg, ok bool) { return a.meet(argNames[name]) }

// MeetBytes is [Args.Meet] for a name in bytes.
func (a *Args) MeetBytes(name []byte) (arg Arg, ok bool) { return a.meet(argNames[string(name)]) }

func (a *Args) meet(arg Arg) (Arg, bool) {
	a.foreign = a.foreign || arg == argNone
	return arg, arg != argNone && arg != argIgnored
}

func (a *Args) set(x Arg) {
	a.has |= 1 << x
	a.ids = a.ids || x < argLastID
	a.inferred = a.inferred || x == argInferred
}

// SetUint gives an argument a number, in two's complement if it is negative.
func (a *Args) SetUint(x Arg, v uint64) {
	a.nums[x], a.strs[x] = v, ""
	a.set(x)
}

// SetStr gives an argument a text.
func (a *Args) SetStr(x Arg, s string) {
	a.strs[x] = s
	a.set(x)
}

// Known reports whether what bears the arguments is surely of gpurec's export:
// they hold the number of a row, and none that it does not write.
func (a *Args) Known() bool { return a.ids && !a.foreign }

// Any reports whether any of the arguments is one that exports write.
func (a *Args) Any() bool { return a.has != 0 }

// Inferred reports whether the process was deduced.
func (a *Args) Inferred() bool { return a.inferred }

func (a *Args) is(x Arg) bool { return a.has&(1<<x) != 0 }

func (a *Args) num(x Arg) (uint64, bool) { return a.nums[x], a.is(x) && a.strs[x] == "" }

func (a *Args) str(x Arg) string {
	if !a.is(x) {
		return ""
	}
	return a.strs[x]
}

// setUint copies a number into a field.
func (a *Args) setUint(e *event.Event, f event.Field, x Arg) {
	if v, ok := a.num(x); ok {
		e.SetUint(f, v)
	}
}

// setHex copies "0x7f…" into a field.
func (a *Args) setHex(e *event.Event, f event.Field, x Arg) {
	if s, ok := strings.CutPrefix(a.str(x), "0x"); ok {
		if v, err := strconv.ParseUint(s, 16, 64); err == nil {
			e.SetUint(f, v)
		}
	}
}

// fence reads "context:seqno".
func (a *Args) fence(x Arg) (context, seqno uint64, ok bool) {
	c, s, ok := strings.Cut(a.str(x), ":")
	if !ok {
		return 0, 0, false
	}
	context, err1 := strconv.ParseUint(c, 10, 64)
	seqno, err2 := strconv.ParseUint(s, 10, 64)
	return context, seqno, err1 == nil && err2 == nil
}

// setFence copies a fence.
func (a *Args) setFence(e *event.Event, c, s event.Field, x Arg) {
	if context, seqno, ok := a.fence(x); ok {
		e.SetUint(c, context)
		e.SetUint(s, seqno)
	}
}

// setDims copies "432,1,1".
func (a *Args) setDims(e *event.Event, x Arg, fields ...event.Field) {
	rest := a.str(x)
	for _, f := range fields {
		var s string
		s, rest, _ = strings.Cut(rest, ",")
		if v, err := strconv.ParseUint(s, 10, 64); err == nil {
			e.SetUint(f, v)
		}
	}
}
