-- The views over the tables. Percentiles are by nearest rank: the least value
-- that at least so many percent of the values do not exceed. Negative times
-- (rows that doubtful events made) are in no percentile.

-- Calls of each API function. self_ns leaves out the calls inside it; not_returned
-- are those whose return was watched but not seen; failed have a result other than
-- 0 and 600 (CUDA_ERROR_NOT_READY, which only says "not yet").
CREATE OR REPLACE VIEW api_summary AS
WITH inner_ns AS (
  SELECT parent_id AS id, sum(dur_ns)::BIGINT AS ns FROM api_calls WHERE parent_id IS NOT NULL AND same_as_id IS NULL GROUP BY parent_id
)
SELECT c.api, c.base_name AS name, count(*) AS calls,
  count(*) FILTER (c.end_kind NOT IN ('returned', 'not_probed')) AS not_returned,
  count(*) FILTER (c.result NOT IN (0, 600)) AS failed,
  sum(c.dur_ns)::BIGINT AS total_ns,
  sum(c.dur_ns - coalesce(i.ns, 0))::BIGINT AS self_ns,
  quantile_disc(c.dur_ns, 0.5) FILTER (c.dur_ns >= 0) AS p50_ns,
  quantile_disc(c.dur_ns, 0.9) FILTER (c.dur_ns >= 0) AS p90_ns,
  quantile_disc(c.dur_ns, 0.99) FILTER (c.dur_ns >= 0) AS p99_ns,
  max(c.dur_ns) AS max_ns
FROM api_calls c LEFT JOIN inner_ns i ON i.id = c.id
WHERE c.same_as_id IS NULL
GROUP BY c.api, c.base_name
ORDER BY total_ns DESC NULLS LAST, calls DESC, name;

-- API time by name and process, with each function's part of the process's
-- time in outermost calls.
CREATE OR REPLACE VIEW api_time_by_name AS
WITH outermost AS (
  SELECT process_id, sum(dur_ns)::BIGINT AS ns FROM api_calls WHERE parent_id IS NULL AND same_as_id IS NULL GROUP BY process_id
)
SELECT c.process_id, any_value(c.pid) AS pid, any_value(p.name) AS process, c.base_name AS name, count(*) AS calls,
  sum(c.dur_ns)::BIGINT AS total_ns,
  round(100.0 * sum(c.dur_ns) / nullif(any_value(o.ns), 0), 2) AS percent
FROM api_calls c
  LEFT JOIN processes p ON p.id = c.process_id
  LEFT JOIN outermost o ON o.process_id IS NOT DISTINCT FROM c.process_id
WHERE c.same_as_id IS NULL
GROUP BY c.process_id, c.base_name
ORDER BY total_ns DESC NULLS LAST, calls DESC, name;

-- GPU functions: as measured on the device (gpu_activities), and as jobs of
-- the scheduler that a call with a function name queued (jobs).
CREATE OR REPLACE VIEW kernel_summary AS
WITH work AS (
  SELECT 'gpu_activities' AS measured_by, device_id, name, dur_ns AS ns FROM gpu_activities WHERE kind = 'kernel' AND same_as_id IS NULL
  UNION ALL
  SELECT 'jobs', device_id, kernel_name, device_time_ns FROM jobs WHERE kernel_name IS NOT NULL
)
SELECT measured_by, device_id, name, count(*) AS launches, sum(ns)::BIGINT AS total_ns,
  quantile_disc(ns, 0.5) FILTER (ns >= 0) AS p50_ns,
  quantile_disc(ns, 0.9) FILTER (ns >= 0) AS p90_ns,
  quantile_disc(ns, 0.99) FILTER (ns >= 0) AS p99_ns,
  max(ns) AS max_ns, any_value(demangled_name) AS demangled_name
FROM work LEFT JOIN function_names USING (name)
GROUP BY measured_by, device_id, name
ORDER BY total_ns DESC NULLS LAST, launches DESC, name;

-- Queue delay (queued to handed to the hardware) and device time by ring. The
-- counts are of the jobs in which both ends were seen.
CREATE OR REPLACE VIEW ring_summary AS
WITH measured AS (
  SELECT device_id, ring, count(*) AS jobs, count(done_ns) AS done,
    count(queue_delay_ns) FILTER (queue_delay_ns >= 0) AS queue_delay_count,
    quantile_disc(queue_delay_ns, 0.5) FILTER (queue_delay_ns >= 0) AS queue_delay_p50_ns,
    quantile_disc(queue_delay_ns, 0.9) FILTER (queue_delay_ns >= 0) AS queue_delay_p90_ns,
    quantile_disc(queue_delay_ns, 0.99) FILTER (queue_delay_ns >= 0) AS queue_delay_p99_ns,
    max(queue_delay_ns) FILTER (queue_delay_ns >= 0) AS queue_delay_max_ns,
    count(device_time_ns) FILTER (device_time_ns >= 0) AS device_time_count,
    quantile_disc(device_time_ns, 0.5) FILTER (device_time_ns >= 0) AS device_time_p50_ns,
    quantile_disc(device_time_ns, 0.9) FILTER (device_time_ns >= 0) AS device_time_p90_ns,
    quantile_disc(device_time_ns, 0.99) FILTER (device_time_ns >= 0) AS device_time_p99_ns,
    max(device_time_ns) FILTER (device_time_ns >= 0) AS device_time_max_ns
  FROM jobs GROUP BY device_id, ring
)
SELECT d.gpu, d.device, m.*, r.busy_ns, r.idle_ns, r.max_backlog
FROM measured m
  LEFT JOIN devices d ON d.id = m.device_id
  LEFT JOIN rings r ON r.device_id IS NOT DISTINCT FROM m.device_id AND r.ring IS NOT DISTINCT FROM m.ring
ORDER BY d.gpu NULLS LAST, m.device_id, m.ring;

