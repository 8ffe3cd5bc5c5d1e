package ftrace

import "github.com/gpurec/gpurec/record/event"

// tasks holds the names and processes of threads. Its memory is bounded.
type tasks struct {
	all  map[int32]task
	fast [256]struct {
		tid int32
		ok  bool
		task
	}
}

type task struct {
	pid  int32
	comm string
}

const maxTasks = 1 << 18

func (t *tasks) set(tid, pid int32, comm string) {
	if t.all == nil {
		t.all = make(map[int32]task)
	}
	if _, known := t.all[tid]; !known && len(t.all) >= maxTasks {
		clear(t.all)
		clear(t.fast[:])
	}
	t.all[tid] = task{pid, comm}
	t.fast[uint32(tid)%uint32(len(t.fast))].ok = false
}

func (t *tasks) get(tid int32) task {
	c := &t.fast[uint32(tid)%uint32(len(t.fast))]
	if c.ok && c.tid == tid {
		return c.task
	}
	k, ok := t.all[tid]
	if !ok {
		k.pid = event.NoID
		if tid == 0 {
			k.comm = "<idle>" // as the kernel's own text has it
		}
	}
	c.tid, c.ok, c.task = tid, true, k
	return k
}
