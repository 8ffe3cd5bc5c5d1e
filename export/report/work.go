package report

import (
	"cmp"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// Who measured work on a device.
const (
	byActivities = "gpu_activities"
	byJobs       = "jobs"
	byCalls      = "api_calls"
)

type workKey struct {
	device correlate.ID
	by     string
}

type procWorkKey struct {
	workKey
	process correlate.ID
}

type kernelKey struct{ by, name string }

type workSum struct {
	n   uint64
	sum int64
}

// deviceAcc gathers what a device did.
type deviceAcc struct {
	workSum
	union       union
	first, last int64
	any         bool
}

func (b *Builder) addActivity(a *correlate.GPUActivity) {
	b.see(a.StartNS)
	b.see(a.EndNS)
	r := row{a.ID, a.StartNS, a.EndNS}
	d := b.acts[a.Kind]
	if d == nil {
		d = b.dists.get()
		b.acts[a.Kind] = d
	}
	d.addOpt(a.DurNS, r)
	b.launch.addOpt(a.LaunchNS, r)
	if a.Kind == "kernel" {
		b.kernel(kernelKey{byActivities, a.Name}, a.DurNS, r)
	}
	if a.Kind != "other" {
		b.work(workKey{a.DeviceID, byActivities}, a.ProcessID, a.DurNS, r)
	}
}

// jobWork takes a job's time on the device.
func (b *Builder) jobWork(j *correlate.Job) {
	r := row{j.ID, j.DeviceStartNS, j.DoneNS}
	if j.KernelName != "" {
		b.kernel(kernelKey{byJobs, j.KernelName}, j.DeviceTimeNS, r)
	}
	b.work(workKey{j.DeviceID, byJobs}, j.ProcessID, j.DeviceTimeNS, r)
}

func (b *Builder) kernel(k kernelKey, ns correlate.OptDur, r row) {
	d := get(&b.rep.Capped, b.kernels, k, kernelKey{by: k.by}, func(kernelKey) *dist { return b.dists.get() })
	if ns.OK {
		d.addRow(ns.V, r)
	} else {
		d.unknown++
	}
}

// work takes time on a device. One below zero or unknown is in no sum.
func (b *Builder) work(k workKey, process correlate.ID, ns correlate.OptDur, r row) {
	if !ns.OK || ns.V < 0 || !r.start.OK || !r.end.OK {
		return
	}
	d := get(&b.rep.Capped, b.devs, k, workKey{}, func(workKey) *deviceAcc { return &deviceAcc{} })
	if b.devs[k] != d { // there are too many: its processes are those of the rest
		k = workKey{}
	}
	s, e := int64(r.start.V), int64(r.end.V)
	if !d.any {
		d.first, d.last, d.any = s, e, true
	}
	d.first, d.last = min(d.first, s), max(d.last, e)
	d.n++
	d.sum += ns.V
	d.union.add(s, e)
	p := get(&b.rep.Capped, b.procs, procWorkKey{k, process}, procWorkKey{workKey: k}, func(procWorkKey) *workSum { return &workSum{} })
	p.n++
	p.sum += ns.V
}

func (b *Builder) endWork() {
	r := &b.rep
	for k, d := range b.devs {
		busy := d.union.covered()
		first, last := d.first, d.last
		r.Devices = append(r.Devices, DeviceWork{DeviceID: idPtr(k.device), GPU: b.gpu(k.device), MeasuredBy: k.by, Count: d.n, SumNS: d.sum,
			BusyNS: busy, BusyRatio: ratio(busy, last-first), FirstNS: &first, LastNS: &last, Approx: d.union.late})
	}
	slices.SortFunc(r.Devices, func(x, y DeviceWork) int {
		return cmp.Or(cmp.Compare(x.MeasuredBy, y.MeasuredBy), b.compareGPU(id(x.DeviceID), id(y.DeviceID)))
	})
	for k, p := range b.procs {
		w := ProcessWork{DeviceID: idPtr(k.device), GPU: b.gpu(k.device), MeasuredBy: k.by, Count: p.n, SumNS: p.sum, Share: ratio(p.sum, b.devs[k.workKey].sum)}
		w.ProcessID, w.PID, w.Process = b.process(k.process)
		r.Processes = append(r.Processes, w)
	}
	slices.SortFunc(r.Processes, func(x, y ProcessWork) int {
		return cmp.Or(cmp.Compare(y.SumNS, x.SumNS), cmp.Compare(x.MeasuredBy, y.MeasuredBy),
			b.compareGPU(id(x.DeviceID), id(y.DeviceID)), cmp.Compare(id(x.ProcessID), id(y.ProcessID)))
	})
	b.endKernels()
	for k, d := range b.acts {
		r.Activities = append(r.Activities, Activities{k, d.stats()})
	}
	slices.SortFunc(r.Activities, func(x, y Activities) int {
		return cmp.Or(cmp.Compare(y.Time.SumNS, x.Time.SumNS), cmp.Compare(x.Kind, y.Kind))
	})
	r.LaunchDelay = b.launch.stats()
}

func (b *Builder) endKernels() {
	r := &b.rep
	all := map[string]int64{}
	for k, d := range b.kernels {
		all[k.by] += d.sum
	}
	for k, d := range b.kernels {
		r.Kernels = append(r.Kernels, Kernel{MeasuredBy: k.by, Name: k.name, Launches: d.n + d.negative + d.unknown,
			Time: d.stats(), Share: ratio(d.sum, all[k.by])})
	}
	slices.SortFunc(r.Kernels, func(x, y Kernel) int {
		return cmp.Or(cmp.Compare(y.Time.SumNS, x.Time.SumNS), cmp.Compare(y.Launches, x.Launches),
			cmp.Compare(x.Name, y.Name), cmp.Compare(x.MeasuredBy, y.MeasuredBy))
	})
}

func id(p *int64) correlate.ID {
	if p == nil {
		return 0
	}
	return correlate.ID(*p)
}
