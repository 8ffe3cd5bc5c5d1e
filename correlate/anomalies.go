package correlate

import "github.com/gpurec/gpurec/record/event"

// What the trackers count. A name is stable: exports and tests use it.
var (
	anomalyUnknownKind = event.AnomalySpec{Name: "unknown_kind", Severity: event.SeverityError,
		Doc: "An event of a kind that this version does not know was left out.", Remedy: "use a newer gpurec"}
	anomalyTimeBack = event.AnomalySpec{Name: "time_stepped_back", Severity: event.SeverityWarning,
		Doc: "An event came later than one of a greater time: joins near it may be wrong.", Remedy: "raise --max-memory, or report the file"}
	anomalyLossesJoined = event.AnomalySpec{Name: "losses_joined", Severity: event.SeverityInfo,
		Doc: "So many losses that the older ones count as one interval when a reason is looked for.", Remedy: "record with larger buffers"}
	anomalyEvicted = event.AnomalySpec{Name: "evicted", Severity: event.SeverityLoss,
		Doc: "A row was closed before its end to stay within the cap of open rows.", Remedy: "correlate a shorter part of the log"}

	anomalyProcessLate = event.AnomalySpec{Name: "process_learnt_late", Severity: event.SeverityWarning,
		Doc: "A thread stood under a process of its own before its real process was named.", Remedy: "with ftrace or trace-cmd, set the option record-tgid; in a log of gpurec record nothing is to be done: what came before stands under the thread alone"}
	anomalyThreadMoved = event.AnomalySpec{Name: "thread_changed_process", Severity: event.SeverityInfo,
		Doc: "A thread id was seen in another process: it was taken as a new thread.", Remedy: "record sched:sched_process_fork and exit"}

	anomalyCallExitLost = event.AnomalySpec{Name: "api_exit_missing", Severity: event.SeverityWarning,
		Doc: "A call had not returned when the call around it returned: its return was not seen.", Remedy: "look at losses: if events were lost, record with larger buffers; else the return of this function is not probed (gpurec doctor)"}
	anomalyCallEnterMissing = event.AnomalySpec{Name: "api_enter_missing", Severity: event.SeverityInfo,
		Doc: "A call returned whose entry was not seen.", Remedy: "nothing to do if the call began before the recording; else look at losses and record with larger buffers"}
	anomalyNestingCut = event.AnomalySpec{Name: "nesting_cut", Severity: event.SeverityInfo,
		Doc: "More ranges than can be held lie in one range: some stand at the root instead of in it.", Remedy: "nothing is lost but the nesting: join such ranges by thread and time"}
	anomalyOverlap = event.AnomalySpec{Name: "ranges_overlap", Severity: event.SeverityInfo,
		Doc: "Two ranges of one track overlap without nesting.", Remedy: "nothing to do: both are kept with their own times, and exports draw the second on a row of its own"}
	anomalySliceEndAlone = event.AnomalySpec{Name: "slice_end_alone", Severity: event.SeverityInfo,
		Doc: "A range ended that had not begun.", Remedy: "nothing to do if it began before the recording; else its begin was lost: look at losses"}
	anomalySliceEndName = event.AnomalySpec{Name: "slice_end_name_differs", Severity: event.SeverityInfo,
		Doc: "A range ended under another name than it began with; the innermost was closed.", Remedy: "look at the source: its begin and end marks do not pair; times of the ranges around are right"}

	anomalyIoctlExitLost = event.AnomalySpec{Name: "ioctl_exit_missing", Severity: event.SeverityWarning,
		Doc: "A thread entered an ioctl before its last one had returned: that return was not seen.", Remedy: "look at losses: if events were lost, record with larger buffers; the ioctl has no duration"}
	anomalyIoctlEnterMissing = event.AnomalySpec{Name: "ioctl_enter_missing", Severity: event.SeverityInfo,
		Doc: "An ioctl returned whose entry was not seen.", Remedy: "nothing to do if the ioctl began before the recording; else look at losses and record with larger buffers"}
	anomalyDriverConflict = event.AnomalySpec{Name: "ioctl_driver_conflict", Severity: event.SeverityWarning,
		Doc: "Jobs queued through one file descriptor belong to two drivers: the descriptor was reused.", Remedy: "record with gpurec record, which resolves each descriptor"}

	anomalyPointerReused = event.AnomalySpec{Name: "job_pointer_reused_while_open", Severity: event.SeverityWarning,
		Doc: "A job's address was used for a new job before the old one was seen to end.", Remedy: "look at losses: the end of the first job was probably lost; record with larger buffers, or on 6.17 and later, where events name the fence"}
	anomalyNumberReused = event.AnomalySpec{Name: "job_number_reused_while_open", Severity: event.SeverityWarning,
		Doc: "A driver's name of a job was used for a new one before the old one was seen to end.", Remedy: "look at losses: the end of the first job was probably lost; record with larger buffers"}
	anomalyJobWithoutKey = event.AnomalySpec{Name: "job_event_without_key", Severity: event.SeverityInfo,
		Doc: "A driver's event of a job does not tell which job: it is kept as it is.", Remedy: "nothing to do on older kernels, which do not tell; newer ones name the job"}
	anomalyFenceMismatch = event.AnomalySpec{Name: "job_fence_mismatch", Severity: event.SeverityWarning,
		Doc: "Two events name different fences for one job; the first stands.", Remedy: "report the file"}
	anomalyJobIDAmbiguous = event.AnomalySpec{Name: "job_id_ambiguous", Severity: event.SeverityWarning,
		Doc: "Two open jobs have one number on rings of one name: of one device after a lost end, or of two that the event does not tell apart.", Remedy: "record the newer scheduler events, which name the device"}
	anomalyFencePairAmbiguous = event.AnomalySpec{Name: "fence_pair_ambiguous", Severity: event.SeverityInfo,
		Doc: "More than one pair of scheduler fences could belong to a job; none was taken.", Remedy: "nothing to do if the jobs have their fences all the same (a later event may tell); else record with gpurec record, which reads them from the job"}
	anomalyDepUnknownJob = event.AnomalySpec{Name: "dependency_of_unknown_job", Severity: event.SeverityInfo,
		Doc: "A dependency names a job that is not open; it made a job of its own.", Remedy: "nothing to do if the job began before the recording; else look at losses and record with larger buffers"}
	anomalyRingTwoFences = event.AnomalySpec{Name: "ring_of_several_devices", Severity: event.SeverityWarning,
		Doc: "Hardware fences of one ring name come from several contexts: several devices or queues may share the name.", Remedy: "record the newer scheduler events, which name the device"}
	anomalyGapJobs = event.AnomalySpec{Name: "idle_gap_jobs_capped", Severity: event.SeverityInfo,
		Doc: "So many jobs were queued in an idle gap that its cause was judged from a part of them.", Remedy: "nothing is missing but certainty: check the cause in jobs and job_deps for that stretch"}

	anomalyNameNotListed = event.AnomalySpec{Name: "function_name_not_listed", Severity: event.SeverityInfo,
		Doc: "There are so many mangled names of GPU functions that function_names lacks some.", Remedy: "nothing is missing: the rows have the names themselves; c++filt reads them"}

	anomalyFenceAmbiguous = event.AnomalySpec{Name: "fence_low_halves_ambiguous", Severity: event.SeverityWarning,
		Doc: "Only the low halves of a fence are known and several fences share them: nothing was joined.", Remedy: "record with gpurec record, which reads all 64 bits"}
	anomalyWaitEndAlone = event.AnomalySpec{Name: "wait_end_alone", Severity: event.SeverityInfo,
		Doc: "A wait ended whose begin was not seen.", Remedy: "nothing to do if the wait began before the recording; else look at losses and record with larger buffers"}
	anomalyWaitReplaced = event.AnomalySpec{Name: "wait_end_missing", Severity: event.SeverityWarning,
		Doc: "A thread began to wait while its last wait had not ended: that end was not seen.", Remedy: "look at losses: the end of the first wait was probably lost; record with larger buffers"}

	anomalyCorrelationReused = event.AnomalySpec{Name: "correlation_id_reused", Severity: event.SeverityWarning,
		Doc: "A correlation id stands on several calls of one process: activities with it are not joined.", Remedy: "update the profiler that made the trace; which call launched that work cannot be told from it"}
	anomalyCorrelationShared = event.AnomalySpec{Name: "correlation_id_shared", Severity: event.SeverityInfo,
		Doc: "Several activities share the correlation id of a call that launches no graph.", Remedy: "nothing to do if the call starts several pieces of work at once; else the profiler gave one id twice"}
	anomalyEarlyActivity = event.AnomalySpec{Name: "activity_before_launch", Severity: event.SeverityWarning,
		Doc: "Work began on the device before the call that launched it: the clocks are apart.", Remedy: "align the clocks of the source"}

	anomalyDomains = event.AnomalySpec{Name: "too_many_domains", Severity: event.SeverityWarning,
		Doc: "A log names more machines and clocks than can be held apart: their events are joined with those of another.", Remedy: "merge fewer inputs into one log"}

	anomalyGapUnknown = event.AnomalySpec{Name: "activity_gap_of_unknown_cause", Severity: event.SeverityInfo,
		Doc: "A device stood idle before work whose launch is not known: no cause is given.", Remedy: "record the API calls too"}

	anomalySwitchMismatch = event.AnomalySpec{Name: "sched_switch_mismatch", Severity: event.SeverityInfo,
		Doc: "A thread left a CPU that another one was on: a switch is missing.", Remedy: "look at losses: a thread switch was probably lost; times on the CPU around it are doubtful"}
	anomalyIRQExitAlone = event.AnomalySpec{Name: "irq_exit_alone", Severity: event.SeverityInfo,
		Doc: "An interrupt handler ended that had not begun.", Remedy: "nothing to do if the interrupt began before the recording; else its begin was lost: look at losses"}

	anomalyThreadLetGo = event.AnomalySpec{Name: "thread_let_go", Severity: event.SeverityInfo,
		Doc: "So many threads that one which did nothing for the longest was let go; if it goes on it has a second row, and what it was in has ended as evicted.", Remedy: "record sched:sched_process_exit too, which tells which threads are over, or correlate a shorter part of the log"}
	anomalyProcessLetGo = event.AnomalySpec{Name: "process_let_go", Severity: event.SeverityInfo,
		Doc: "So many processes that one without threads was let go; if it goes on it has a second row.", Remedy: "record sched:sched_process_exit too, which tells which processes are over, or correlate a shorter part of the log"}
	anomalyDeviceLetGo = event.AnomalySpec{Name: "device_let_go", Severity: event.SeverityWarning,
		Doc: "So many devices that the row of one was given early; if it is named again it has a second row.", Remedy: "correlate fewer machines at once"}
	anomalyRingLetGo = event.AnomalySpec{Name: "ring_let_go", Severity: event.SeverityWarning,
		Doc: "So many rings that the row of one was given early; if jobs go on on it there is a second row: add the two.", Remedy: "correlate fewer machines at once, or a shorter part of the log"}
	anomalyGapEarly = event.AnomalySpec{Name: "idle_gap_given_early", Severity: event.SeverityWarning,
		Doc: "Work lies in an idle gap of its device that was given already to stay within a cap: that gap is too long.", Remedy: "correlate a shorter part of the log"}
)
