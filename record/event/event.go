// Package event is the event model: times, identities, kinds and batches.
package event

import (
	"fmt"
	"math"
)

// NoID is the value of PID, TID and CPU when the source does not give them.
const NoID int32 = -1

// Slots in an event. A kind may have at most so many fields of each sort;
// they are sizes in memory only and stand in no file.
const (
	maxNums = 18
	maxStrs = 6
)

// Flags qualify an event as a whole.
type Flags uint8

// The flags.
const (
	// FlagLow32: fence contexts and seqnos are only the low 32 bits of the kernel's values.
	FlagLow32 Flags = 1 << iota
	// FlagHashed: pointers are hashes (ftrace text with hash-ptr): equal
	// within the source, but no addresses.
	FlagHashed
	// FlagPIDInferred: the source names no process; PID was deduced.
	FlagPIDInferred
	// FlagRingInferred: the source left the ring out; it was deduced from a fence's timeline.
	FlagRingInferred
	// FlagUnaligned: the times of the event are of another clock than the
	// log's, and could not be converted.
	FlagUnaligned
)

// Event is one point in time. It is a value: copying it copies all of it, and
// nothing in it belongs to a reader. What a kind may carry beyond the common
// part is in its [KindSpec]; a field that was not set is unknown, never zero.
//
// Make one with [New] or [Event.Reset]: the zero Event says "CPU 0, PID 0".
type Event struct {
	Time   Time
	Kind   Kind
	Flags  Flags
	CPU    int32  // NoID if unknown
	PID    int32  // process (tgid) as the initial pid namespace sees it; NoID if unknown
	TID    int32  // thread; NoID if unknown
	set    uint32 // bit i: nums[i] is set; bit maxNums+i: strs[i]
	Comm   string // name of the thread at the time, "" if unknown
	Source string // what witnessed it: "gpu_scheduler:drm_sched_job", "uprobe:cuLaunchKernel"
	nums   [maxNums]uint64
	strs   [maxStrs]string
}

// New returns an event of kind k at t with nothing else known.
func New(k Kind, t Time) Event {
	return Event{Time: t, Kind: k, CPU: NoID, PID: NoID, TID: NoID}
}

// Reset makes e an event of kind k at t with nothing else known.
func (e *Event) Reset(k Kind, t Time) {
	*e = Event{Time: t, Kind: k, CPU: NoID, PID: NoID, TID: NoID}
}

// slot of a field in a kind: 1-based, numbers first, then strings; 0 if it has none.
var slots = func() (s [NumKinds][NumFields]uint8) {
	for k := Kind(1); k < NumKinds; k++ {
		n, t := uint8(0), uint8(0)
		for _, f := range kindSpecs[k].Fields {
			if isString(f) {
				t++
				s[k][f] = maxNums + t
			} else {
				n++
				s[k][f] = n
			}
		}
		if n > maxNums || t > maxStrs {
			panic("event: kind " + kindSpecs[k].Name + " has too many fields")
		}
	}
	return
}()

func isString(f Field) bool {
	t := fieldSpecs[f].Type
	return t == TypeString || t == TypeText
}

// Has reports whether e carries f.
func (e *Event) Has(f Field) bool {
	s := slots[e.Kind][f]
	return s != 0 && e.set&(1<<(s-1)) != 0
}

// Uint returns the value of a field that is not a string, as bits, and whether it is known.
func (e *Event) Uint(f Field) (uint64, bool) {
	s := slots[e.Kind][f]
	if s == 0 || s > maxNums || e.set&(1<<(s-1)) == 0 {
		return 0, false
	}
	return e.nums[s-1], true
}

// Int is Uint for signed fields.
func (e *Event) Int(f Field) (int64, bool) {
	v, ok := e.Uint(f)
	return int64(v), ok
}

// Float is Uint for fields of TypeFloat.
func (e *Event) Float(f Field) (float64, bool) {
	v, ok := e.Uint(f)
	return math.Float64frombits(v), ok
}

