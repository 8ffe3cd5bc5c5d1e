package bpf

import (
	"bytes"
	"fmt"
	"unsafe"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
)

// Anomalies of live BPF recording.
var (
	anomalyRecord = &event.AnomalySpec{Name: "bpf_record_malformed", Severity: event.SeverityError,
		Doc:    "A record in the ring buffer had an unknown type or a wrong length.",
		Remedy: "The BPF object and the program do not belong together: rebuild with make generate."}
	anomalySymbol = &event.AnomalySpec{Name: "bpf_symbol_unknown", Severity: event.SeverityError,
		Doc:    "A record named a probe that was never placed.",
		Remedy: "Report this as a bug, with the log."}
	anomalyNoRoom = &event.AnomalySpec{Name: "bpf_threads_full", Severity: event.SeverityWarning,
		Doc:    "More threads made calls at once than there is room for: the return of some calls was not recorded.",
		Remedy: "Record fewer processes."}
	anomalyArgument = &event.AnomalySpec{Name: "bpf_argument_unreadable", Severity: event.SeverityInfo,
		Doc:    "An argument on the stack or in a struct could not be read when the call was made.",
		Remedy: "None: the memory was not present, the fields stay unknown."}
	anomalyName = &event.AnomalySpec{Name: "bpf_name_cut", Severity: event.SeverityInfo,
		Doc:    "The name of a GPU function was longer than 1023 bytes and is cut.",
		Remedy: "None."}
	anomalyMissed = &event.AnomalySpec{Name: "bpf_program_missed", Severity: event.SeverityWarning,
		Doc:    "An interrupt met a traced event while the program for the same kind of event ran on that CPU; the kernel left the program out, so the event is not in the log.",
		Remedy: "None while BPF records: ftrace has no such gap (--probe api,ioctl -e 'gpu_scheduler:*' -e 'dma_fence:*')."}
)

// converter turns records into events. It keeps what is needed across
// records: names of GPU functions by process, threads' names, devices. Not
// safe for concurrent use.
type converter struct {
	symbols   *symbols
	devices   deviceLookup
	drivers   map[uint64]string // address of get_driver_name → driver
	tasks     bool              // task events are wanted
	anomalies event.Counters

	comms   commCache
	strings map[string]string
	procs   map[uint32]*process
	// shown holds calls whose entry was written because they were long open,
	// by thread: their record at return is then an exit.
	shown map[uint32][]shownCall

	tap func(rec []byte) // tests: sees every record
}

type shownCall struct {
	start uint64
	id    uint16
}

// process is what is known of the GPU functions of a process. One that was
// forked has its parent's: a copy of the memory with the handles.
type process struct {
	parent *process
	names  map[uint64]string // handle → kernel name
}

func newConverter(s *symbols) *converter {
	return &converter{
		symbols: s,
		devices: noDevices{},
		strings: map[string]string{},
		procs:   map[uint32]*process{},
		shown:   map[uint32][]shownCall{},
		tasks:   true,
	}
}

// as views a record as a T, nil if it is too short.
func as[T any](rec []byte) *T {
	var t T
	if len(rec) < int(unsafe.Sizeof(t)) {
		return nil
	}
	return (*T)(unsafe.Pointer(&rec[0]))
}

// convert appends the event of a record to b, if it makes one. rec may lie in
// the ring: nothing of it is kept.
func (c *converter) convert(rec []byte, b *event.Batch) {
	if c.tap != nil {
		c.tap(rec)
	}
	h := as[objects.Head](rec)
	if h == nil {
		c.malformed(rec)
		return
	}
	ok := true
	switch h.Type {
	case objects.RecAPIEnter, objects.RecAPIEnterX, objects.RecAPI, objects.RecAPIX, objects.RecAPIExit, objects.RecAPIName:
		ok = c.api(h, rec, b)
	case objects.RecIoctlEnter, objects.RecIoctlExit:
		ok = c.ioctl(h, rec, b)
	case objects.RecTask:
		ok = c.task(h, rec, b)
	case objects.RecJob:
		ok = c.job(h, rec, b)
	case objects.RecDep:
		ok = c.dep(h, rec, b)
	case objects.RecFence:
		ok = c.fence(h, rec, b)
	default:
		ok = false
	}
	if !ok {
		c.malformed(rec)
	}
}

func (c *converter) malformed(rec []byte) {
	c.anomalies.AddAt(anomalyRecord, 1, fmt.Sprintf("record of %d bytes", len(rec)))
}

// start begins an event with what is common to all records.
func (c *converter) start(b *event.Batch, k event.Kind, h *objects.Head, source string) *event.Event {
	e := b.Add(k, event.Time(h.TS))
	e.CPU = int32(h.CPU)
	e.PID = int32(h.PID)
	e.TID = int32(h.TID)
	e.Comm = c.comms.get(h.TID, &h.Comm)
	e.Source = source
	return e
}

// intern returns the text before the first NUL, without a new string for each record.
func (c *converter) intern(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if s, ok := c.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	c.strings[s] = s
	return s
}

// commCache holds the last name of recent threads.
type commCache struct {
	entries [256]struct {
		tid  uint32
		raw  [16]byte
		text string
	}
}

func (c *commCache) get(tid uint32, raw *[16]byte) string {
	e := &c.entries[tid%uint32(len(c.entries))]
	if e.tid == tid && e.raw == *raw && e.text != "" {
		return e.text
	}
	n := bytes.IndexByte(raw[:], 0)
	if n < 0 {
		n = len(raw)
	}
	e.tid, e.raw, e.text = tid, *raw, string(raw[:n])
	return e.text
}
