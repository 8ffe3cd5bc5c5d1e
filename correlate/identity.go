package correlate

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// A process is (pid, start time): a pid seen again after its exit or fork is
// a new process. A thread without a known process stands under a process of
// its own, whose pid is the thread's id, marked inferred, until an event
// names the real one.

// process is a process as far as events told it.
type process struct {
	row   Process
	ended bool
	named bool // by an identity event, exec or its leader
	kern  bool // kernel thread

	launchIoctls bool // launches were seen to make ioctls
	// The least correlation id that calls showed, when, and who told; mixed:
	// several did, each with numbers of its own.
	minCorrelation    OptInt
	minCorrelationAt  event.Time
	minCorrelationBy  uint8
	mixedCorrelations bool
	forgotCorrelation int64 // greatest id that was forgotten
	calls             int64
	faulted           OptTime // when the kernel's log last told of a fault of it

	threads int    // that have not ended
	used    uint64 // tick when one of them was last named, or ended
}

// thread is a thread and what it is doing now.
type thread struct {
	row      Thread
	proc     *process
	exited   bool // its exit was seen: see exitGrace
	ended    bool // its id means another now
	idle     bool // a CPU's idle loop, or an unknown thread: no row
	pid      OptInt
	tid      OptInt
	pidSeen  int32
	exitComm string   // the name it exited under
	text     string   // see keyText
	key      int32    // in the index
	in       *process // until it ends
	used     uint64   // tick of its last event
	active   bool     // what it did last is remembered

	calls   []*call  // open calls, outermost first
	recent  *recents // calls that another witness may tell too
	done    callTree // complete calls that may still get a parent
	ioctl   *ioctl   // open
	closing *ioctl   // returned by one witness, the other may follow
	wait    *wait    // open
	late    []*ioctl // returned, and in no call so far

	pairs    []fencePair // drm_sched fences made and not yet owned
	lastInit *fence      // last drm_sched fence made, a possible first of a pair

	pairedAfter ID // losses told when the last pair was made

	running *job      // run event seen, hardware fence not yet
	called  endingJob // the job that the scheduler last handed to its driver here
	native  endingJob // the job that a driver last queued here, for the scheduler's event
	emitted emitted
	failed  endingJob // whose hardware fence signalled here last
	slice   *sliceStack
	history history
}

type idTracker struct {
	e       *engine
	procs   map[int32]*process
	threads map[int32]*thread
	idle    map[int32]*thread // by CPU
	none    *thread
	lastTID int32
	last    *thread

	allProcs   []*process // not let go, in the order of their ids
	procsLetGo bool
	sweepAt    int       // number of processes at which some may be let go
	allThreads []*thread // in the order in which they began, some that ended among them
	live       int       // of these not ended
	loose      []*thread // that are none: idle loops
	active     []*thread
	exited     []exitedThread // in the order of their exits, not yet closed or closed since
	devices    []*device
	byDevice   map[string]*device
	byDriver   map[string]*device // inferred
	ofDriver   map[string]ofDriver

	endedThreads []Thread // rows that wait for the end
	endedProcs   []Process
}

// device is a device as far as events told it.
type device struct {
	row   Device
	rings bool   // it was seen to have some
	used  uint64 // tick when it was last named
}

func (x *idTracker) init(e *engine) {
	x.e = e
	x.procs = map[int32]*process{}
	x.threads = map[int32]*thread{}
	x.idle = map[int32]*thread{}
	x.byDevice = map[string]*device{}
	x.byDriver = map[string]*device{}
	x.ofDriver = map[string]ofDriver{}
	x.lastTID = event.NoID
	x.none = x.newLoose(nil)
}

// newLoose makes what stands for a thread where an event names none.
func (x *idTracker) newLoose(p *process) *thread {
	t := &thread{idle: true, pidSeen: event.NoID}
	if p == nil {
		x.loose = append(x.loose, t)
		return t
	}
	x.join(t, p)
	t.pid = p.row.PID
	x.add(t)
	return t
}

