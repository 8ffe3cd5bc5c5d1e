package correlate

// The rows of what happened on CPUs, and of what stands alone.

// Sched is a row of sched: a thread's time on a CPU.
type Sched struct {
	CPU       int64   `col:"cpu" doc:"CPU"`
	StartNS   OptTime `col:"start_ns" unit:"ns" doc:"came onto the CPU"`
	EndNS     OptTime `col:"end_ns" unit:"ns" doc:"left it; NULL if that was not seen"`
	ProcessID ID      `col:"process_id" doc:"processes.id; NULL if unknown"`
	TID       OptInt  `col:"tid" doc:"thread"`
	Comm      string  `col:"comm" doc:"its name"`
	Prio      OptInt  `col:"prio" doc:"priority"`
	EndState  string  `col:"end_state" doc:"state when it left: R, S, D, …"`
	WakerTID  OptInt  `col:"waker_tid" doc:"thread that woke it"`
	WakeupNS  OptTime `col:"wakeup_ns" unit:"ns" doc:"when it was woken"`
	PrevPrio  OptInt  `col:"prev_prio" doc:"priority of the thread that left when this one came"`
	PrevTID   OptInt  `col:"prev_tid" doc:"thread that left when this one came"`
	PrevComm  string  `col:"prev_comm" doc:"its name"`
	PrevState string  `col:"prev_state" doc:"its state"`
}

// IRQ is a row of irqs.
type IRQ struct {
	CPU     int64   `col:"cpu" doc:"CPU"`
	IRQ     OptInt  `col:"irq" doc:"interrupt number"`
	Name    string  `col:"name" doc:"handler"`
	StartNS OptTime `col:"start_ns" unit:"ns" doc:"begin"`
	EndNS   OptTime `col:"end_ns" unit:"ns" doc:"end"`

	DeviceID ID     `col:"device_id" doc:"devices.id of a GPU's interrupt: as the event names it, else the only device of driver; NULL if it is of no GPU, or there is no telling of which"`
	Driver   string `col:"driver" doc:"GPU driver whose interrupt it is, by the handler's name; NULL if it is of none"`
	Args     string `col:"args" doc:"further fields of the source, JSON"`
	Source   string `col:"source" doc:"tracepoint that told it"`
}

// MemMap is a row of mem_maps.
type MemMap struct {
	ID        ID      `col:"id" doc:"row number"`
	DeviceID  ID      `col:"device_id" doc:"devices.id"`
	ProcessID ID      `col:"process_id" doc:"processes.id"`
	PID       OptInt  `col:"pid" doc:"process"`
	TID       OptInt  `col:"tid" doc:"thread"`
	Op        string  `col:"op" doc:"map, unmap"`
	TSNS      OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	Address   OptUint `col:"address" doc:"GPU address"`
	Bytes     OptUint `col:"bytes" unit:"bytes" doc:"size"`
	ObjectPtr OptUint `col:"object_ptr" doc:"buffer object"`
}

// Reset is a row of resets.
type Reset struct {
	ID       ID      `col:"id" doc:"row number"`
	DeviceID ID      `col:"device_id" doc:"devices.id"`
	Ring     string  `col:"ring" doc:"ring"`
	TSNS     OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	Rule     string  `col:"rule" doc:"source if an event or log line names it, else inferred"`
	Log      string  `col:"log" doc:"what named it"`
	HWFence  string  `col:"hw_fence" doc:"context:seqno of the second hardware fence, if inferred from one"`
	JobID    ID      `col:"job_id" doc:"jobs.id that brought it, where that is known; if the reset is inferred, the job that was run again"`
	EndNS    OptTime `col:"end_ns" unit:"ns" doc:"the reset was over; NULL if no source tells"`
}

// Mark is a row of marks.
type Mark struct {
	ID        ID      `col:"id" doc:"row number"`
	ProcessID ID      `col:"process_id" doc:"processes.id"`
	PID       OptInt  `col:"pid" doc:"process"`
	TID       OptInt  `col:"tid" doc:"thread"`
	TSNS      OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	Category  string  `col:"category" doc:"category"`
	Name      string  `col:"name" doc:"name"`
	Args      string  `col:"args" doc:"further fields, JSON"`
}

// Flow is a row of flows: one end of an arrow that the source drew.
type Flow struct {
	FlowID    OptUint `col:"flow_id" doc:"the source's id"`
	ProcessID ID      `col:"process_id" doc:"processes.id"`
	PID       OptInt  `col:"pid" doc:"process"`
	TID       OptInt  `col:"tid" doc:"thread"`
	TSNS      OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	Category  string  `col:"category" doc:"category"`
	Name      string  `col:"name" doc:"name"`
	Step      string  `col:"step" doc:"start, step, end"`
}

// Sample is a row of samples.
type Sample struct {
	ProcessID ID      `col:"process_id" doc:"processes.id"`
	PID       OptInt  `col:"pid" doc:"process"`
	TID       OptInt  `col:"tid" doc:"thread"`
	CPU       OptInt  `col:"cpu" doc:"CPU"`
	TSNS      OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	Name      string  `col:"name" doc:"event sampled"`
	Period    OptUint `col:"period" doc:"period"`
	Stack     string  `col:"stack" doc:"frames, innermost first, one a line"`
}

// LogLine is a row of log_lines.
type LogLine struct {
	TSNS     OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	DeviceID ID      `col:"device_id" doc:"devices.id"`
	Text     string  `col:"text" doc:"the line"`
	Code     OptInt  `col:"code" doc:"Xid or other number"`

	PID       OptInt `col:"pid" doc:"process that a line with an Xid names; NULL if it names none"`
	ProcessID ID     `col:"process_id" doc:"processes.id of pid; NULL if it was not known when the line was told"`
}

// Other is a row of others.
type Other struct {
	ID        ID      `col:"id" doc:"row number"`
	ProcessID ID      `col:"process_id" doc:"processes.id"`
	PID       OptInt  `col:"pid" doc:"process"`
	TID       OptInt  `col:"tid" doc:"thread"`
	CPU       OptInt  `col:"cpu" doc:"CPU"`
	TSNS      OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	Name      string  `col:"name" doc:"event"`
	Fields    string  `col:"fields" doc:"its fields, JSON"`
}
