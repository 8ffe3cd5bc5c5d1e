package ftrace

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

var wakeBinds = []bind{
	{key: "comm", field: event.FieldTargetComm, conv: convNonEmpty},
	{key: "pid", field: event.FieldTargetTID, conv: convInt},
	{key: "prio", field: event.FieldPrio, conv: convInt},
	{key: "success", conv: convIgnore},
	{key: "target_cpu", field: event.FieldTargetCPU, conv: convInt},
}

func schedTracepoints() []tracepoint {
	const sched = "sched"
	return []tracepoint{
		{system: sched, name: "sched_switch", kind: event.KindSchedSwitch, text: textSwitch, binds: []bind{
			{key: "prev_comm", field: event.FieldPrevComm, conv: convNonEmpty},
			{key: "prev_pid", field: event.FieldPrevTID, conv: convInt},
			{key: "prev_prio", field: event.FieldPrevPrio, conv: convInt},
			{key: "prev_state", field: event.FieldPrevState, conv: convState},
			{key: "next_comm", field: event.FieldNextComm, conv: convNonEmpty},
			{key: "next_pid", field: event.FieldNextTID, conv: convInt},
			{key: "next_prio", field: event.FieldNextPrio, conv: convInt},
		}},
		{system: sched, name: "sched_waking", kind: event.KindSchedWaking, text: textWake, binds: wakeBinds},
		{system: sched, name: "sched_wakeup", kind: event.KindSchedWakeup, text: textWake, binds: wakeBinds},
		{system: sched, name: "sched_wakeup_new", kind: event.KindSchedWakeup, text: textWake, binds: wakeBinds},
		{system: sched, name: "sched_process_fork", kind: event.KindTask, task: event.TaskFork, binds: []bind{
			{key: "comm", conv: convIgnore}, {key: "parent_comm", conv: convIgnore},
			{key: "pid", conv: convIgnore}, {key: "parent_pid", conv: convIgnore},
			{key: "child_comm", field: event.FieldTargetComm, conv: convNonEmpty},
			{key: "child_pid", field: event.FieldTargetTID, conv: convInt},
		}},
		{system: sched, name: "sched_process_exec", kind: event.KindTask, task: event.TaskExec, fix: fixExec, binds: []bind{
			{key: "filename", field: event.FieldFilename, conv: convStr},
			{key: "pid", conv: convUint, tmp: 0},
			{key: "old_pid", conv: convUint, tmp: 1},
		}},
		{system: sched, name: "sched_process_exit", kind: event.KindTask, task: event.TaskExit, binds: []bind{
			{key: "comm", conv: convIgnore}, {key: "pid", conv: convIgnore},
			{key: "prio", conv: convIgnore}, {key: "group_dead", conv: convIgnore},
		}},
		{system: "task", name: "task_newtask", kind: event.KindTask, task: event.TaskFork, fix: fixNewTask, binds: []bind{
			{key: "pid", conv: convUint, tmp: 0},
			{key: "comm", field: event.FieldTargetComm, conv: convNonEmpty},
			{key: "clone_flags", conv: convHex, tmp: 1},
			{key: "oom_score_adj", conv: convIgnore},
		}},
		{system: "task", name: "task_rename", kind: event.KindTask, task: event.TaskRename, binds: []bind{
			{key: "pid", field: event.FieldTargetTID, conv: convInt},
			{key: "oldcomm", conv: convIgnore},
			{key: "newcomm", field: event.FieldTargetComm, conv: convNonEmpty},
			{key: "oom_score_adj", conv: convIgnore},
		}},
	}
}

// fixExec: after exec the thread has its process's number (de_thread in
// fs/exec.c), whatever it was before.
func fixExec(e *event.Event, s *scratch) {
	pid, ok := s.get(0)
	if !ok || pid >= 1<<31 {
		return
	}
	if e.PID == event.NoID {
		e.PID = int32(pid)
	}
	if old, ok := s.get(1); ok && old != pid && old < 1<<31 {
		e.SetInt(event.FieldTargetTID, int64(old))
	}
}

