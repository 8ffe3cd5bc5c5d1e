package gpulog

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// The numbers of kinds and fields in a log. They are part of the format: a
// number is never given a new meaning, new ones are added at the end, and
// docs/format.md lists them. Kinds and fields of package event are found by
// name; one that is missing here gets a number from wireSpare on, which only
// the log's own schema explains.
var wireKinds = []string{
	1: "api_enter", 2: "api_exit", 3: "api",
	4: "ioctl_enter", 5: "ioctl_exit", 6: "ioctl",
	7: "job_queue", 8: "job_dep", 9: "job_run", 10: "job_done",
	11: "fence_init", 12: "fence_emit", 13: "fence_enable", 14: "fence_signal",
	15: "fence_wait_start", 16: "fence_wait_end", 17: "fence_destroy",
	18: "gpu_activity",
	19: "slice_begin", 20: "slice_end", 21: "slice", 22: "flow", 23: "mark", 24: "counter", 25: "sample",
	26: "sched_switch", 27: "sched_waking", 28: "sched_wakeup", 29: "irq_entry", 30: "irq_exit",
	31: "page_fault", 32: "mem_map", 33: "mem_unmap", 34: "task",
	35: "process", 36: "thread", 37: "device",
	38: "reset", 39: "log_line", 40: "loss", 41: "other",
	42: "job_note",
}

var wireFields = []string{
	1: "api", 2: "name", 3: "kernel_name", 4: "library", 5: "function",
	6: "grid_x", 7: "grid_y", 8: "grid_z", 9: "block_x", 10: "block_y", 11: "block_z",
	12: "shared_mem_bytes", 13: "stream", 14: "context", 15: "bytes", 16: "direction", 17: "address",
	18: "correlation_id", 19: "entry_only", 20: "start", 21: "result", 22: "status",
	23: "fd", 24: "cmd", 25: "arg", 26: "device", 27: "driver", 28: "role",
	29: "origin", 30: "ring", 31: "timeline", 32: "bridge", 33: "sched_job_id",
	34: "entity_ptr", 35: "job_ptr", 36: "fence_ptr", 37: "fence_context", 38: "fence_seqno",
	39: "hw_fence_context", 40: "hw_fence_seqno", 41: "on_fence_ptr", 42: "on_fence_context", 43: "on_fence_seqno",
	44: "unsignalled", 45: "client_id", 46: "job_count", 47: "hw_job_count", 48: "error", 49: "elapsed_ns",
	50: "activity", 51: "graph_node", 52: "args", 53: "category", 54: "track",
	55: "slice_id", 56: "flow_id", 57: "step", 58: "scope", 59: "unit", 60: "value", 61: "stack", 62: "period",
	63: "prev_tid", 64: "prev_comm", 65: "prev_prio", 66: "prev_state",
	67: "next_tid", 68: "next_comm", 69: "next_prio",
	70: "target_tid", 71: "target_pid", 72: "target_comm", 73: "target_cpu", 74: "prio",
	75: "irq", 76: "ip", 77: "object_ptr", 78: "offset", 79: "mem_flags", 80: "task_op",
	81: "filename", 82: "exit_code", 83: "cmdline", 84: "ppid", 85: "host", 86: "rank",
	87: "version", 88: "ordinal", 89: "code", 90: "count", 91: "domain", 92: "ns_pid",
}

// wireTypes are the numbers of the field types.
var wireTypes = [...]event.FieldType{
	1: event.TypeInt, 2: event.TypeUint, 3: event.TypePointer, 4: event.TypeTime,
	5: event.TypeFloat, 6: event.TypeBool, 7: event.TypeString, 8: event.TypeText,
}

const wireSpare = 1 << 10

// wireKindOf and wireFieldOf map to numbers, for writing.
var (
	wireKindOf  = numbersOf(wireKinds, int(event.NumKinds), func(i int) string { return event.Kind(i).String() })
	wireFieldOf = numbersOf(wireFields, int(event.NumFields), func(i int) string { return event.Field(i).String() })
	wireTypeOf  = func() (m [len(wireTypes)]uint8) {
		for n, t := range wireTypes {
			if t != event.TypeNone {
				m[t] = uint8(n)
			}
		}
		return
	}()
)

// numbersOf returns the number of each of n names.
func numbersOf(wire []string, n int, name func(int) string) []uint32 {
	out := make([]uint32, n)
	for i := 1; i < n; i++ {
		num := slices.Index(wire, name(i)) // of few: a map takes longer to make
		if num < 0 {
			num = wireSpare + i
		}
		out[i] = uint32(num)
	}
	return out
}

// Encodings of a column: see docs/format.md, "Columns".
type encoding uint8

const (
	encConst  encoding = iota // one value
	encVarint                 // values
	encDelta                  // differences
	encDict                   // a dictionary of its own, and places in it
	encPool                   // places in the block's pool
	encKeyed                  // differences from the last value with the same key
	encPlain                  // 8 bytes each

	numEncodings
)

var encodingNames = [numEncodings]string{"const", "varint", "delta", "dict", "pool", "keyed", "plain"}

// base is what the values of a column are relative to.
type base uint8

const (
	baseNone base = iota // nothing
	baseTime             // the event's time: value = time − stored
	baseTID              // the event's tid: value = stored + tid
	baseComm             // the event's comm: value = stored XOR its string number

	numBases
)

var baseNames = [numBases]string{"none", "time", "tid", "comm"}

// timeMode says what a shape's times are.
type timeMode uint8

const (
	timeNone  timeMode = iota // no time, and none in the column of times
	timeKnown                 // the event's time
	timePlace                 // the event has no time; the column holds the place it takes in the order

	numTimeModes
)
