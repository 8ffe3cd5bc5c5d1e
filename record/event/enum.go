package event

// enumName returns names[i], or "unknown" outside of it.
func enumName[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "unknown"
}

func enumByName[T ~uint8](names []string, s string) T {
	for i, n := range names {
		if n == s {
			return T(i)
		}
	}
	return 0
}

// API is a family of API functions; its String is the category of its calls.
type API uint8

// The API families.
const (
	APIUnknown API = iota
	APICUDADriver
	APICUDARuntime
	APIHIP
	APIOpenCL
	APIVulkan
	APILevelZero
	APINCCL
	APIHSA
)

var apiNames = []string{"unknown", "cuda_driver", "cuda_runtime", "hip", "opencl", "vulkan", "level_zero", "nccl", "hsa"}

func (a API) String() string { return enumName(apiNames, a) }

// APIByName returns the family of a name, or APIUnknown.
func APIByName(s string) API { return enumByName[API](apiNames, s) }

// Role says what an ioctl does.
type Role uint8

// The roles. RoleOther is known and none of the others; RoleUnknown is not known.
const (
	RoleUnknown Role = iota
	RoleSubmit
	RoleWait
	RoleAlloc
	RoleMap
	RoleQuery
	RoleOther
)

var roleNames = []string{"unknown", "submit", "wait", "alloc", "map", "query", "other"}

func (r Role) String() string { return enumName(roleNames, r) }

// Activity says what a device did.
type Activity uint8

// The activities.
const (
	ActivityOther Activity = iota
	ActivityKernel
	ActivityMemcpy
	ActivityMemset
	ActivityGraph
	ActivityCollective
)

var activityNames = []string{"other", "kernel", "memcpy", "memset", "graph", "collective"}

func (a Activity) String() string { return enumName(activityNames, a) }

// Direction is the direction of a copy.
type Direction uint8

// The directions: H is the host, D a device, A an array, P a peer device.
const (
	DirUnknown Direction = iota
	DirHtoD
	DirDtoH
	DirDtoD
	DirHtoH
	DirPtoP
)

var directionNames = []string{"unknown", "HtoD", "DtoH", "DtoD", "HtoH", "PtoP"}

func (d Direction) String() string { return enumName(directionNames, d) }

// TaskOp says what happened to a task.
type TaskOp uint8

// What can happen to a task. A fork's target is the new task; TaskExit is of
// the event's own task; TaskRename gives the new name in target_comm.
const (
	TaskUnknown TaskOp = iota
	TaskFork
	TaskExec
	TaskExit
	TaskRename
)

var taskOpNames = []string{"unknown", "fork", "exec", "exit", "rename"}

func (o TaskOp) String() string { return enumName(taskOpNames, o) }