// cloneThread is CLONE_THREAD of include/uapi/linux/sched.h: the new task is a
// thread of the same process.
const cloneThread = 0x00010000

func fixNewTask(e *event.Event, s *scratch) {
	tid, ok := s.get(0)
	if !ok {
		return
	}
	e.SetUint(event.FieldTargetTID, tid)
	flags, ok := s.get(1)
	switch {
	case !ok:
	case flags&cloneThread == 0:
		e.SetUint(event.FieldTargetPID, tid)
	case e.PID != event.NoID:
		e.SetInt(event.FieldTargetPID, int64(e.PID))
	}
}

func systemTracepoints() []tracepoint {
	faultBinds := []bind{
		{key: "address", field: event.FieldAddress, conv: convHex},
		{key: "ip", field: event.FieldIP, conv: convHex},
		{key: "error_code", field: event.FieldError, conv: convHex},
	}
	printBinds := []bind{{key: "buf", conv: convStr}, {key: "str", conv: convStr}, {key: "ip", conv: convIgnore}}
	return []tracepoint{
		{system: "syscalls", name: "sys_enter_ioctl", kind: event.KindIoctlEnter, text: textIoctl, binds: []bind{
			{key: "__syscall_nr", conv: convIgnore},
			{key: "nr", conv: convIgnore}, // its name before 4.19
			{key: "fd", field: event.FieldFD, conv: convInt},
			{key: "cmd", field: event.FieldCmd, conv: convUint},
			{key: "arg", field: event.FieldArg, conv: convUint},
		}},
		{system: "syscalls", name: "sys_exit_ioctl", kind: event.KindIoctlExit, text: textIoctlExit, binds: []bind{
			{key: "__syscall_nr", conv: convIgnore},
			{key: "nr", conv: convIgnore},
			{key: "ret", field: event.FieldResult, conv: convInt},
		}},
		{system: "raw_syscalls", name: "sys_enter", kind: event.KindIoctlEnter, ioctlNR: "id", text: textSysEnter},
		{system: "raw_syscalls", name: "sys_exit", kind: event.KindIoctlExit, ioctlNR: "id", text: textSysExit, binds: []bind{
			{key: "id", conv: convIgnore},
			{key: "ret", field: event.FieldResult, conv: convInt},
		}},
		{system: "irq", name: "irq_handler_entry", kind: event.KindIRQEntry, binds: []bind{
			{key: "irq", field: event.FieldIRQ, conv: convInt},
			{key: "name", field: event.FieldName, conv: convNonEmpty},
		}},
		{system: "irq", name: "irq_handler_exit", kind: event.KindIRQExit, binds: []bind{
			{key: "irq", field: event.FieldIRQ, conv: convInt},
			{key: "ret", field: event.FieldResult, conv: convHandled},
		}},
		{system: "exceptions", name: "page_fault_user", kind: event.KindPageFault, binds: faultBinds},
		{system: "exceptions", name: "page_fault_kernel", kind: event.KindPageFault, binds: faultBinds},
		{system: "ftrace", name: "print", kind: event.KindMark, mark: true, binds: printBinds},
		{system: "ftrace", name: "tracing_mark_write", kind: event.KindMark, mark: true, binds: printBinds},
		{system: "ftrace", name: "0", kind: event.KindMark, mark: true, binds: printBinds}, // its address, where the kernel had no symbol
		{system: "ftrace", name: "bputs", kind: event.KindMark, mark: true, binds: printBinds},
		{system: "ftrace", name: "bprint", kind: event.KindMark, mark: true, binds: printBinds},
	}
}

// ioctlNR is the number of ioctl among the system calls of x86-64.
const ioctlNR = 16

var smallNumbers = [...]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"}

// smallNumber prints v without allocating for the usual ones.
func smallNumber(v uint64) string {
	if v < uint64(len(smallNumbers)) {
		return smallNumbers[v]
	}
	return strconv.FormatUint(v, 10)
}
