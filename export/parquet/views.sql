-- The views over the tables. Percentiles are by nearest rank: the least value
-- that at least so many percent of the values do not exceed. Negative times
-- (rows that doubtful events made) are in no percentile.

-- Calls of each API function. self_ns leaves out the calls inside it; not_returned
-- are those whose return was watched but not seen; failed have a result other than
-- 0 and 600 (CUDA_ERROR_NOT_READY, which only says "not yet").
CREATE OR REPLACE VIEW api_summary AS
WITH inner_ns AS (
  SELECT parent_id AS id, sum(dur_ns)::BIGINT AS ns FROM api_calls WHERE parent_id IS NOT NULL GROUP BY parent_id
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
GROUP BY c.api, c.base_name
ORDER BY total_ns DESC NULLS LAST, calls DESC, name;

-- API time by name and process, with each function's part of the process's
-- time in outermost calls.
CREATE OR REPLACE VIEW api_time_by_name AS
WITH outermost AS (
  SELECT process_id, sum(dur_ns)::BIGINT AS ns FROM api_calls WHERE parent_id IS NULL GROUP BY process_id
)
SELECT c.process_id, any_value(c.pid) AS pid, any_value(p.name) AS process, c.base_name AS name, count(*) AS calls,
  sum(c.dur_ns)::BIGINT AS total_ns,
  round(100.0 * sum(c.dur_ns) / nullif(any_value(o.ns), 0), 2) AS percent
FROM api_calls c
  LEFT JOIN processes p ON p.id = c.process_id
  LEFT JOIN outermost o ON o.process_id IS NOT DISTINCT FROM c.process_id
GROUP BY c.process_id, c.base_name
ORDER BY total_ns DESC NULLS LAST, calls DESC, name;

-- GPU functions: as measured on the device (gpu_activities), and as jobs of
-- the scheduler that a call with a function name queued (jobs).
CREATE OR REPLACE VIEW kernel_summary AS
WITH work AS (
  SELECT 'gpu_activities' AS measured_by, device_id, name, dur_ns AS ns FROM gpu_activities WHERE kind = 'kernel'
  UNION ALL
  SELECT 'jobs', device_id, kernel_name, device_time_ns FROM jobs WHERE kernel_name IS NOT NULL
)
SELECT measured_by, device_id, name, count(*) AS launches, sum(ns)::BIGINT AS total_ns,
  quantile_disc(ns, 0.5) FILTER (ns >= 0) AS p50_ns,
  quantile_disc(ns, 0.9) FILTER (ns >= 0) AS p90_ns,
  quantile_disc(ns, 0.99) FILTER (ns >= 0) AS p99_ns,
  max(ns) AS max_ns
FROM work
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
-- and running (handed over, not done) after each change.
CREATE OR REPLACE VIEW queue_depth_over_time AS
WITH steps AS (
  SELECT device_id, ring, coalesce(queued_ns, run_ns) AS ts_ns, CASE WHEN queued_ns IS NULL THEN 0 ELSE 1 END AS waiting, CASE WHEN queued_ns IS NULL THEN 1 ELSE 0 END AS running
  FROM jobs WHERE queued_ns IS NOT NULL OR run_ns IS NOT NULL
  UNION ALL
  SELECT device_id, ring, run_ns, -1, 1 FROM jobs WHERE queued_ns IS NOT NULL AND run_ns IS NOT NULL
  UNION ALL
  SELECT device_id, ring, done_ns, CASE WHEN run_ns IS NULL THEN -1 ELSE 0 END, CASE WHEN run_ns IS NULL THEN 0 ELSE -1 END
  FROM jobs WHERE done_ns IS NOT NULL AND (queued_ns IS NOT NULL OR run_ns IS NOT NULL)
), net AS (
  SELECT device_id, ring, ts_ns, sum(waiting) AS waiting, sum(running) AS running FROM steps GROUP BY device_id, ring, ts_ns
)
SELECT device_id, ring, ts_ns,
  (sum(waiting) OVER w)::BIGINT AS waiting, (sum(running) OVER w)::BIGINT AS running, (sum(waiting + running) OVER w)::BIGINT AS depth
FROM net
WINDOW w AS (PARTITION BY device_id, ring ORDER BY ts_ns)
ORDER BY device_id, ring, ts_ns;

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