// TimeOf returns a field of TypeTime, or NoTime.
func (e *Event) TimeOf(f Field) Time {
	v, ok := e.Uint(f)
	if !ok {
		return NoTime
	}
	return Time(v)
}

// Bool reports whether a field of TypeBool is set and true.
func (e *Event) Bool(f Field) bool {
	v, _ := e.Uint(f)
	return v != 0
}

// Str returns the value of a string field, "" if it is unknown.
func (e *Event) Str(f Field) string {
	s := slots[e.Kind][f]
	if s <= maxNums || e.set&(1<<(s-1)) == 0 {
		return ""
	}
	return e.strs[s-1-maxNums]
}

// SetUint sets a field that is not a string. It panics if the kind has no such field.
func (e *Event) SetUint(f Field, v uint64) {
	s := slots[e.Kind][f]
	if s == 0 || s > maxNums {
		panic(fmt.Sprintf("event: %v has no number %v", e.Kind, f))
	}
	e.nums[s-1] = v
	e.set |= 1 << (s - 1)
}

// SetInt is SetUint for signed fields.
func (e *Event) SetInt(f Field, v int64) { e.SetUint(f, uint64(v)) }

// SetFloat is SetUint for fields of TypeFloat.
func (e *Event) SetFloat(f Field, v float64) { e.SetUint(f, math.Float64bits(v)) }

// SetTime is SetUint for fields of TypeTime; NoTime leaves the field unknown.
func (e *Event) SetTime(f Field, t Time) {
	if t.Known() {
		e.SetUint(f, uint64(t))
	}
}

// SetBool is SetUint for fields of TypeBool.
func (e *Event) SetBool(f Field, v bool) {
	var n uint64
	if v {
		n = 1
	}
	e.SetUint(f, n)
}

// SetStr sets a string field; "" leaves it unknown. It panics if the kind has no such field.
func (e *Event) SetStr(f Field, v string) {
	s := slots[e.Kind][f]
	if s <= maxNums {
		panic(fmt.Sprintf("event: %v has no string %v", e.Kind, f))
	}
	if v == "" {
		return
	}
	e.strs[s-1-maxNums] = v
	e.set |= 1 << (s - 1)
}

// Clear makes a field unknown again.
func (e *Event) Clear(f Field) {
	if s := slots[e.Kind][f]; s != 0 {
		e.set &^= 1 << (s - 1)
	}
}

// Fence returns the fence key of the event ([FieldFenceContext], [FieldFenceSeqno])
// and whether both halves are known.
func (e *Event) Fence() (FenceKey, bool) {
	return e.fence(FieldFenceContext, FieldFenceSeqno)
}

// HWFence is Fence for the hardware fence of a job.
func (e *Event) HWFence() (FenceKey, bool) {
	return e.fence(FieldHWFenceContext, FieldHWFenceSeqno)
}

// OnFence is Fence for the fence that a job depends on.
func (e *Event) OnFence() (FenceKey, bool) {
	return e.fence(FieldOnFenceContext, FieldOnFenceSeqno)
}

func (e *Event) fence(c, s Field) (FenceKey, bool) {
	cv, ok1 := e.Uint(c)
	sv, ok2 := e.Uint(s)
	return FenceKey{cv, sv}, ok1 && ok2
}

// FenceKey names a dma_fence: its context and its number on that context.
// Where a source gives only low halves ([FlagLow32]) both are below 2^32.
type FenceKey struct{ Context, Seqno uint64 }

// String returns "context:seqno" in decimal.
func (k FenceKey) String() string { return fmt.Sprintf("%d:%d", k.Context, k.Seqno) }

// Low32 returns the key that a source with 32-bit values shows for k.
func (k FenceKey) Low32() FenceKey {
	return FenceKey{k.Context & math.MaxUint32, k.Seqno & math.MaxUint32}
}