-- Each job with the call and the ioctl that submitted it and the first wait
-- that ended after it.
CREATE OR REPLACE VIEW job_chain AS
WITH waits AS (
  SELECT job_id, min_by(id, coalesce(end_ns, start_ns)) AS wait_id FROM fence_waits WHERE job_id IS NOT NULL GROUP BY job_id
)
SELECT j.id AS job_id, j.device_id, j.ring, j.owner, j.process_id, j.pid, j.tid, j.comm,
  j.api_call_id, c.name AS api_name, j.kernel_name, c.start_ns AS api_start_ns,
  j.ioctl_id, i.name AS ioctl_name, i.start_ns AS ioctl_start_ns,
  j.queued_ns, j.run_ns, j.device_start_ns, j.done_ns, j.finished_ns,
  w.id AS fence_wait_id, w.tid AS waiter_tid, w.end_ns AS waiter_ran_ns,
  j.queued_ns - c.start_ns AS submit_latency_ns, j.queued_ns - i.start_ns AS ioctl_to_queue_ns,
  j.queue_delay_ns, j.hw_queue_ns, j.device_time_ns,
  j.finished_ns - j.done_ns AS signal_latency_ns, w.wake_ns, j.end_kind, j.error
FROM jobs j
  LEFT JOIN api_calls c ON c.id = j.api_call_id
  LEFT JOIN ioctls i ON i.id = j.ioctl_id
  LEFT JOIN waits f ON f.job_id = j.id
  LEFT JOIN fence_waits w ON w.id = f.wait_id
ORDER BY coalesce(j.queued_ns, j.run_ns, j.done_ns), j.id;

-- Launches that led to neither a job nor an activity, and why. Of a launch
-- inside another (runtime around driver) only the inner one is looked at.
CREATE OR REPLACE VIEW launches_without_job AS
WITH launches AS (
  SELECT * FROM api_calls WHERE kernel_name IS NOT NULL OR grid_x IS NOT NULL OR contains(base_name, 'Launch')
), why AS (
  SELECT src_id, string_agg(link || ': ' || reason, ', ' ORDER BY link, reason) AS reasons
  FROM unmatched WHERE src_table = 'api_calls' GROUP BY src_id
)
SELECT c.id AS api_call_id, c.process_id, c.pid, c.tid, c.name, c.kernel_name, c.stream, c.start_ns, c.end_kind, c.result, w.reasons
FROM launches c LEFT JOIN why w ON w.src_id = c.id
WHERE c.id NOT IN (SELECT parent_id FROM launches WHERE parent_id IS NOT NULL)
  AND c.id NOT IN (SELECT api_call_id FROM jobs WHERE api_call_id IS NOT NULL)
  AND c.id NOT IN (SELECT api_call_id FROM gpu_activities WHERE api_call_id IS NOT NULL)
ORDER BY c.start_ns, c.id;

-- What each ring's idle time was spent on. submitter_was is told without the
-- number of the fence that the submitter waited for.
CREATE OR REPLACE VIEW top_idle_causes AS
WITH gaps AS (
  SELECT device_id, ring, cause, regexp_replace(submitter_was, ' \d+:\d+', '', 'g') AS submitter_was, end_ns - start_ns AS ns FROM idle_gaps
)
SELECT device_id, ring, cause, submitter_was, count(*) AS gaps, sum(ns)::BIGINT AS total_ns, max(ns) AS max_ns,
  round(100.0 * sum(ns) / nullif(sum(sum(ns)) OVER (PARTITION BY device_id, ring), 0), 2) AS percent
FROM gaps
GROUP BY device_id, ring, cause, submitter_was
ORDER BY total_ns DESC NULLS LAST, device_id, ring, cause, submitter_was;

-- How many jobs each ring has waiting (queued, not yet handed to the hardware)
-- and running (handed over, not done) after each change. A job that shows no
-- done leaves when its finished fence signals; one whose end was lost, with its
-- last known moment.
CREATE OR REPLACE VIEW queue_depth_over_time AS
WITH ends AS (
  SELECT device_id, ring, queued_ns, run_ns, coalesce(done_ns, finished_ns, CASE WHEN end_kind IN ('lost', 'killed') THEN coalesce(run_ns, queued_ns) END) AS end_ns
  FROM jobs WHERE queued_ns IS NOT NULL OR run_ns IS NOT NULL
), steps AS (
  SELECT device_id, ring, coalesce(queued_ns, run_ns) AS ts_ns, CASE WHEN queued_ns IS NULL THEN 0 ELSE 1 END AS waiting, CASE WHEN queued_ns IS NULL THEN 1 ELSE 0 END AS running FROM ends
  UNION ALL
  SELECT device_id, ring, run_ns, -1, 1 FROM ends WHERE queued_ns IS NOT NULL AND run_ns IS NOT NULL
  UNION ALL
  SELECT device_id, ring, end_ns, CASE WHEN run_ns IS NULL THEN -1 ELSE 0 END, CASE WHEN run_ns IS NULL THEN 0 ELSE -1 END FROM ends WHERE end_ns IS NOT NULL
), net AS (
  SELECT device_id, ring, ts_ns, sum(waiting) AS waiting, sum(running) AS running FROM steps GROUP BY device_id, ring, ts_ns
)
SELECT device_id, ring, ts_ns,
  (sum(waiting) OVER w)::BIGINT AS waiting, (sum(running) OVER w)::BIGINT AS running, (sum(waiting + running) OVER w)::BIGINT AS depth
FROM net
WINDOW w AS (PARTITION BY device_id, ring ORDER BY ts_ns)
ORDER BY device_id, ring, ts_ns;

-- Interrupts of GPUs by device, handler and what told them: the kernel's
-- irq_handler events, or a driver's own of the vectors and handlers inside.
CREATE OR REPLACE VIEW interrupts_by_device AS
SELECT i.device_id, d.device, i.driver, i.name, i.irq, i.source, count(*) AS interrupts,
  sum(i.end_ns - i.start_ns)::BIGINT AS total_ns, max(i.end_ns - i.start_ns) AS max_ns, min(i.start_ns) AS first_ns, max(i.start_ns) AS last_ns
FROM irqs i LEFT JOIN devices d ON d.id = i.device_id
WHERE i.driver IS NOT NULL
GROUP BY i.device_id, d.device, i.driver, i.name, i.irq, i.source
ORDER BY interrupts DESC, i.device_id, i.driver, i.name, i.irq, i.source;

-- Resets with the jobs that brought them, were ended or handed over again by them.
CREATE OR REPLACE VIEW reset_fates AS
SELECT r.id AS reset_id, r.rule AS reset_rule, r.ts_ns, r.end_ns, r.device_id, j.ring, j.id AS job_id, j.fate, j.fate_rule,
  j.process_id, j.pid, j.comm, j.queued_ns, j.run_ns, j.done_ns, j.runs, j.error
FROM jobs j
  LEFT JOIN (SELECT dst_id, max(src_id) AS src_id FROM links WHERE rule IN ('reset-fate', 'reset-job') GROUP BY dst_id) l ON l.dst_id = j.id
  LEFT JOIN resets r ON r.id = l.src_id
