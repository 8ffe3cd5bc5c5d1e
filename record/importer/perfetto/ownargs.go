package perfetto

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Arguments that gpurec's own export writes (docs/perfetto.md), and by which
// its slices become events again. Those of launches are common to other writers.
type ownArgument uint8

const (
	ownNone ownArgument = iota
	ownAPICall
	ownIoctl
	ownWait
	ownJob
	ownActivity
	ownSlice
	ownMark
	ownOther
	ownLastID // the ones above are row numbers: only our export has them
	ownResult
	ownStream
	ownBytes
	ownCorrelation
	ownSchedJob
	ownPID
	ownTID
	ownQueueDelay
	ownHWQueue
	ownError
	ownHidden
	ownContext
	ownCPU
	ownCount
	ownCode
	ownInferred
	ownKernelName
	ownGrid
	ownBlock
	ownDevice
	ownCmd
	ownRole
	ownEnd
	ownFence
	ownRing
	ownHWFence
	ownOnFence
	ownKind
	ownRemedy
	ownLog
	ownArgs
	ownFields
	ownSeverity
	ownDoc
	ownSample
	ownIgnored // follows from others
	numOwn
)

// ownNames are the names of the arguments.
var ownNames = map[string]ownArgument{
	"api_call_id":       ownAPICall,
	"ioctl_id":          ownIoctl,
	"fence_wait_id":     ownWait,
	"job_id":            ownJob,
	"gpu_activity_id":   ownActivity,
	"slice_id":          ownSlice,
	"mark_id":           ownMark,
	"other_id":          ownOther,
	"result":            ownResult,
	"stream":            ownStream,
	"bytes":             ownBytes,
	"correlation_id":    ownCorrelation,
	"sched_job_id":      ownSchedJob,
	"pid":               ownPID,
	"tid":               ownTID,
	"queue_delay_ns":    ownQueueDelay,
	"hw_queue_ns":       ownHWQueue,
	"error":             ownError,
	"queued_hidden":     ownHidden,
	"context":           ownContext,
	"cpu":               ownCPU,
	"count":             ownCount,
	"code":              ownCode,
	"pid_inferred":      ownInferred,
	"kernel_name":       ownKernelName,
	"grid":              ownGrid,
	"block":             ownBlock,
	"device":            ownDevice,
	"cmd":               ownCmd,
	"role":              ownRole,
	"end":               ownEnd,
	"fence":             ownFence,
	"ring":              ownRing,
	"hw_fence":          ownHWFence,
	"depends_on_fence":  ownOnFence,
	"kind":              ownKind,
	"remedy":            ownRemedy,
	"log":               ownLog,
	"args":              ownArgs,
	"fields":            ownFields,
	"severity":          ownSeverity,
	"doc":               ownDoc,
	"sample":            ownSample,
	"errno":             ownIgnored,
	"links":             ownIgnored,
	"rule":              ownIgnored,
	"confidence":        ownIgnored,
	"wait_ns":           ownIgnored,
	"wake_ns":           ownIgnored,
	"already_signalled": ownIgnored,
	"unmatched_reason":  ownIgnored,
	"device_time_ns":    ownIgnored,
	"depends_on_job_id": ownIgnored,
	"depends_on_ring":   ownIgnored,
	"cause":             ownIgnored,
	"next_job_id":       ownIgnored,
	"dur_ns":            ownIgnored,
	"submitter":         ownIgnored,
	"submitter_was":     ownIgnored,
	"waits_for_job_id":  ownIgnored,
	"waits_for_ring":    ownIgnored,
	"also_in":           ownIgnored,
}

// own holds the values of such arguments.
type own struct {
	has      uint64
	ids      bool // a row number is among them
	foreign  bool // an argument that our export does not write
	inferred bool
	nums     [numOwn]uint64
	strs     [numOwn]string
}

func (o *own) reset() { o.has, o.ids, o.foreign, o.inferred = 0, false, false, false }

// known reports whether a slice is surely of gpurec's export.
func (o *own) known() bool { return o.ids && !o.foreign }

func (o *own) set(a ownArgument, r *reader, s *sequence, f *field) {
	switch f.num {
	case daString:
		o.strs[a] = r.str(f.b)
	case daStringID:
		o.strs[a], _ = s.strings.get(f.v)
	case daUint, daInt, daBool, daPointer:
		o.nums[a], o.strs[a] = f.v, ""
	default:
		return
	}
	o.has |= 1 << a
	o.ids = o.ids || a < ownLastID
	o.inferred = o.inferred || a == ownInferred
}

func (o *own) num(a ownArgument) (uint64, bool) {
	return o.nums[a], o.has&(1<<a) != 0 && o.strs[a] == ""
}

func (o *own) str(a ownArgument) string {
	if o.has&(1<<a) == 0 {
		return ""
	}
	return o.strs[a]
}

// setUint copies a number into a field.
func (o *own) setUint(e *event.Event, f event.Field, a ownArgument) {
	if v, ok := o.num(a); ok {
		e.SetUint(f, v)
	}
}

// setFence copies "context:seqno".
func (o *own) setFence(e *event.Event, c, s event.Field, a ownArgument) {
	ctx, seq, ok := strings.Cut(o.str(a), ":")
	if !ok {
		return
	}
	cv, err1 := strconv.ParseUint(ctx, 10, 64)
	sv, err2 := strconv.ParseUint(seq, 10, 64)
	if err1 == nil && err2 == nil {
		e.SetUint(c, cv)
		e.SetUint(s, sv)
	}
}

// setDims copies "432,1,1".
func (o *own) setDims(e *event.Event, a ownArgument, fields ...event.Field) {
	rest := o.str(a)
	for _, f := range fields {
		var s string
		s, rest, _ = strings.Cut(rest, ",")
		if v, err := strconv.ParseUint(s, 10, 64); err == nil {
			e.SetUint(f, v)
		}
	}
}