// thread returns the thread of an event, never nil, and learns from the event
// which process it is in and what it is called.
func (x *idTracker) thread(ev *event.Event) *thread {
	tid := ev.TID
	if tid <= 0 {
		if tid == 0 {
			return x.idleThread(ev.CPU)
		}
		if ev.PID > 0 {
			return x.processThread(ev)
		}
		return x.none
	}
	t := x.last
	if t == nil || tid != x.lastTID || t.ended {
		t = x.lookup(ev, tid)
		x.last, x.lastTID = t, tid
	}
	if t.exited && t.succeeded(ev) {
		x.close(t, endKilled)
		t = x.lookup(ev, tid)
		x.last, x.lastTID = t, tid
	}
	if ev.PID != t.pidSeen && ev.PID > 0 {
		t = x.learn(ev, t)
		x.last, x.lastTID = t, tid
	}
	if ev.Comm != t.row.Name && ev.Comm != "" && ev.Comm != "<...>" {
		x.rename(t, ev.Comm)
	}
	t.used = x.e.tick
	return t
}

func (x *idTracker) lookup(ev *event.Event, tid int32) *thread {
	t := x.threads[tid]
	if t == nil || t.ended {
		t = x.newThread(tid, ev.Time)
	}
	if !t.row.FirstNS.OK {
		t.row.FirstNS = event.OptTime(ev.Time)
	}
	if t.proc == nil && ev.PID <= 0 {
		x.inferProcess(t)
	}
	return t
}

// idleThread returns the pseudo thread of a CPU's idle loop: thread 0 is on
// every CPU at once.
func (x *idTracker) idleThread(cpu int32) *thread {
	if cpu >= maxCPUs {
		return x.none
	}
	t := x.idle[cpu]
	if t == nil {
		t = x.newLoose(nil)
		x.idle[cpu] = t
	}
	return t
}

// processThread stands for a process whose source names no thread.
func (x *idTracker) processThread(ev *event.Event) *thread {
	key := -ev.PID - 1
	t := x.threads[key]
	p := x.process(ev.PID, event.NoID, ev.Time)
	if t == nil || t.proc != p {
		t = x.newLoose(p)
		t.key = key
		x.threads[key] = t
	}
	t.used = x.e.tick
	return t
}

func (x *idTracker) newThread(tid int32, at event.Time) *thread {
	t := &thread{pidSeen: event.NoID, tid: optTask(tid), key: tid}
	x.e.seq.thread++
	t.row = Thread{ID: x.e.seq.thread, TID: t.tid, FirstNS: event.OptTime(at)}
	x.add(t)
	x.threads[tid] = t
	if x.lastTID == tid {
		x.last, x.lastTID = nil, event.NoID
	}
	return t
}

// inferProcess gives a thread without a process one of its own.
func (x *idTracker) inferProcess(t *thread) {
	x.e.seq.process++
	p := x.addProcess(&process{row: Process{ID: x.e.seq.process, PID: t.tid, PIDInferred: true, Name: t.row.Name}})
	x.join(t, p)
	p.kern = kernelName(t.row.Name)
}

// learn tells a thread its process.
func (x *idTracker) learn(ev *event.Event, t *thread) *thread {
	inferred := ev.Flags&event.FlagPIDInferred != 0
	if t.pidSeen > 0 && t.pidSeen != ev.PID {
		if !t.exited {
			x.e.count(&anomalyThreadMoved)
		}
		x.close(t, endKilled)
		t = x.newThread(ev.TID, ev.Time)
	}
	t.pidSeen = ev.PID
	if !inferred {
		t.pid = optTask(ev.PID)
	}
	if t.proc == nil || !t.proc.row.PIDInferred {
		x.join(t, x.process(ev.PID, ev.TID, ev.Time))
		t.proc.row.PIDInferred = t.proc.row.PIDInferred || inferred
	} else if p := x.procs[ev.PID]; p == nil || p.ended {
		// The process that was made for this thread turns out to be this one.
		t.proc.row.PID, t.proc.row.PIDInferred = optTask(ev.PID), inferred
		x.procs[ev.PID] = t.proc
	} else if p != t.proc {
		x.e.count(&anomalyProcessLate)
		x.join(t, p)
	}
	x.nameProcess(t)
	return t
}

// process returns the process that has pid at a time; tid is the thread that
// showed it, NoID if none did.
func (x *idTracker) process(pid, tid int32, at event.Time) *process {
	p := x.procs[pid]
	if p != nil && (!p.ended || tid != pid && (tid != event.NoID || p.lately(at))) {
		return p
	}
	return x.newProcess(pid)
}

