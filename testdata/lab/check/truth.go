package check

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Key names a fence.
type Key struct{ Context, Seqno uint64 }

func (k Key) String() string { return fmt.Sprintf("%d:%d", k.Context, k.Seqno) }

// low is what dma_fence's tracepoints show of a key.
func (k Key) low() Key { return Key{k.Context & 0xffffffff, k.Seqno & 0xffffffff} }

// HWRun is one time that a job was given to the hardware. Times are
// nanoseconds; 0: did not happen.
type HWRun struct {
	Key
	Start, End, Signal int64
	Error              int
}

// Job is what the module says of a job. Times are nanoseconds of
// CLOCK_BOOTTIME; 0: did not happen.
type Job struct {
	PID, TID                 int
	Device, Ring             string
	Kernel                   bool // the kernel's own, not the submitter's
	Client, SchedID          uint64
	Entity, Ptr, Fence       uint64 // addresses; Fence is the finished fence
	Key                      Key    // of the finished fence
	Flags                    uint64
	Submit, Queue            int64
	Run, Scheduled, Finished int64
	Runs                     int
	Error                    int
	Ended                    bool
	Deps                     []Key
	HW                       []HWRun
}

// Op is a map, an unmap or an allocation.
type Op struct {
	Name     string
	PID, TID int
	Time     int64
	Ret      int
	Key      Key // of the kernel's job, if there is one
}

// Reset is one reset of a ring.
type Reset struct {
	Device, Ring string
	Start, End   int64
	Guilty       Key
	Lost         int
}

// Truth is what the module says of a run.
type Truth struct {
	Jobs       []*Job // in the order of submission
	Ops        []Op
	Resets     []Reset
	Interrupts int
	Open       int // jobs that had not ended when it was read
}

// Call is what a client says of one ioctl, or of a call of the API.
type Call struct {
	Name        string // submit, wait, map, unmap, alloc; call: of the API; mark: of the script
	API         string // cuLaunchKernel; the mark's name
	PID, TID    int
	Enter, Exit int64
	Ret         int
	Key         Key    // of the job, if there is one
	Kind        string // of a wait: driver, syncobj, timeline
	Handle      uint64 // of a syncobj: where a submission's fence goes, or what is waited for
	Point       uint64
}

// line is a word and its values: "job pid=3 ring=gfx".
type line struct {
	word   string
	values map[string]string
	err    error
}

func parseLine(text string) *line {
	f := strings.Fields(text)
	l := &line{values: map[string]string{}}
	if len(f) == 0 {
		l.err = fmt.Errorf("an empty line")
		return l
	}
	l.word = f[0]
	for _, s := range f[1:] {
		k, v, ok := strings.Cut(s, "=")
		if !ok && l.err == nil {
			l.err = fmt.Errorf("%q is not name=value", s)
		}
		l.values[k] = v
	}
	return l
}

func (l *line) str(name string) string {
	v, ok := l.values[name]
	if !ok && l.err == nil {
		l.err = fmt.Errorf("no value %s", name)
	}
	return v
}

func (l *line) uint(name string) uint64 {
	v, err := strconv.ParseUint(l.str(name), 0, 64)
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("%s: %w", name, err)
	}
	return v
}

func (l *line) int(name string) int64 {
	v, err := strconv.ParseInt(l.str(name), 10, 64)
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("%s: %w", name, err)
	}
	return v
}

func (l *line) key() Key { return Key{l.uint("ctx"), l.uint("seqno")} }

// lines calls do for each line of r.
func lines(r io.Reader, do func(*line)) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		l := parseLine(in.Text())
		if l.err == nil {
			do(l)
		}
		if l.err != nil {
			return fmt.Errorf("line %d: %w", n, l.err)
		}
	}
	return in.Err()
}

// ReadTruth reads the module's truth.
func ReadTruth(r io.Reader) (*Truth, error) {
	t := &Truth{}
	offset := int64(0) // from the module's clock to BOOTTIME
	err := lines(r, func(l *line) {
		switch l.word {
		case "truth":
			offset, t.Open = l.int("boot_minus_mono"), int(l.int("open"))
			t.Interrupts = int(l.int("interrupts"))
			if l.int("version") != 1 || l.int("jobs_without_room") != 0 {
				l.err = fmt.Errorf("another version, or jobs without room")
			}
		case "job":
			t.Jobs = append(t.Jobs, parseJob(l, offset))
		case "op":
			t.Ops = append(t.Ops, Op{Name: l.str("name"), PID: int(l.int("pid")), TID: int(l.int("tid")),
				Time: l.int("time") + offset, Ret: int(l.int("ret")), Key: l.key()})
		case "reset":
			t.Resets = append(t.Resets, Reset{Device: l.str("dev"), Ring: l.str("ring"), Start: l.int("start") + offset,
				End: l.int("end") + offset, Guilty: l.key(), Lost: int(l.int("lost"))})
		default:
			l.err = fmt.Errorf("no word %q in the module's truth", l.word)
		}
	})
	return t, err
}