WHERE j.fate IS NOT NULL
ORDER BY r.ts_ns NULLS LAST, r.id, j.run_ns, j.id;

-- Ioctls that failed: with an errno, or with a status inside the driver's own struct.
CREATE OR REPLACE VIEW failed_ioctls AS
SELECT driver, name, role, errno, status, count(*) AS failures, min(start_ns) AS first_ns, max(start_ns) AS last_ns,
  count(DISTINCT process_id) AS processes, min(api_call_id) AS example_api_call_id, min(id) AS example_ioctl_id
FROM ioctls WHERE errno <> 0 OR status <> 0
GROUP BY driver, name, role, errno, status
ORDER BY failures DESC, name, errno, status;

-- Rows without an expected partner, and why.
CREATE OR REPLACE VIEW unmatched_summary AS
SELECT src_table, link, reason, count(*) AS count, count(DISTINCT loss_id) AS losses, min(src_id) AS example_id
FROM unmatched
GROUP BY src_table, link, reason
ORDER BY count DESC, src_table, link, reason;

-- Joins by rule and confidence.
CREATE OR REPLACE VIEW link_summary AS
SELECT rule, confidence, src_table, dst_table, count(*) AS count
FROM links
GROUP BY rule, confidence, src_table, dst_table
ORDER BY count DESC, rule, confidence;

-- Events lost by stream and CPU, with the rows that a loss may explain.
CREATE OR REPLACE VIEW loss_summary AS
WITH touched AS (SELECT loss_id, count(*) AS n FROM unmatched WHERE loss_id IS NOT NULL GROUP BY loss_id)
SELECT l.stream, l.cpu, count(*) AS losses, sum(l.count)::UBIGINT AS events_lost, count(*) FILTER (l.count IS NULL) AS of_unknown_size,
  min(l.start_ns) AS first_ns, max(l.end_ns) AS last_ns, coalesce(sum(t.n), 0)::BIGINT AS unmatched_rows
FROM losses l LEFT JOIN touched t ON t.loss_id = l.id
GROUP BY l.stream, l.cpu
ORDER BY events_lost DESC NULLS LAST, l.stream, l.cpu;

-- What follows are the figures of gpurec report (docs/report.md), one view for
-- each list of its JSON.

-- The times between two submissions of a process: of jobs to a ring (jobs), or,
-- in a log without jobs, of outermost calls that put work on GPUs (api_calls).
CREATE OR REPLACE VIEW report_submission_intervals AS
WITH submitted AS (
  SELECT 'jobs' AS measured_by, device_id, ring, process_id, id, queued_ns AS ts_ns FROM jobs WHERE queued_ns IS NOT NULL
  UNION ALL
  SELECT 'api_calls', NULL, NULL, process_id, id, start_ns FROM api_calls
  WHERE class IN ('launch', 'graph_launch', 'memcpy', 'memset', 'collective', 'submit') AND parent_id IS NULL AND same_as_id IS NULL AND start_ns IS NOT NULL
    AND (SELECT count(*) FROM jobs) = 0
), pairs AS (
  SELECT measured_by, device_id, ring, process_id, id AS row_id, ts_ns AS end_ns, lag(ts_ns) OVER (PARTITION BY measured_by, device_id, ring, process_id ORDER BY ts_ns, id) AS start_ns FROM submitted
)
SELECT *, end_ns - start_ns AS ns FROM pairs WHERE start_ns IS NOT NULL
ORDER BY measured_by, device_id, ring, process_id, start_ns, end_ns;

