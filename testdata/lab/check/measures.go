package check

// measures are what a scenario can expect something of, from the truth alone,
// except lost and those of gpurec's logs.
func (r *results) measures() map[string]int64 {
	m := map[string]int64{
		"jobs":            0, // of users
		"kernel_jobs":     0, // of the kernel
		"errors":          0, // jobs that ended in an error
		"hw_errors":       0, // hardware fences signalled in an error other than a reset's (6.1 keeps it from the job)
		"cancelled":       0, // of those, with ECANCELED
		"never_run":       0, // jobs that never came to the hardware
		"runs_again":      0, // jobs with more than one hardware fence
		"resets":          int64(len(r.truth.Resets)),
		"dependencies":    0, // all of all jobs
		"reused":          0, // jobs whose finished fence lies where an earlier one lay
		"out_of_order":    0, // jobs that ended before one that was queued earlier on that ring
		"seqno_wraps":     0, // jobs whose seqno is below that of the one before
		"high_contexts":   0, // jobs whose fence context needs more than 32 bits
		"equal_lows":      0, // jobs whose fence has the low halves of another one
		"devices":         0,
		"pids_again":      0, // clients whose pid was that of an earlier one
		"failed_allocs":   0,
		"open":            int64(r.truth.Open),       // jobs that had not ended when the truth was read
		"bad_exits":       int64(r.badExits),         // clients that ended with another status than 0
		"lost":            int64(r.trace.Lost),       // events, by the kernel's count
		"interrupts":      int64(r.truth.Interrupts), // of the mock devices
		"launches":        0,                         // calls of cuLaunchKernel with exactly one submission inside
		"driver_waits":    0,                         // by the driver's ioctl, with a row each that is for their job
		"syncobj_waits":   0,                         // by DRM's ioctls, with a row each
		"wakes":           0,                         // of those, woken by the fence of their job, as the log says
		"launches_waited": 0,                         // launches whose own job has a wait that is linked to it
		"before_start":    0,                         // of gpurec's logs, the least of them: jobs queued before
		"after_stop":      0,                         // jobs whose end is not in it as it stopped
		"log_lost":        0,                         // events lost
		"lost_jobs":       0,                         // jobs that lack an event, or all, by a loss
		"whole_jobs":      0,                         // jobs with all that happened to them
		"doubtful_jobs":   0,                         // jobs whose done may be another's, and that say so
		"cut_waits":       0,                         // waits that last when a log begins or ends
	}
	for name, n := range r.logCounts {
		m[name] = n
	}
	seen := newSeen()
	for _, j := range r.truth.Jobs {
		seen.job(m, j)
	}
	m["devices"] = int64(len(seen.devices))
	for _, o := range r.truth.Ops {
		if o.Name == "alloc" && o.Ret < 0 {
			m["failed_allocs"]++
		}
	}
	m["launches"] = r.launches()
	return m
}

// cancelled is the error of jobs and of hardware fences that a reset ended (ECANCELED).
const cancelled = -125

type ringName struct{ device, ring string }

// seen is what measures remember of the jobs before.
type seen struct {
	fences  map[uint64]bool
	lows    map[Key]bool
	devices map[string]bool
	seqnos  map[uint64]uint64  // by context
	ended   map[ringName]int64 // the latest end
	clients map[int]uint64     // by pid
}

func newSeen() *seen {
	return &seen{fences: map[uint64]bool{}, lows: map[Key]bool{}, devices: map[string]bool{}, seqnos: map[uint64]uint64{}, ended: map[ringName]int64{}, clients: map[int]uint64{}}
}

func (s *seen) job(m map[string]int64, j *Job) {
	count := func(name string, yes bool) {
		if yes {
			m[name]++
		}
	}
	count("jobs", !j.Kernel)
	count("kernel_jobs", j.Kernel)
	count("errors", j.Error != 0)
	count("cancelled", j.Error == cancelled)
	count("never_run", j.Runs == 0)
	count("runs_again", len(j.HW) > 1)
	count("reused", s.fences[j.Fence])
	count("pids_again", !j.Kernel && s.client(j))
	count("high_contexts", j.Key.Context > 0xffffffff)
	count("equal_lows", s.lows[j.Key.low()])
	count("seqno_wraps", j.Key.Seqno < s.seqnos[j.Key.Context])
	ring := ringName{j.Device, j.Ring}
	count("out_of_order", j.Finished != 0 && j.Finished < s.ended[ring])
	m["dependencies"] += int64(len(j.Deps))
	for _, hw := range j.HW {
		count("hw_errors", hw.Error != 0 && hw.Error != cancelled)
	}
	s.fences[j.Fence] = true
	s.lows[j.Key.low()] = true
	s.devices[j.Device] = true
	s.seqnos[j.Key.Context] = j.Key.Seqno
	s.ended[ring] = max(s.ended[ring], j.Finished)
}

// client reports whether a job is the first of a client whose pid another one had.
func (s *seen) client(j *Job) bool {
	had, ok := s.clients[j.PID]
	s.clients[j.PID] = j.Client
	return ok && had != j.Client
}

// launches counts the calls of cuLaunchKernel that hold exactly one job of their thread.
func (r *results) launches() (n int64) {
	queued := map[int][]int64{} // by thread
	for _, j := range r.truth.Jobs {
		queued[j.TID] = append(queued[j.TID], j.Queue)
	}
	for _, c := range r.calls {
		if c.Name != "call" || c.API != "cuLaunchKernel" {
			continue
		}
		inside := 0
		for _, t := range queued[c.TID] {
			if c.Enter <= t && t <= c.Exit {
				inside++
			}
		}
		if inside == 1 {
			n++
		}
	}
	return n
}
