package bpf

// The records of src/records.h. Members have the same order, sizes and
// offsets; TestRecordLayouts compares them with the object's BTF.

// RecType says which struct a record is.
type RecType uint8

// The record types (enum rec_type).
const (
	RecAPIEnter RecType = iota + 1
	RecAPIEnterX
	RecAPI
	RecAPIX
	RecAPIExit
	RecAPIName
	RecIoctlEnter
	RecIoctlExit
	RecTask
	RecLib
	RecJob
	RecDep
	RecFence
)

// Flags of a record's head (RF_*).
const (
	FlagExtra   = 1 << iota // Extra could be read
	FlagOut                 // Out could be read
	FlagName                // Name could be read
	FlagOpen                // the call had not returned when its thread ended
	FlagEntry               // no return will be recorded
	FlagStatus              // Status could be read
	FlagStopped             // the process was sent SIGSTOP
)

// Probe ids (enum probe_id). Those from IDFirstSymbol on are given out by user space.
const (
	IDIoctlEnter uint16 = iota + 1
	IDIoctlExit
	IDFork
	IDExec
	IDExit
	IDRename
	IDMmap
	IDJobQueueOld
	IDJobRunOld
	IDJobDoneOld
	IDJobDepOld
	IDJobQueue
	IDJobRun
	IDJobDone
	IDJobDep
	IDJobUnschedulable
	IDFenceInit
	IDFenceEmit
	IDFenceEnable
	IDFenceSignal
	IDFenceWaitStart
	IDFenceWaitEnd
	IDFenceDestroy

	IDFirstSymbol = 32
	MaxIDs        = 4096 // entries of the maps hits and fn_descs
)

// Group is what losses are counted by, beside the CPU (enum group).
type Group uint32

// The groups.
const (
	GroupAPI Group = iota
	GroupIoctl
	GroupTask
	GroupSched
	GroupFence
	NumGroups
)

// Operations of a Task record (enum task_op).
const (
	TaskFork = iota + 1
	TaskExec
	TaskExit
	TaskRename
)

// Members of a Job that are known (JF_*).
const (
	JobSchedID = 1 << iota
	JobHW
	JobClient
	JobCounts
	JobEntity
)

// Head begins every record.
type Head struct {
	TS    uint64 // CLOCK_BOOTTIME, ns
	PID   uint32
	TID   uint32
	Type  RecType
	Flags uint8
	ID    uint16
	CPU   uint32
	Comm  [16]byte
}

// APIEnter is rec_api_enter.
type APIEnter struct {
	Head
	Regs [6]uint64
}

// APIEnterX is rec_api_enter_x.
type APIEnterX struct {
	Head
	Regs  [6]uint64
	Extra [8]uint64
}

// API is rec_api: a whole call.
type API struct {
	Head
	Start  uint64
	Result uint64
	Out    uint64
	Regs   [6]uint64
}

// APIX is rec_api_x.
type APIX struct {
	Head
	Start  uint64
	Result uint64
	Out    uint64
	Regs   [6]uint64
	Extra  [8]uint64
}

// APIExit is rec_api_exit.
type APIExit struct {
	Head
	Start  uint64
	Result uint64
	Out    uint64
}

// APIName is rec_api_name.
type APIName struct {
	Head
	Start  uint64
	Result uint64
	Out    uint64
	Regs   [6]uint64
	Name   [1024]byte
}

// IoctlEnter is rec_ioctl_enter.
type IoctlEnter struct {
	Head
	FD   int32
	Cmd  uint32
	Arg  uint64
	Rdev uint32 // major << 20 | minor, 0 if FD is no character device
	_    uint32
}

// IoctlExit is rec_ioctl_exit.
type IoctlExit struct {
	Head
	FD     int32
	Cmd    uint32
	Result int64
	Status uint32
	_      uint32
}

// Task is rec_task.
type Task struct {
	Head
	Op           uint32
	TargetPID    uint32
	TargetTID    uint32
	ExitCode     uint32
	ProcessEnded uint32
	_            uint32
	Name         [128]byte
}

// Lib is rec_lib.
type Lib struct {
	Head
	FD   int32
	Dev  uint32
	Ino  uint64
	Name [64]byte
}

// Job is rec_job.
type Job struct {
	Head
	Job        uint64
	Entity     uint64
	Fence      uint64
	SchedID    uint64
	Context    uint64
	Seqno      uint64
	HWFence    uint64
	HWContext  uint64
	HWSeqno    uint64
	ClientID   uint64
	JobCount   uint32
	HWJobCount int32
	Error      int32
	Known      uint32
	Ring       [32]byte
	Dev        [32]byte
}

// Dep is rec_dep.
type Dep struct {
	Head
	Job       uint64
	Fence     uint64
	SchedID   uint64
	Context   uint64
	Seqno     uint64
	OnFence   uint64
	OnContext uint64
	OnSeqno   uint64
	Known     uint32
	_         uint32
	Ring      [32]byte
	Dev       [32]byte
}

// Fence is rec_fence.
type Fence struct {
	Head
	Fence      uint64
	Ops        uint64
	DriverFunc uint64
	Context    uint64
	Seqno      uint64
	Error      int32
	_          uint32
	Timeline   [32]byte
}

// Loss is the value of the map losses.
type Loss struct {
	Lost    uint64
	FirstTS uint64
	LastTS  uint64
}

// MaxDepth is how many probed calls of a thread may be open inside each other.
const MaxDepth = 4

// Frame is struct frame: a call that has not returned.
type Frame struct {
	TS     uint64
	SP     uint64
	Cookie uint32
	Flags  uint32
	Regs   [6]uint64
	Extra  [8]uint64
}

// Thread is the value of the maps slots and threads.
type Thread struct {
	TID       uint32 // 0 in a free slot
	PID       uint32
	Depth     uint32
	IoctlOpen uint32
	IoctlArg  uint64
	IoctlCmd  uint32
	IoctlFD   int32
	Comm      [16]byte
	Frames    [MaxDepth]Frame
}

// Flags in an attach cookie: id | flags << 16 | stack slots << 24 (CF_*).
const (
	CookieBlocks    = 1 << iota // write a record at entry too
	CookieEntryOnly             // the return is not probed
	CookieDesc                  // the map fn_descs says what more to read
)

// Flags of a Desc (DESC_*).
const (
	DescWindow = 1 << iota
	DescRefs
	DescOut
	DescName
)

// SlotStack as a RefSlot is the first argument on the stack.
const SlotStack = 0xff

// Desc is struct fn_desc: what to read of a call beyond registers and stack.
type Desc struct {
	Flags      uint8
	WindowSlot uint8
	WindowLen  uint8
	NRefs      uint8
	WindowOff  uint16
	OutOff     uint16
	OutSlot    uint8
	OutWidth   uint8
	NameSlot   uint8
	_          uint8
	RefSlot    [8]uint8
	RefWidth   [8]uint8
	RefOff     [8]uint16
}

// Prefix is struct lib_prefix.
type Prefix struct {
	Text [32]byte
	Len  uint32
	_    uint32
}

// MaxPrefixes is the number of entries in the map prefixes.
const MaxPrefixes = 24

// FileID is struct file_id.
type FileID struct {
	Ino uint64
	Dev uint32 // the kernel's dev_t: major << 20 | minor
	_   uint32
}
