package correlate

import "github.com/gpurec/gpurec/record/event"

// driverSpec says how the events of one driver are to be read.
type driverSpec struct {
	origin   string // as events name it
	driver   string // as its fences name it
	key      jobKeyKind
	sched    bool // its jobs go through gpu_scheduler
	direct   bool // queueing is the hand-over to the hardware
	preempts bool // a job may be taken off the hardware and put on it again
	switches bool // the run of one job is the end of the one before on its ring
	late     bool // its done may come after the job's fence has signalled
	ownFence bool // the fence that its events name is its hardware fence
	hwDone   bool // it tells no done but the signal of its hardware fence
	noFence  bool // its jobs have no dma_fence
	noQueue  bool // it has no event of the queueing
	emits    bool // its job's fence is the one that the thread made right before, of the event's number
	slots    int  // jobs that a ring holds at once, for keyOrder
}

// jobKeyKind says what names a job of a driver.
type jobKeyKind uint8

const (
	keyFence   jobKeyKind = iota // context:seqno of its fence
	keyNumber                    // a number on its timeline, else on its ring
	keyPointer                   // the address of its fence
	keyOrder                     // nothing: a ring ends its jobs in the order in which it took them
)

var driverSpecs = []driverSpec{
	{origin: "i915", driver: "i915", key: keyFence, preempts: true, late: true, ownFence: true},
	{origin: "i915_gem", driver: "i915", key: keyNumber, preempts: true, late: true, ownFence: true, emits: true},
	{origin: "xe", driver: "xe", key: keyPointer, sched: true, hwDone: true},
	{origin: "virtio_gpu", driver: "virtio_gpu", key: keyNumber, direct: true, ownFence: true, emits: true},
	{origin: "msm", driver: "msm", key: keyNumber, sched: true, late: true},
	{origin: "v3d", driver: "v3d", key: keyNumber, sched: true},
	{origin: "vc4", driver: "vc4", key: keyNumber, noQueue: true},
	{origin: "radeon", driver: "radeon", key: keyNumber, direct: true, ownFence: true, emits: true},
	{origin: "kgsl", driver: "kgsl", key: keyNumber, noFence: true},
	{origin: "mali", driver: "mali", key: keyNumber, preempts: true, switches: true, noFence: true},
	{origin: "mali_kbase", driver: "mali_kbase", key: keyOrder, noFence: true, noQueue: true, slots: 2},
}

// testimony is what one sort of witnesses told so far.
type testimony struct {
	sawRun, sawDone bool
	noDone          bool // jobs finish, but no done events come: they are not recorded
}

// driverState is what is known of a driver's jobs.
type driverState struct {
	driverSpec
	testimony
	merged bool // gpu_scheduler's events told of a job of it
	line   map[driverLine]*driverLineState
}

// driverKey names a job of a driver while it is open.
type driverKey struct {
	d         *driverState
	dev, line string
	num       uint64
}

// maxPtrFences bounds the hardware fences whose addresses are remembered.
const maxPtrFences = 1 << 14

func (x *jobTracker) initDrivers() {
	x.drivers = make([]driverState, len(driverSpecs))
	for i := range driverSpecs {
		x.drivers[i].driverSpec = driverSpecs[i]
	}
	x.byDriver = map[driverKey]*job{}
	x.ptrFence = map[uint64]event.FenceKey{}
	x.queues = map[driverLine]string{}
}

// driverName is the key of a driver's job in words.
func (e *engine) driverName(j *job) string {
	return j.key.text(e)
}

// text is a driver's name of a job in words.
func (k *driverKey) text(e *engine) string {
	switch k.d.key {
	case keyPointer:
		return e.hexText("fence ", k.num)
	case keyOrder:
		return "order in " + k.line
	}
	return e.intText(k.line+" #", int64(k.num))
}