func (x *idTracker) newProcess(pid int32) *process {
	x.e.seq.process++
	p := x.addProcess(&process{row: Process{ID: x.e.seq.process, PID: optTask(pid)}})
	x.procs[pid] = p
	return p
}

func (x *idTracker) rename(t *thread, comm string) {
	t.row.Name = comm
	x.nameProcess(t)
}

// nameProcess takes the leader's name for the process, or any until that is seen.
func (x *idTracker) nameProcess(t *thread) {
	p := t.proc
	if p == nil || t.row.Name == "" {
		return
	}
	leader := t.tid == p.row.PID
	if !p.named && (leader || p.row.Name == "") {
		p.row.Name = t.row.Name
	}
	p.kern = p.kern || leader && kernelName(t.row.Name)
}

var kernelPrefixes = []string{"kworker/", "ksoftirqd/", "migration/", "swapper/", "irq/", "rcu", "kthreadd", "idle_inject/", "cpuhp/", "card"}

// kernelName reports whether a thread of this name is the kernel's own.
func kernelName(s string) bool {
	for _, p := range kernelPrefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// kernel reports whether a thread is the kernel's own.
func (t *thread) kernel() bool {
	return t.proc != nil && (t.proc.kern || t.proc.row.PPID == event.Some[int64](2))
}

// keyText is the key of links on the thread: "tid 144".
func (t *thread) keyText() string {
	switch {
	case t.text != "":
	case t.tid.OK:
		t.text = "tid " + strconv.FormatInt(t.tid.V, 10)
	case t.pid.OK:
		t.text = "pid " + strconv.FormatInt(t.pid.V, 10)
	}
	return t.text
}

func (t *thread) processID() ID {
	if t.proc == nil {
		return 0
	}
	return t.proc.row.ID
}

func (x *idTracker) processEvent(ev *event.Event) {
	if ev.PID <= 0 {
		x.e.misc.other(ev, x.thread(ev))
		return
	}
	s := ev.TimeOf(event.FieldStart)
	p := x.procs[ev.PID]
	if p == nil || !sameStart(p.row.StartNS, s) {
		p = x.process(ev.PID, event.NoID, ev.Time)
		if p.row.StartNS.OK && s.Known() || p.outlived(s) {
			p = x.succeed(p, ev.PID)
		}
		setTime(&p.row.StartNS, event.OptTime(s))
	}
	p.used = x.e.tick
	setStr(&p.row.Name, ev.Str(event.FieldName))
	p.named = p.named || ev.Has(event.FieldName)
	setStr(&p.row.Cmdline, ev.Str(event.FieldCmdline))
	setStr(&p.row.Host, ev.Str(event.FieldHost))
	setInt(&p.row.PPID, optInt(ev, event.FieldPPID))
	setInt(&p.row.NSPID, optInt(ev, event.FieldNSPID))
	setInt(&p.row.Rank, optInt(ev, event.FieldRank))
	p.row.PIDInferred = p.row.PIDInferred || ev.Flags&event.FlagPIDInferred != 0
}

// succeed makes the process that has the pid of an older one now.
func (x *idTracker) succeed(p *process, pid int32) *process {
	p.ended = true
	x.alive(pid)
	return x.newProcess(pid)
}

// procTick is the step of the start times in /proc/PID/stat, which round down:
// clock ticks of USER_HZ (fs/proc/array.c). A fork event tells it exactly.
const procTick = 10 * 1e6 // ns

// sameStart reports whether s, exact or as /proc gives it, is the start that
// is known already.
func sameStart(known OptTime, s event.Time) bool {
	return known.OK && s.Known() && max(known.V-s, s-known.V) < procTick
}

func setTime(p *OptTime, v OptTime) {
	if v.OK {
		*p = v
	}
}

func (x *idTracker) threadEvent(ev *event.Event) {
	t := x.thread(ev)
	if n := ev.Str(event.FieldName); n != "" && !t.idle {
		x.rename(t, n)
	}
}

func setStr(p *string, v string) {
	if v != "" {
		*p = v
	}
}

func setInt(p *OptInt, v OptInt) {
	if v.OK {
		*p = v
	}
}