CREATE OR REPLACE MACRO report_regularity(intervals) AS TABLE
WITH m AS (
  SELECT *, quantile_disc(ns, 0.5) OVER (PARTITION BY measured_by, device_id, ring, process_id) AS p50 FROM query_table(intervals)
), late AS (
  SELECT *, greatest(p50 * 150 // 100, p50 + 1000000) AS threshold,
    start_ns - lag(start_ns) OVER (PARTITION BY measured_by, device_id, ring, process_id ORDER BY start_ns) AS distance
  FROM m WHERE ns >= greatest(p50 * 150 // 100, p50 + 1000000)
), period AS (
  SELECT measured_by, device_id, ring, process_id, count(*) AS outliers, sum(ns - p50)::BIGINT AS excess, quantile_disc(distance, 0.5) AS period FROM late GROUP BY ALL
), near AS (
  SELECT l.measured_by, l.device_id, l.ring, l.process_id, 3 * count(*) FILTER (5 * abs(distance - period) <= period) >= 2 * count(distance) AS periodic
  FROM late l JOIN period p ON l.measured_by = p.measured_by AND l.device_id IS NOT DISTINCT FROM p.device_id AND l.ring IS NOT DISTINCT FROM p.ring AND l.process_id IS NOT DISTINCT FROM p.process_id
  GROUP BY ALL
), every AS (
  SELECT measured_by, device_id, ring, process_id, count(*) AS interval_count, any_value(greatest(p50 * 150 // 100, p50 + 1000000)) AS outlier_threshold_ns FROM m GROUP BY ALL
)
SELECT e.*, coalesce(p.outliers, 0) AS outliers, coalesce(p.excess, 0) AS outlier_excess_ns,
  CASE WHEN p.outliers >= 3 THEN p.period END AS outlier_period_ns, coalesce(p.outliers >= 3 AND n.periodic, false) AS outlier_periodic
FROM every e
  LEFT JOIN period p ON e.measured_by = p.measured_by AND e.device_id IS NOT DISTINCT FROM p.device_id AND e.ring IS NOT DISTINCT FROM p.ring AND e.process_id IS NOT DISTINCT FROM p.process_id
  LEFT JOIN near n ON e.measured_by = n.measured_by AND e.device_id IS NOT DISTINCT FROM n.device_id AND e.ring IS NOT DISTINCT FROM n.ring AND e.process_id IS NOT DISTINCT FROM n.process_id
ORDER BY interval_count DESC, e.measured_by, e.device_id, e.ring, e.process_id;

-- How regularly processes submit. An outlier reaches 1.5 medians and 1 ms more
-- than one; period is the median distance of outliers, from three of them on.
CREATE OR REPLACE VIEW report_submissions AS
SELECT * FROM report_regularity('report_submission_intervals');

-- Where more than a tenth of the intervals are outliers, or the median is below
-- 1 ms (and so the threshold below 2), submissions come in bursts (frames,
-- steps), which the outliers part: the times between their begins.
CREATE OR REPLACE VIEW report_burst_intervals AS
WITH keys AS (
  SELECT * FROM report_submissions WHERE outliers > 0 AND (10 * outliers > interval_count OR outlier_threshold_ns < 2000000)
), begins AS (
  SELECT i.measured_by, i.device_id, i.ring, i.process_id, i.start_ns, i.end_ns, i.ns >= k.outlier_threshold_ns AS late,
    row_number() OVER (PARTITION BY i.measured_by, i.device_id, i.ring, i.process_id ORDER BY i.start_ns, i.end_ns) AS nth
  FROM report_submission_intervals i JOIN keys k
    ON i.measured_by = k.measured_by AND i.device_id IS NOT DISTINCT FROM k.device_id AND i.ring IS NOT DISTINCT FROM k.ring AND i.process_id IS NOT DISTINCT FROM k.process_id
), times AS (
  SELECT measured_by, device_id, ring, process_id, start_ns AS t FROM begins WHERE nth = 1
  UNION ALL SELECT measured_by, device_id, ring, process_id, end_ns FROM begins WHERE late
), pairs AS (
  SELECT measured_by, device_id, ring, process_id, lag(t) OVER (PARTITION BY measured_by, device_id, ring, process_id ORDER BY t) AS start_ns, t AS end_ns FROM times
)
SELECT *, end_ns - start_ns AS ns FROM pairs WHERE start_ns IS NOT NULL
ORDER BY measured_by, device_id, ring, process_id, start_ns, end_ns;

-- How regularly bursts come, as in report_submissions.
CREATE OR REPLACE VIEW report_bursts AS
SELECT * FROM report_regularity('report_burst_intervals');

-- Every duration of which the report gives a distribution. measure says which;
-- the columns that its lines are told apart by are set, the others are NULL.
CREATE OR REPLACE VIEW report_values AS
SELECT 'ring.submit_latency' AS measure, NULL::BIGINT AS process_id, device_id, ring, NULL::VARCHAR AS family, NULL::VARCHAR AS name, NULL::VARCHAR AS role, id, submit_latency_ns AS ns FROM jobs
UNION ALL SELECT 'ring.queue_delay', NULL, device_id, ring, NULL, NULL, NULL, id, queue_delay_ns FROM jobs
UNION ALL SELECT 'ring.dependency_wait', NULL, device_id, ring, NULL, NULL, NULL, id, dependency_wait_ns FROM jobs
UNION ALL SELECT 'ring.hw_queue', NULL, device_id, ring, NULL, NULL, NULL, id, hw_queue_ns FROM jobs
UNION ALL SELECT 'ring.device_time', NULL, device_id, ring, NULL, NULL, NULL, id, device_time_ns FROM jobs
UNION ALL SELECT 'ring.signal_latency', NULL, device_id, ring, NULL, NULL, NULL, id, finished_ns - done_ns FROM jobs
UNION ALL SELECT 'kernel.time', NULL, NULL, NULL, 'gpu_activities', name, NULL, id, dur_ns FROM gpu_activities WHERE kind = 'kernel' AND same_as_id IS NULL
UNION ALL SELECT 'kernel.time', NULL, NULL, NULL, 'jobs', kernel_name, NULL, id, device_time_ns FROM jobs WHERE kernel_name IS NOT NULL
UNION ALL SELECT 'activity.time', NULL, NULL, NULL, kind, NULL, NULL, id, dur_ns FROM gpu_activities WHERE same_as_id IS NULL
UNION ALL SELECT 'launch.delay', NULL, NULL, NULL, NULL, NULL, NULL, id, launch_delay_ns FROM gpu_activities WHERE same_as_id IS NULL
UNION ALL SELECT 'api.time', NULL, NULL, NULL, api, base_name, NULL, id, dur_ns FROM api_calls WHERE same_as_id IS NULL
UNION ALL SELECT 'ioctl.time', NULL, NULL, NULL, driver, name, role, id, dur_ns FROM ioctls
UNION ALL SELECT 'fence_wait.time', NULL, NULL, NULL, NULL, NULL, NULL, id, wait_ns FROM fence_waits
UNION ALL SELECT 'fence_wait.wake', NULL, NULL, NULL, NULL, NULL, NULL, id, wake_ns FROM fence_waits
UNION ALL SELECT 'interrupt.time', NULL, device_id, NULL, driver, name, NULL, NULL, end_ns - start_ns FROM irqs WHERE device_id IS NOT NULL OR driver IS NOT NULL
UNION ALL SELECT 'submission.interval', process_id, device_id, ring, measured_by, NULL, NULL, NULL, ns FROM report_submission_intervals
UNION ALL SELECT 'burst.interval', process_id, device_id, ring, measured_by, NULL, NULL, NULL, ns FROM report_burst_intervals;

-- The distributions. max_id is the row with the greatest value, the first of them.
CREATE OR REPLACE VIEW report_stats AS
WITH v AS (
  SELECT *, max(ns) OVER (PARTITION BY measure, process_id, device_id, ring, family, name, role) AS top FROM report_values
)
SELECT measure, process_id, device_id, ring, family, name, role, count(*) AS rows,
  count(*) FILTER (ns >= 0) AS count,
  coalesce(sum(ns) FILTER (ns >= 0), 0)::BIGINT AS sum_ns,
  quantile_disc(ns, 0.5) FILTER (ns >= 0) AS p50_ns,
  quantile_disc(ns, 0.9) FILTER (ns >= 0) AS p90_ns,
  quantile_disc(ns, 0.99) FILTER (ns >= 0) AS p99_ns,
  max(ns) FILTER (ns >= 0) AS max_ns,
  min(id) FILTER (ns = top AND ns >= 0) AS max_id,
  count(*) FILTER (ns < 0) AS negative
FROM v
GROUP BY measure, process_id, device_id, ring, family, name, role
ORDER BY measure, sum_ns DESC, process_id, device_id, ring, family, name, role;

-- Their histograms: 0 alone, then doublings; to_ns is not in the bucket.
CREATE OR REPLACE VIEW report_histograms AS
WITH b AS (
  SELECT *, CASE WHEN ns = 0 THEN 0 ELSE length(bin(ns)) END AS bits FROM report_values WHERE ns >= 0
)
SELECT measure, process_id, device_id, ring, family, name, role,
  CASE WHEN bits = 0 THEN 0 ELSE 1::BIGINT << (bits - 1) END AS from_ns,
  CASE WHEN bits = 0 THEN 1 ELSE 2::UBIGINT * (1::BIGINT << (bits - 1))::UBIGINT END AS to_ns, count(*) AS count
FROM b
GROUP BY measure, process_id, device_id, ring, family, name, role, bits
ORDER BY measure, process_id, device_id, ring, family, name, role, from_ns;

-- The run: its extent (span_ns, NULL if it has none), and the resolution of its times.
CREATE OR REPLACE VIEW report_run AS
WITH times AS (
  SELECT unnest([queued_ns, run_ns, done_ns, finished_ns]) AS t FROM jobs
  UNION ALL SELECT unnest([start_ns, end_ns]) FROM api_calls WHERE same_as_id IS NULL
  UNION ALL SELECT unnest([start_ns, end_ns]) FROM ioctls
  UNION ALL SELECT unnest([start_ns, signal_ns, end_ns]) FROM fence_waits
  UNION ALL SELECT unnest([start_ns, end_ns]) FROM gpu_activities
  UNION ALL SELECT unnest([start_ns, end_ns]) FROM slices
  UNION ALL SELECT unnest([start_ns, end_ns]) FROM sched
  UNION ALL SELECT ts_ns FROM marks
  UNION ALL SELECT ts_ns FROM counters
  UNION ALL SELECT ts_ns FROM mem_maps
), run AS (
  SELECT max(value) FILTER (key = 'start_ns')::BIGINT AS start_ns, max(value) FILTER (key = 'end_ns')::BIGINT AS end_ns FROM metadata
)
SELECT start_ns, end_ns, CASE WHEN end_ns::HUGEINT - start_ns BETWEEN 1 AND 9223372036854775807 THEN (end_ns::HUGEINT - start_ns)::BIGINT END AS span_ns,
  (SELECT CASE WHEN count(t) > 0 AND count(t) FILTER (t % 1000 <> 0) = 0 THEN 1000 ELSE 1 END FROM times) AS time_resolution_ns
FROM run WHERE start_ns IS NOT NULL;

-- Rings: how their jobs ended, how busy they were.
CREATE OR REPLACE VIEW report_rings AS
WITH ends AS (
  SELECT device_id, ring,
    count(*) FILTER (queued_ns IS NOT NULL AND run_ns IS NULL AND end_kind IN ('killed', 'open')) AS never_ran_jobs,
    count(*) FILTER (run_ns IS NOT NULL AND done_ns IS NULL AND end_kind = 'open') AS unfinished_jobs,
    count(*) FILTER (error <> 0) AS failed_jobs, count(*) FILTER (runs > 1) AS rerun_jobs,
    count(*) FILTER (fate = 'guilty') AS guilty_jobs, count(*) FILTER (fate = 'cancelled') AS cancelled_jobs
  FROM jobs GROUP BY device_id, ring
), depth AS (
  SELECT device_id, ring, max(waiting) AS waiting, max(running) AS running FROM queue_depth_over_time GROUP BY device_id, ring
)
SELECT e.*, greatest(coalesce(d.waiting, 0), 0) AS max_queued_jobs, greatest(coalesce(d.running, 0), 0) AS max_in_flight_jobs, coalesce(r.jobs, 0) AS jobs, coalesce(r.done, 0) AS done, coalesce(r.max_backlog, 0) AS max_backlog_jobs,
  coalesce(r.busy_ns, 0) AS busy_ns, coalesce(r.idle_ns, 0) AS idle_ns,
  coalesce(r.busy_ns, 0) / nullif(coalesce(r.busy_ns, 0) + coalesce(r.idle_ns, 0), 0)::DOUBLE AS busy_ratio
FROM ends e
  LEFT JOIN rings r ON r.device_id IS NOT DISTINCT FROM e.device_id AND r.ring IS NOT DISTINCT FROM e.ring
  LEFT JOIN depth d ON d.device_id IS NOT DISTINCT FROM e.device_id AND d.ring IS NOT DISTINCT FROM e.ring
ORDER BY e.device_id, e.ring;

-- How long each ring had how many jobs queued or in flight, between its first
-- and last change; 64 stands for so many and more.
CREATE OR REPLACE VIEW report_backlog AS
WITH spans AS (
  SELECT device_id, ring, depth, lead(ts_ns) OVER (PARTITION BY device_id, ring ORDER BY ts_ns) - ts_ns AS ns FROM queue_depth_over_time
)
SELECT device_id, ring, greatest(least(depth, 64), 0) AS jobs, sum(ns)::BIGINT AS ns
FROM spans WHERE ns IS NOT NULL GROUP BY ALL
ORDER BY device_id, ring, jobs;

-- Why rings, and GPUs without rings (ring NULL), stood idle.
CREATE OR REPLACE VIEW report_idle_causes AS
SELECT device_id, ring, cause, count(*) AS count, sum(end_ns - start_ns)::BIGINT AS sum_ns, max(end_ns - start_ns) AS max_ns
FROM idle_gaps GROUP BY device_id, ring, cause
ORDER BY device_id, ring, sum_ns DESC, cause;

-- Of the gaps in which nothing was submitted: what the thread did that then submitted.
CREATE OR REPLACE VIEW report_submitter_was AS
SELECT device_id, ring, regexp_replace(submitter_was, ' \d+:\d+', '', 'g') AS what, count(*) AS count, sum(end_ns - start_ns)::BIGINT AS sum_ns
FROM idle_gaps WHERE cause = 'nothing_submitted' GROUP BY ALL
ORDER BY device_id, ring, sum_ns DESC, what;

-- Work on GPUs, as device records and as jobs tell it.
CREATE OR REPLACE VIEW report_work AS
SELECT 'gpu_activities' AS measured_by, device_id, process_id, start_ns, end_ns, dur_ns AS ns
FROM gpu_activities WHERE kind <> 'other' AND same_as_id IS NULL AND dur_ns >= 0 AND start_ns IS NOT NULL AND end_ns IS NOT NULL
UNION ALL
SELECT 'jobs', device_id, process_id, device_start_ns, done_ns, device_time_ns
FROM jobs WHERE device_time_ns >= 0 AND device_start_ns IS NOT NULL AND done_ns IS NOT NULL;

-- What each GPU did: sum_ns adds all work up, busy_ns is the time in which at
-- least one piece ran.
CREATE OR REPLACE VIEW report_devices AS
WITH w AS (
  SELECT *, max(end_ns) OVER (PARTITION BY measured_by, device_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM report_work
)
SELECT device_id, measured_by, count(*) AS count, sum(ns)::BIGINT AS sum_ns,
  sum(greatest(end_ns - greatest(start_ns, coalesce(before, start_ns)), 0))::BIGINT AS busy_ns,
  sum(greatest(end_ns - greatest(start_ns, coalesce(before, start_ns)), 0)) / nullif(max(end_ns) - min(start_ns), 0)::DOUBLE AS busy_ratio,
  min(start_ns) AS first_start_ns, max(end_ns) AS last_end_ns
FROM w GROUP BY device_id, measured_by
ORDER BY measured_by, device_id;

-- What each process had of a GPU.
CREATE OR REPLACE VIEW report_processes AS
SELECT process_id, device_id, measured_by, count(*) AS count, sum(ns)::BIGINT AS sum_ns,
  sum(ns) / nullif(sum(sum(ns)) OVER (PARTITION BY device_id, measured_by), 0)::DOUBLE AS share_ratio
FROM report_work GROUP BY process_id, device_id, measured_by
ORDER BY sum_ns DESC, measured_by, device_id, process_id;

-- GPU functions by time; their distributions are report_stats, measure kernel.time.
CREATE OR REPLACE VIEW report_kernels AS
SELECT family AS measured_by, name, rows AS launches, sum_ns, sum_ns / nullif(sum(sum_ns) OVER (PARTITION BY family), 0)::DOUBLE AS share_ratio
FROM report_stats WHERE measure = 'kernel.time'
ORDER BY sum_ns DESC, launches DESC, name, measured_by;

-- API functions.
CREATE OR REPLACE VIEW report_api_calls AS
SELECT api, base_name AS name, count(*) AS calls, count(*) FILTER (end_kind NOT IN ('returned', 'not_probed')) AS not_returned,
  count(*) FILTER (result NOT IN (0, 600)) AS failed, coalesce(sum(self_ns), 0)::BIGINT AS self_ns, arg_min(class, id) AS class, arg_min(blocking, id) AS blocking
FROM api_calls WHERE same_as_id IS NULL GROUP BY api, base_name
ORDER BY self_ns DESC, calls DESC, name, api;

-- Time of processes in API calls, calls in others not twice.
CREATE OR REPLACE VIEW report_api_processes AS
SELECT process_id, count(*) AS calls, coalesce(sum(self_ns), 0)::BIGINT AS self_ns, coalesce(sum(self_ns) FILTER (blocking), 0)::BIGINT AS blocking_self_ns
FROM api_calls WHERE same_as_id IS NULL GROUP BY process_id
ORDER BY self_ns DESC, process_id;

-- Time of threads in outermost calls that wait by their nature.
CREATE OR REPLACE VIEW report_blocking_threads AS
SELECT process_id, tid, api, base_name AS name, count(*) AS calls, coalesce(sum(dur_ns) FILTER (dur_ns >= 0), 0)::BIGINT AS sum_ns,
  coalesce(sum(dur_ns) FILTER (dur_ns >= 0), 0) / (SELECT span_ns::DOUBLE FROM report_run) AS share_of_run_ratio
FROM api_calls WHERE blocking AND parent_id IS NULL AND same_as_id IS NULL GROUP BY process_id, tid, api, base_name
ORDER BY sum_ns DESC, process_id, tid, name, api;

-- Ioctls, and how many failed.
CREATE OR REPLACE VIEW report_ioctls AS
SELECT driver, name, role, count(*) AS calls, count(*) FILTER (errno <> 0 OR status <> 0) AS failed
FROM ioctls GROUP BY driver, name, role
ORDER BY calls DESC, name, driver, role;

-- Ioctls that failed, by errno and by the status in the driver's own struct.
CREATE OR REPLACE VIEW report_failed_ioctls AS
SELECT driver, name, role, errno, status, count(*) AS count, min(start_ns) AS first_ns, max(start_ns) AS last_ns
FROM ioctls WHERE errno <> 0 OR status <> 0 GROUP BY driver, name, role, errno, status
ORDER BY count DESC, name, errno, status;

-- Interrupts of GPUs, by handler; their distributions are report_stats, measure
-- interrupt.time.
CREATE OR REPLACE VIEW report_interrupts AS
SELECT device_id, driver, name, count(*) AS count, count(*) * 1e9 / (SELECT span_ns FROM report_run) AS per_second
FROM irqs WHERE device_id IS NOT NULL OR driver IS NOT NULL GROUP BY device_id, driver, name
ORDER BY count DESC, device_id, driver, name;

-- Waits for fences that ended although no signal of the fence had been seen.
CREATE OR REPLACE VIEW report_waits AS
SELECT count(*) AS fence_waits, count(*) FILTER (timed_out) AS fence_waits_timed_out,
  coalesce(sum(wait_ns) FILTER (timed_out), 0)::BIGINT AS timed_out_sum_ns, max(wait_ns) FILTER (timed_out) AS timed_out_max_ns
FROM fence_waits HAVING count(*) > 0;

-- Events lost, in how many gaps.
CREATE OR REPLACE VIEW report_lost AS
SELECT count(*) AS gaps, coalesce(sum(count), 0)::UBIGINT AS events, count(*) FILTER (count IS NULL) AS gaps_of_unknown_size
FROM losses HAVING count(*) > 0;

-- Resets by ring.
CREATE OR REPLACE VIEW report_resets AS
SELECT device_id, ring, rule, count(*) AS count, min(ts_ns) AS first_ns, max(ts_ns) AS last_ns
FROM resets GROUP BY device_id, ring, rule
ORDER BY device_id, ring, rule;

-- What processes mapped (mem_maps) or allocated (api_calls) and what of it was
-- there at the end: the last that happened to its address was no unmapping.
CREATE OR REPLACE VIEW report_memory AS
WITH steps AS (
  SELECT 'mem_maps' AS source, process_id, device_id, address, op = 'map' AS maps, bytes, id AS step, id FROM mem_maps
  UNION ALL
  SELECT 'api_calls', process_id, NULL, address, class = 'alloc', bytes, end_ns, id FROM api_calls
  WHERE class IN ('alloc', 'free') AND end_kind = 'returned' AND coalesce(result, 0) IN (0, 600) AND same_as_id IS NULL
), counted AS (
  SELECT source, process_id, device_id, count(*) FILTER (maps) AS maps, count(*) FILTER (NOT maps) AS unmaps FROM steps GROUP BY ALL
), last AS (
  SELECT source, process_id, device_id, address, arg_max(maps, (step, id)) AS live, arg_max(coalesce(bytes, 0), (step, id)) AS bytes
  FROM steps WHERE address <> 0 GROUP BY ALL
), left_over AS (
  SELECT source, process_id, device_id, count(*) AS n, sum(bytes)::UBIGINT AS bytes FROM last WHERE live GROUP BY ALL
)
SELECT c.*, coalesce(l.n, 0) AS live_at_end, coalesce(l.bytes, 0)::UBIGINT AS live_at_end_bytes
FROM counted c LEFT JOIN left_over l ON l.source = c.source AND l.process_id IS NOT DISTINCT FROM c.process_id AND l.device_id IS NOT DISTINCT FROM c.device_id
ORDER BY live_at_end_bytes DESC, maps DESC, source, process_id, device_id;

-- What stands out: the findings of the report with their figures, each where
-- its condition of docs/report.md holds. value is in unit; cost_ns is the time
-- that it took, by which those of a level are ranked.
CREATE OR REPLACE VIEW report_findings AS
WITH run AS (
  SELECT max(start_ns) AS start_ns, max(end_ns) AS end_ns, coalesce(max(span_ns), 0) AS span_ns FROM report_run
), seen AS (
  SELECT count(*) AS jobs, count(run_ns) > 0 AS run, count(done_ns) > 0 AS done FROM jobs
), firsts AS (
  SELECT device_id, ring,
    arg_min(queued_ns, id) FILTER (queued_ns IS NOT NULL AND run_ns IS NULL AND end_kind IN ('killed', 'open')) AS never_ns,
    count(*) FILTER (queued_ns IS NOT NULL AND run_ns IS NULL AND end_kind = 'killed') AS killed,
    arg_min(run_ns, id) FILTER (run_ns IS NOT NULL AND done_ns IS NULL AND end_kind = 'open') AS unfinished_ns,
    coalesce(max(device_time_ns) FILTER (device_time_ns >= 0), 0) AS longest_ns
  FROM jobs GROUP BY device_id, ring
), stuck AS (
  SELECT r.*, f.never_ns, f.killed, run.end_ns - f.unfinished_ns AS ran_ns, f.longest_ns, run.end_ns
  FROM report_rings r JOIN firsts f ON f.device_id IS NOT DISTINCT FROM r.device_id AND f.ring IS NOT DISTINCT FROM r.ring, run
), timeouts AS (
  SELECT driver, name, role, errno, status, count(*) AS n, max(coalesce(dur_ns, 0)) AS longest_ns
  FROM ioctls WHERE role = 'wait' AND errno IN (62, 110) GROUP BY ALL
), causes AS (
  SELECT device_id, ring, sum(sum_ns)::BIGINT AS sum_ns, coalesce(sum(sum_ns) FILTER (cause <> 'nothing_submitted'), 0)::BIGINT AS queued_ns
  FROM report_idle_causes GROUP BY device_id, ring
), idle AS (
  SELECT c.device_id, c.ring, c.queued_ns, coalesce(r.busy_ns, 0) AS ring_busy_ns,
    CASE WHEN c.ring IS NULL AND coalesce(r.jobs, 0) = 0 THEN c.sum_ns ELSE coalesce(r.idle_ns, 0) END AS idle_ns,
    CASE WHEN c.ring IS NULL AND coalesce(r.jobs, 0) = 0 THEN coalesce(d.busy_ns, 0) ELSE coalesce(r.busy_ns, 0) END AS busy_ns
  FROM causes c
    LEFT JOIN rings r ON r.device_id IS NOT DISTINCT FROM c.device_id AND r.ring IS NOT DISTINCT FROM c.ring
    LEFT JOIN report_devices d ON d.measured_by = 'gpu_activities' AND d.device_id IS NOT DISTINCT FROM c.device_id
), asked AS (
  SELECT i.*, CASE WHEN EXISTS (FROM rings o WHERE o.device_id IS NOT DISTINCT FROM i.device_id AND coalesce(o.busy_ns, 0) > i.ring_busy_ns) THEN i.queued_ns ELSE i.idle_ns END AS asked_ns
  FROM idle i
), rhythm AS (
  SELECT s.measured_by, s.device_id, s.ring, s.process_id, coalesce(b.interval_count, 0) >= 20 AS of_bursts,
    s.outlier_threshold_ns < 2000000 AND s.outlier_periodic AS of_frames,
    CASE WHEN of_bursts THEN b.interval_count ELSE s.interval_count END AS n,
    CASE WHEN of_bursts THEN b.outliers ELSE s.outliers END AS outliers,
    CASE WHEN of_bursts THEN b.outlier_excess_ns ELSE s.outlier_excess_ns END AS excess_ns
  FROM report_submissions s
    LEFT JOIN report_bursts b ON b.measured_by = s.measured_by AND b.device_id IS NOT DISTINCT FROM s.device_id AND b.ring IS NOT DISTINCT FROM s.ring AND b.process_id IS NOT DISTINCT FROM s.process_id
), enqueues AS (
  SELECT count(*) AS n, sum(dur_ns)::BIGINT AS sum_ns FROM api_calls
  WHERE class IN ('launch', 'graph_launch', 'memcpy', 'memset', 'collective', 'submit') AND NOT coalesce(blocking, false) AND parent_id IS NULL AND same_as_id IS NULL AND dur_ns >= 1000000
), balance AS (
  SELECT measured_by, count(*) AS n, max(busy_ns) AS most_ns, min(busy_ns) AS least_ns FROM report_devices WHERE device_id IS NOT NULL GROUP BY measured_by
), tops AS (
  SELECT measured_by, count(*) AS n, sum(sum_ns)::BIGINT AS all_ns, max(sum_ns) AS top_ns FROM report_kernels GROUP BY measured_by
), work AS (
  SELECT sum(sum_ns)::BIGINT AS all_ns, coalesce(sum(sum_ns) FILTER (family = 'memcpy'), 0)::BIGINT AS copied_ns FROM report_stats WHERE measure = 'activity.time' AND family <> 'other'
), clocks AS (
  SELECT (SELECT count(*) FROM processes WHERE unaligned) + (SELECT count(*) FROM devices WHERE unaligned) AS n
), found AS (
  SELECT 'command_failed' AS rule, NULL::BIGINT AS device_id, NULL::VARCHAR AS ring, NULL::BIGINT AS process_id, value::DOUBLE AS value, 'count' AS unit, 0::BIGINT AS cost_ns
  FROM metadata WHERE key = 'exit_status' AND value <> '0'
  UNION ALL SELECT 'kernel_messages', NULL, NULL, NULL, count(*), 'count', 0 FROM log_lines HAVING count(*) > 0
  UNION ALL SELECT 'resets', device_id, ring, NULL, count, 'count', 0 FROM report_resets
  UNION ALL SELECT 'jobs_failed', device_id, ring, NULL, failed_jobs, 'count', 0 FROM report_rings WHERE failed_jobs > 0
  UNION ALL SELECT 'jobs_never_ran', device_id, ring, NULL, never_ran_jobs, 'count', 0 FROM stuck, seen
    WHERE never_ran_jobs > 0 AND seen.run AND (killed > 0 OR end_ns - never_ns >= 100000000)
  UNION ALL SELECT 'jobs_unfinished', device_id, ring, NULL, unfinished_jobs, 'count', ran_ns FROM stuck, seen
    WHERE unfinished_jobs > 0 AND seen.done AND ran_ns >= 1000000000 AND ran_ns > longest_ns
  UNION ALL SELECT 'waits_timed_out', NULL, NULL, NULL, fence_waits_timed_out, 'count', timed_out_sum_ns FROM report_waits WHERE timed_out_max_ns >= 1000000
  UNION ALL SELECT 'waits_timed_out', NULL, NULL, NULL, n, 'count', 0 FROM timeouts WHERE longest_ns >= 1000000
  UNION ALL SELECT 'failed_ioctls', NULL, NULL, NULL, sum(count), 'count', 0 FROM report_failed_ioctls
    WHERE NOT (coalesce(errno IN (4, 11), false) OR coalesce(errno IN (16, 62, 110) AND role = 'wait', false)) HAVING count(*) > 0
  UNION ALL SELECT 'failed_calls', NULL, NULL, NULL, count(*), 'count', 0 FROM api_calls WHERE result NOT IN (0, 600) AND same_as_id IS NULL HAVING count(*) > 0
  UNION ALL SELECT 'memory_left', device_id, NULL, process_id, live_at_end_bytes, 'bytes', 0 FROM report_memory WHERE live_at_end >= 16 AND live_at_end_bytes >= 1048576
  UNION ALL SELECT 'ring_idle', device_id, ring, NULL, idle_ns / (idle_ns + busy_ns)::DOUBLE, 'ratio', idle_ns FROM asked WHERE asked_ns >= 1000000 AND asked_ns >= 0.2 * (idle_ns + busy_ns)::DOUBLE
  UNION ALL SELECT 'stutter', device_id, ring, process_id, outliers, 'count', excess_ns FROM rhythm
    WHERE (of_bursts OR NOT of_frames) AND n >= 20 AND outliers > 0 AND outliers <= CASE WHEN of_bursts THEN 0.2 ELSE 0.1 END::DOUBLE * n AND excess_ns >= 5000000
  UNION ALL SELECT 'queue_delay_tail', device_id, ring, NULL, p99_ns, 'ns', max_ns FROM report_stats
    WHERE measure = 'ring.queue_delay' AND count >= 20 AND (p99_ns >= 5000000 AND p99_ns >= 10 * p50_ns OR max_ns >= 50000000 AND max_ns >= 50 * p50_ns)
  UNION ALL SELECT 'blocking_call', NULL, NULL, process_id, share_of_run_ratio, 'ratio', sum_ns FROM report_blocking_threads WHERE share_of_run_ratio >= 0.5
  UNION ALL SELECT 'slow_enqueue', NULL, NULL, NULL, n, 'count', sum_ns FROM enqueues, run WHERE n > 0 AND sum_ns >= 0.05 * span_ns::DOUBLE
  UNION ALL SELECT 'slow_wakeup', NULL, NULL, NULL, p99_ns, 'ns', max_ns FROM report_stats WHERE measure = 'fence_wait.wake' AND p99_ns >= 2000000
  UNION ALL SELECT 'gpu_imbalance', NULL, NULL, NULL, (most_ns - least_ns) / most_ns::DOUBLE, 'ratio', most_ns - least_ns FROM balance
    WHERE n >= 2 AND most_ns > 0 AND most_ns - least_ns >= 0.2 * most_ns::DOUBLE
  UNION ALL SELECT 'kernel_dominates', NULL, NULL, NULL, top_ns / all_ns::DOUBLE, 'ratio', top_ns FROM tops WHERE n >= 2 AND all_ns >= 10000000 AND top_ns >= 0.5 * all_ns::DOUBLE
  UNION ALL SELECT 'copies_dominate', NULL, NULL, NULL, copied_ns / all_ns::DOUBLE, 'ratio', copied_ns FROM work WHERE all_ns >= 10000000 AND copied_ns >= 0.5 * all_ns::DOUBLE
  UNION ALL SELECT 'lost_events', NULL, NULL, NULL, coalesce(sum(count), 0), 'count', 0 FROM losses HAVING count(*) > 0
  UNION ALL SELECT 'clock_unaligned', NULL, NULL, NULL, n, 'count', 0 FROM clocks WHERE n > 0
  UNION ALL SELECT 'clocks_apart', NULL, NULL, NULL, negative, 'count', 0 FROM report_stats WHERE measure = 'launch.delay' AND negative > 0
  UNION ALL SELECT 'launches_without_records', NULL, NULL, NULL, count(*), 'count', 0 FROM unmatched WHERE src_table = 'api_calls' AND link = 'activity' AND (SELECT jobs FROM seen) = 0 HAVING count(*) > 0
), levels AS (
  SELECT *, CASE WHEN rule IN ('lost_events', 'clock_unaligned', 'clocks_apart', 'launches_without_records') THEN 'doubt'
    WHEN rule IN ('ring_idle', 'stutter', 'queue_delay_tail', 'blocking_call', 'slow_enqueue', 'slow_wakeup', 'gpu_imbalance', 'kernel_dominates', 'copies_dominate') THEN 'slow' ELSE 'problem' END AS level
  FROM found
)
SELECT rule, level, device_id, ring, process_id, value, unit, cost_ns FROM levels
ORDER BY CASE level WHEN 'problem' THEN 0 WHEN 'slow' THEN 1 ELSE 2 END, cost_ns DESC, rule, device_id, ring, process_id;