func parseJob(l *line, offset int64) *Job {
	at := func(name string) int64 {
		if v := l.int(name); v != 0 {
			return v + offset
		}
		return 0
	}
	j := &Job{
		PID: int(l.int("pid")), TID: int(l.int("tid")), Device: l.str("dev"), Ring: l.str("ring"),
		Kernel: l.str("owner") == "kernel", Client: l.uint("client"), SchedID: l.uint("id"), Entity: l.uint("entity"), Ptr: l.uint("job"),
		Fence: l.uint("fence"), Key: l.key(), Flags: l.uint("flags"), Submit: at("submit"), Queue: at("queue"),
		Run: at("run"), Scheduled: at("scheduled"), Finished: at("finished"), Runs: int(l.int("runs")),
		Error: int(l.int("error")), Ended: l.str("state") == "ended",
	}
	for _, s := range strings.FieldsFunc(l.str("deps"), comma) {
		k := l.numbers(s, 2)
		j.Deps = append(j.Deps, Key{uint64(k[0]), uint64(k[1])})
	}
	for _, s := range strings.FieldsFunc(l.str("hw"), comma) {
		k := l.numbers(s, 6)
		for i := 2; i < 5; i++ {
			if k[i] != 0 {
				k[i] += offset
			}
		}
		j.HW = append(j.HW, HWRun{Key{uint64(k[0]), uint64(k[1])}, k[2], k[3], k[4], int(k[5])})
	}
	return j
}

func comma(r rune) bool { return r == ',' }

// numbers reads n numbers with colons between; unsigned ones keep their bits.
func (l *line) numbers(s string, n int) []int64 {
	out := make([]int64, n)
	parts := strings.Split(s, ":")
	if len(parts) != n {
		l.err = fmt.Errorf("%q is not %d numbers", s, n)
		return out
	}
	for i, p := range parts {
		v, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			var u uint64
			u, err = strconv.ParseUint(p, 10, 64)
			v = int64(u)
		}
		if err != nil && l.err == nil {
			l.err = err
		}
		out[i] = v
	}
	return out
}

// ReadCalls reads what clients say. Their clock is CLOCK_MONOTONIC, which in a
// guest that never sleeps is BOOTTIME.
func ReadCalls(r io.Reader) ([]Call, error) {
	var calls []Call
	err := lines(r, func(l *line) {
		c := Call{Name: l.word, PID: int(l.int("pid")), TID: int(l.int("tid")), Enter: l.int("enter"),
			Exit: l.int("exit"), Ret: int(l.int("ret"))}
		if c.Name == "call" || c.Name == "mark" {
			c.API = l.str("name")
		}
		if _, ok := l.values["point"]; ok {
			c.Handle, c.Point = l.uint("handle"), l.uint("point")
		}
		if c.Name == "wait" {
			c.Kind = l.str("kind")
		}
		if _, ok := l.values["ctx"]; ok {
			c.Key = l.key()
		}
		calls = append(calls, c)
	})
	return calls, err
}

// results are those of a run: the truths and the trace.
type results struct {
	dir      string
	truth    *Truth
	calls    []Call
	badExits int // clients that ended with another status than 0
	trace    *Trace

	logCounts map[string]int64 // measures of gpurec's logs
}

func readResults(dir string) (*results, error) {
	f, err := os.Open(filepath.Join(dir, "truth"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &results{dir: dir}
	if r.truth, err = ReadTruth(f); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	for i := 1; ; i++ {
		name := filepath.Join(dir, fmt.Sprintf("client.%d", i))
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		calls, err := ReadCalls(strings.NewReader(string(text)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.calls = append(r.calls, calls...)
		status, err := os.ReadFile(name + ".status")
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(string(status)) != "0" {
			r.badExits++
		}
	}
	r.trace, err = ReadTrace(dir)
	return r, err
}
