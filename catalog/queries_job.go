package catalog

// Jobs, in the order of scanJob.
const (
	jobColumns = jobOwn + taskTotals
	jobOwn     = `j.id, j.policy_id, j.policy_version, j.schema_name, j.table_name, j.partition_name, j.state, j.reason,
 j.waits_for, j.state_at, j.waited_us,
 j.owner, j.fence, j.cutoff, j.cutoff_literal, j.floor_literal, j.trigger_kind, j.triggered_by, j.plan, j.plan_reason,
 j.estimated_rows, j.table_rows, j.usual_rows, j.bound, j.inflow, j.oldest_expiry, j.null_rows, j.odd_rows, j.note,
 j.created_at, `
	taskTotals = `COUNT(t.id), COALESCE(SUM(t.state = 'finished'), 0), COALESCE(SUM(t.examined), 0),
 COALESCE(SUM(t.deleted), 0),
 COALESCE(SUM(t.refreshed), 0), COALESCE(SUM(t.failed), 0), COALESCE(SUM(t.skipped), 0)`
	jobsAndTasks = ` FROM {job} j LEFT JOIN {task} t ON t.job_id = j.id`

	selectJobs       = `SELECT ` + jobColumns + jobsAndTasks + ` GROUP BY j.id`
	selectJob        = `SELECT ` + jobColumns + jobsAndTasks + ` WHERE j.id = ? GROUP BY j.id`
	selectNewJobs    = `SELECT ` + jobOwn + `0, 0, 0, 0, 0, 0, 0 FROM {job} j WHERE j.policy_id = ?` // without tasks
	selectJobPlaces  = `SELECT id, partition_name FROM {job} WHERE policy_id = ? ORDER BY id`
	selectPolicyJobs = `SELECT j.id FROM {job} j WHERE (? = 0 OR j.policy_id = ?) ORDER BY j.id`

	touchSchedule = `INSERT INTO {schedule} (policy_id, partition_name, revision) VALUES %s
 ON DUPLICATE KEY UPDATE revision = revision + 1`
	scheduleValues = `(?, ?, 1)`
	// New jobs are those that no schedule knows.
	startSchedules = `UPDATE {schedule} s JOIN {job} j ON j.policy_id = s.policy_id
 AND j.partition_name = s.partition_name
 SET s.last_job_id = j.id, s.last_version = j.policy_version, s.last_state = j.state,
 s.last_started_at = COALESCE(j.run_at, UTC_TIMESTAMP(6)),
 s.last_finished_at = NULL, s.last_cutoff = j.cutoff, s.last_due_at = ? WHERE s.policy_id = ?
 AND NOT s.last_job_id <=> j.id`
	selectMayStart = `SELECT COALESCE((SELECT value = 'OFF' FROM {setting}
 WHERE name = ?), FALSE), ` + settingsRevision + `,
 COALESCE(MAX(last_job_id), 0), COALESCE(MAX(requested_at) > COALESCE(MAX(last_started_at), '1000-01-01'), FALSE)
 FROM {schedule} WHERE policy_id = ?`
	selectLastJob = `SELECT COALESCE(MAX(last_job_id), 0) FROM {schedule} WHERE policy_id = ?`
	endSchedule   = `UPDATE {schedule} s JOIN {job} j ON s.policy_id = j.policy_id
 AND s.partition_name = j.partition_name AND s.last_job_id = j.id
 SET s.last_state = ?, s.last_finished_at = UTC_TIMESTAMP(6), s.last_ended_id = j.id WHERE j.id = ?`
	// A job that has come to its end and left no row behind moves the watermark. Where foreign keys keep
	// rows, one that was found and not deleted may have got a child.
	moveWatermark = `UPDATE {schedule} s JOIN {job_history} h ON s.last_job_id = h.job_id
 SET s.watermark = s.last_due_at, s.watermark_version = h.policy_version
 WHERE h.job_id = ? AND h.state = 'finished' AND h.failed = 0 AND h.skipped = 0 AND (h.refreshed = 0
 OR NOT EXISTS (SELECT 1 FROM {policy} p WHERE p.id = h.policy_id
 AND JSON_UNQUOTE(JSON_EXTRACT(p.options, '$.TTL_FK')) = 'SKIP'))`
	// A job that has come to its end knows which rows it had to leave.
	countUndeletable = `UPDATE {schedule} s JOIN {job_history} h ON s.last_job_id = h.job_id
 SET s.undeletable = (SELECT COALESCE(SUM(t.undeletable), 0) FROM {task} t WHERE t.job_id = h.job_id),
 s.oldest_undeletable = (SELECT MIN(t.oldest_undeletable) FROM {task} t WHERE t.job_id = h.job_id),
 s.undeletable_version = h.policy_version WHERE h.job_id = ? AND h.state = 'finished'`
	selectSchedules = `SELECT policy_id, partition_name, requested_at, requested_by, last_job_id, last_version,
 last_state,
 last_started_at, looked_at, last_finished_at, last_ended_id, last_cutoff, watermark, watermark_version,
 undeletable, oldest_undeletable, undeletable_version FROM {schedule}`
	selectTheseSchedules = selectSchedules + ` WHERE policy_id IN (%s)`
	selectScheduleStamps = `SELECT policy_id, CONCAT_WS(' ', touched_at, revision, partition_name) FROM {schedule}
 ORDER BY policy_id, partition_name`
	// Formatted with the names.
	deleteSchedules = `DELETE FROM {schedule} WHERE policy_id = ? AND partition_name <> '' AND partition_name IN (%s)
 AND NOT EXISTS (SELECT 1 FROM {job} j WHERE j.policy_id = {schedule}.policy_id
 AND j.partition_name = {schedule}.partition_name)`
	requestRun = `UPDATE {schedule} SET requested_at = UTC_TIMESTAMP(6), requested_by = ?, revision = revision + 1
 WHERE policy_id = ? AND partition_name = ''`
	selectRequested = `SELECT requested_at FROM {schedule} WHERE policy_id = ? AND partition_name = ''`
	withdrawRequest = `UPDATE {schedule} SET requested_at = NULL, requested_by = '', revision = revision + 1
 WHERE policy_id = ? AND requested_at IS NOT NULL`
	selectJobPolicies = `SELECT DISTINCT policy_id FROM {job} ORDER BY policy_id`
	selectPolicyGuard = `SELECT 1 FROM DUAL WHERE `

	insertJob = `INSERT INTO {job} (policy_id, policy_version, schema_name, table_name, partition_name, state, reason,
 waits_for, state_at, owner,
 run_at, cutoff, cutoff_literal, floor_literal, trigger_kind, triggered_by, plan, plan_reason, estimated_rows,
 table_rows, usual_rows, bound, inflow,
 oldest_expiry, null_rows, odd_rows, note, created_at)
 VALUES %s`
	jobValues = `(?, ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6), ?, COALESCE(?, UTC_TIMESTAMP(6)), ?, ?, ?, ?, ?, ?, ?, ?, ?,
 ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6))`
	insertTask = `INSERT INTO {task} (job_id, policy_id, seq, state_at, range_start, range_end, cursor_key, allowed,
 error)
 VALUES %s`
	taskValues = `(?, ?, ?, UTC_TIMESTAMP(6), ?, ?, '', ?, '')`

	selectJobPolicy = `SELECT policy_id FROM {job} WHERE id = ?`
	lockJob         = `SELECT state, fence FROM {job} WHERE id = ? FOR UPDATE`
	// Assignments are made from left to right.
	setJobState = `UPDATE {job} j SET j.waited_us = ` + waitedUntilNow + `, j.state = ?, j.reason = ?,
 j.waits_for = ?, j.state_at = UTC_TIMESTAMP(6) WHERE j.id = ?`
	lookAgainAlong = `UPDATE {job} j SET j.waited_us = ` + waitedUntilNow + `, j.state = 'running', j.reason = '',
 j.waits_for = '', j.state_at = UTC_TIMESTAMP(6) WHERE j.policy_id = ? AND j.state = 'paused'
 AND j.waits_for = '` + string(ForPolicy) + `'`
	waitedUntilNow = `j.waited_us
 + IF(j.state = 'running', 0, GREATEST(0, TIMESTAMPDIFF(MICROSECOND, j.state_at, UTC_TIMESTAMP(6))))`
	setJobFacts = `UPDATE {job} SET plan = ?, plan_reason = ?, estimated_rows = ?, table_rows = ?, usual_rows = ?,
 inflow = ?, oldest_expiry = ?, null_rows = ?, odd_rows = ?, note = ?
 WHERE id = ? AND fence = ?`
	leadJob = `UPDATE {job} j SET j.owner = ?, j.fence = j.fence + 1
 WHERE j.id = ? AND (j.owner IS NULL OR j.owner = ? OR NOT EXISTS (` + liveOwner + ` n.id = j.owner))`
	liveOwner = `SELECT 1 FROM {node} n WHERE n.left_at IS NULL AND n.heartbeat_at >= UTC_TIMESTAMP(6) - INTERVAL ?
 MICROSECOND AND`

	// The line of the job before, that of a job that is open or ending: of its table or partition.
	lineBefore = ` FROM {schedule} s JOIN {job_history} h ON h.job_id = s.last_ended_id
 WHERE s.policy_id = j.policy_id AND s.partition_name = j.partition_name`
	// What a finished job found due had expired since the cutoff of the job before, if that one had
	// finished too: all but the rows which that one had to leave. NULL when there was none, or
	// another rule.
	foundDue = `CASE WHEN ? = 'finished' THEN GREATEST(0, CAST(COALESCE(SUM(t.deleted + t.failed + t.skipped), 0) AS
 SIGNED) - CAST((
  SELECT CASE WHEN h.state = 'finished' AND h.policy_version = j.policy_version THEN h.failed + h.skipped END` +
		lineBefore + `) AS SIGNED)) END`
	// The oldest row that was due is still there only if none was deleted, or could have been.
	oldestLeft = `CASE WHEN COALESCE(SUM(t.deleted), 0) = 0 AND NOT (? = 'finished'
 AND COALESCE(SUM(t.failed + t.skipped), 0) = 0) THEN j.oldest_expiry END`
	insertHistory = `INSERT INTO {job_history} (job_id, policy_id, policy_version, schema_name, table_name,
 partition_name, state, reason, run_at, cutoff, since,
 trigger_kind, triggered_by, plan, plan_reason, estimated_rows, inflow, oldest_expiry, null_rows, odd_rows, note,
 created_at, finished_at,
 waited_us, tasks, tasks_finished, examined, deleted, refreshed, failed, skipped)
 SELECT j.id, j.policy_id, j.policy_version, j.schema_name, j.table_name, j.partition_name, ?, ?, j.run_at, j.cutoff,
 (SELECT h.created_at` + lineBefore + `), j.trigger_kind, j.triggered_by, j.plan, j.plan_reason, j.estimated_rows,
 COALESCE(j.inflow, ` + foundDue + `), ` + oldestLeft + `, j.null_rows, j.odd_rows, j.note, j.created_at,
 UTC_TIMESTAMP(6), ` + waitedUntilNow + `, ` + taskTotals + jobsAndTasks + ` WHERE j.id = ? GROUP BY j.id`
	// A line that found nothing absorbs the line before, if that found nothing either, under the
	// same rule, and nobody asked for either of them.
	foldHistory = `UPDATE {job_history} h JOIN {schedule} s ON s.policy_id = h.policy_id
 AND s.partition_name = h.partition_name
 JOIN {job_history} b ON b.job_id = s.last_ended_id
 SET h.since = b.since, h.waited_us = b.waited_us + h.waited_us + ` + betweenLines + `,
 h.runs = b.runs + 1, h.first_id = COALESCE(b.first_id, b.job_id), h.first_at = COALESCE(b.first_at, b.created_at)
 WHERE h.job_id = ? AND b.job_id < h.job_id AND b.policy_version = h.policy_version
 AND h.state = 'finished' AND h.trigger_kind = 'schedule' AND h.inflow = 0
 AND h.deleted + h.refreshed + h.failed + h.skipped = 0
 AND b.state = 'finished' AND b.trigger_kind = 'schedule' AND b.inflow = 0
 AND b.deleted + b.refreshed + b.failed + b.skipped = 0`
	deleteFolded = `DELETE FROM {job_history} WHERE job_id < ? AND job_id = (SELECT s.last_ended_id FROM {schedule} s
 JOIN {job} j ON j.policy_id = s.policy_id AND j.partition_name = s.partition_name WHERE j.id = ?)`

	betweenLines = `GREATEST(0, TIMESTAMPDIFF(MICROSECOND, b.finished_at, h.created_at))`
	// The line of the job that ended before an open one (h), the line before that (b), and whether
	// the first may take in the second: jobs of one rule that came to their end, so soon one after
	// the other that nobody wants to see each.
	selectLinesBefore = `SELECT h.job_id, b.job_id, h.policy_version = b.policy_version AND h.plan = b.plan
 AND h.state = 'finished' AND h.trigger_kind = 'schedule' AND h.failed + h.skipped = 0
 AND b.state = 'finished' AND b.trigger_kind = 'schedule' AND b.failed + b.skipped = 0
 AND b.since IS NOT NULL AND (h.inflow IS NULL) = (b.inflow IS NULL)
 AND b.run_at > h.run_at - INTERVAL ? MICROSECOND
 AND COALESCE(b.first_at, b.created_at) > h.created_at - INTERVAL ? MICROSECOND
 FROM {job} j JOIN {schedule} s ON s.policy_id = j.policy_id AND s.partition_name = j.partition_name
 JOIN {job_history} h ON h.job_id = s.last_ended_id
 JOIN {job_history} b ON b.schema_name = h.schema_name AND b.table_name = h.table_name
 AND b.finished_at > h.run_at - INTERVAL ? MICROSECOND
 AND b.partition_name = h.partition_name AND b.policy_id = h.policy_id AND b.job_id < h.job_id
 WHERE j.id = ? ORDER BY b.finished_at DESC, b.job_id DESC LIMIT 1`
	mergeLines = `UPDATE {job_history} h JOIN {job_history} b ON b.job_id = ?
 SET h.since = b.since, h.waited_us = b.waited_us + h.waited_us + ` + betweenLines + `,
 h.runs = b.runs + h.runs, h.first_id = COALESCE(b.first_id, b.job_id),
 h.first_at = COALESCE(b.first_at, b.created_at), h.estimated_rows = b.estimated_rows + h.estimated_rows,
 h.inflow = b.inflow + h.inflow, h.tasks = b.tasks + h.tasks, h.tasks_finished = b.tasks_finished + h.tasks_finished,
 h.examined = b.examined + h.examined, h.deleted = b.deleted + h.deleted, h.refreshed = b.refreshed + h.refreshed
 WHERE h.job_id = ?`
	deleteLine = `DELETE FROM {job_history} WHERE job_id = ?`

	// A consent is used up by the first run that finishes after it, with those before that did not.
	addToRun = `INSERT INTO {run} (policy_id, run_at, deleted, finished, finished_at, exactly)
 SELECT h.policy_id, h.run_at, h.deleted, h.state = 'finished', h.finished_at, COALESCE((
  SELECT p.approved_exactly AND h.finished_at > p.approved_at AND NOT EXISTS (SELECT 1 FROM {run} r
   WHERE r.policy_id = h.policy_id AND r.run_at < h.run_at AND r.finished AND r.finished_at > p.approved_at)
  FROM {policy} p WHERE p.id = h.policy_id), FALSE)
 FROM {job_history} h WHERE h.job_id = ? AND h.run_at IS NOT NULL
 ON DUPLICATE KEY UPDATE deleted = {run}.deleted + VALUES(deleted), finished = {run}.finished AND
 VALUES(finished), finished_at = VALUES(finished_at), exactly = {run}.exactly OR VALUES(exactly)`
	// Not for a policy that is gone.
	insertLook = `INSERT IGNORE INTO {run} (policy_id, run_at, deleted, finished, finished_at)
 SELECT ?, ?, 0, TRUE, ? FROM {policy} WHERE id = ?`
	// Formatted with policies.
	tellLooked = `UPDATE {schedule} SET looked_at = GREATEST(COALESCE(looked_at, 0), ?),
 watermark = IF(watermark_version = last_version, GREATEST(watermark, ?), watermark),
 undeletable = IF(undeletable_version = last_version, 0, undeletable),
 oldest_undeletable = IF(undeletable_version = last_version, NULL, oldest_undeletable)
 WHERE partition_name = '' AND last_state = 'finished' AND policy_id IN (%s)`
	selectRunsBefore = `SELECT r.policy_id, r.run_at, r.finished AND r.deleted = 0 FROM {job_history} h
 JOIN {run} r ON r.policy_id = h.policy_id AND r.run_at < h.run_at WHERE h.job_id = ? ORDER BY r.run_at DESC LIMIT 3`
	deleteRun  = `DELETE FROM {run} WHERE policy_id = ? AND run_at = ?`
	selectRuns = `SELECT run_at, deleted, finished, finished_at, exactly FROM {run} WHERE policy_id = ?
 ORDER BY run_at DESC LIMIT ?`

	deleteTasks = `DELETE FROM {task} WHERE job_id = ?`
	deleteJob   = `DELETE FROM {job} WHERE id = ?`

	approveJobs = `UPDATE {job} j SET j.waited_us = ` + waitedUntilNow + `, j.state = 'running', j.reason = '',
 j.state_at = UTC_TIMESTAMP(6) WHERE j.policy_id = ? AND j.state = 'needs approval'`
	selectSameState = `SELECT state = ? AND state_at = ? FROM {job} WHERE id = ?`
	askApproval     = `UPDATE {job} j
 SET j.waited_us = ` + waitedUntilNow + `, j.state = 'needs approval', j.reason =
 ?, j.waits_for = '',
 j.estimated_rows = ?, j.state_at = UTC_TIMESTAMP(6) WHERE j.id = ?`
	recountJob    = `UPDATE {job} SET reason = ?, estimated_rows = ? WHERE id = ?`
	askAnew       = `UPDATE {task} SET allowed = deleted WHERE policy_id = ? AND state <> 'finished'`
	boundJobs     = `UPDATE {job} SET bound = ? WHERE policy_id = ?`
	raiseBound    = `UPDATE {job} SET bound = GREATEST(bound, ?) WHERE policy_id = ?` // NULL stays NULL
	selectWaiting = `SELECT COUNT(*), CAST(COALESCE(SUM(GREATEST(CAST(j.estimated_rows AS SIGNED)
 - (SELECT COALESCE(SUM(t.deleted), 0) FROM {task} t WHERE t.job_id = j.id), 0)), 0) AS UNSIGNED), MAX(j.bound)
 FROM {job} j WHERE j.policy_id = ? AND j.state = 'needs approval'`
	lockBound      = `SELECT bound FROM {job} WHERE id = ? FOR UPDATE`
	lockAllowances = `SELECT id, fence, state = 'finished', deleted, allowed FROM {task} WHERE policy_id = ?
 ORDER BY id FOR UPDATE`
	setAllowed = `UPDATE {task} SET allowed = ? WHERE id = ?`
	// Some partitions of a run may have ended.
	selectRunDeleted = `SELECT CAST((SELECT COALESCE(SUM(deleted), 0) FROM {task} WHERE policy_id = ?)
 + COALESCE((SELECT deleted FROM {run} WHERE policy_id = ? AND run_at = (SELECT MAX(run_at) FROM {job}
 WHERE policy_id = ?)), 0) AS UNSIGNED)`
)

// Tasks, in the order of scanTask.
const (
	taskColumns = `t.id, t.job_id, t.policy_id, t.seq, t.state, t.state_at, t.owner, t.fence, t.batch, t.connection,
 t.server,
 t.range_start, t.range_end, t.cursor_key, t.examined, t.deleted, t.refreshed, t.failed, t.skipped, t.allowed, t.error
 FROM {task} t`
	selectTasks    = `SELECT ` + taskColumns + ` ORDER BY t.job_id, t.seq`
	selectJobTasks = `SELECT ` + taskColumns + ` WHERE t.job_id = ? ORDER BY t.seq`
	selectTask     = `SELECT ` + taskColumns + ` WHERE t.id = ?`
	selectTasksOf  = `SELECT ` + taskColumns + ` WHERE t.owner = ? AND t.state = 'running'`

	selectClaimable = `SELECT t.id, t.fence, t.policy_id, j.policy_version FROM {task} t JOIN {job} j ON j.id = t.job_id
 JOIN {policy} p ON p.id = t.policy_id AND p.version = j.policy_version AND p.armed
 JOIN {pause} z ON z.policy_id = p.id AND NOT (z.paused AND (z.until IS NULL OR z.until > UTC_TIMESTAMP(6)))
 WHERE (t.state = 'waiting' OR t.state = 'running' AND NOT EXISTS (` + liveOwner + ` n.id = t.owner))
 AND j.state = 'running'`
	anyJob = ` ORDER BY t.job_id, t.seq LIMIT 1`
	// Formatted with a list of ids: the task comes from the first of the jobs that has one.
	theseJobs    = ` AND j.id IN (%[1]s) ORDER BY FIELD(j.id, %[1]s), t.seq LIMIT 1`
	lockClaims   = `INSERT INTO {lease} (name, fence) VALUES ('claim', 1) ON DUPLICATE KEY UPDATE fence = fence + 1`
	countRunning = `SELECT COUNT(*) FROM {task} WHERE state = 'running'`
	claimTask    = `UPDATE {task} SET state = 'running', state_at = UTC_TIMESTAMP(6), owner = ?, fence = fence + 1,
 connection = ?, server = ?
 WHERE id = ? AND fence = ? AND state <> 'finished' AND `
	// underSettings follows claimTask and its guard.
	underSettings = ` AND ` + settingsRevision + ` = ?`
	bindTask      = `UPDATE {task} SET connection = ?, server = ? WHERE id = ? AND fence = ? AND state = 'running'`
	releaseTask   = `UPDATE {task} SET state = 'waiting', state_at = UTC_TIMESTAMP(6), owner = NULL, fence = fence + 1,
 connection = NULL,
 server = NULL, error = ? WHERE id = ? AND fence = ? AND state = 'running'`
	finishTask = `UPDATE {task} SET state = 'finished', state_at = UTC_TIMESTAMP(6), owner = NULL, fence = fence + 1,
 connection = NULL,
 server = NULL WHERE id = ? AND fence = ? AND state = 'running'`
	restartTasks = `UPDATE {task} SET state = 'waiting', state_at = UTC_TIMESTAMP(6), owner = NULL, fence = fence + 1,
 connection = NULL,
 server = NULL WHERE job_id = ? AND state <> 'finished'`
)

// History and error rows.
const (
	historyColumns = historyOfJob + ` FROM {job_history} h`
	historyOfJob   = `h.job_id, h.policy_id, h.policy_version, h.schema_name, h.table_name, h.partition_name, h.state,
 h.reason, h.cutoff, h.trigger_kind, h.triggered_by, h.plan, h.plan_reason, h.estimated_rows, h.inflow, h.oldest_expiry,
 h.null_rows, h.odd_rows, h.note,
 h.created_at, h.finished_at, h.waited_us, h.runs, h.first_at, h.tasks, h.tasks_finished,
 h.examined, h.deleted, h.refreshed, h.failed, h.skipped`
	// Formatted with more conditions.
	selectHistory = `SELECT ` + historyColumns + ` WHERE (? = '' OR h.schema_name = ?)
 AND (? = '' OR h.table_name = ?)%s ORDER BY h.finished_at DESC, h.job_id DESC LIMIT ?`
	// All that a condition can name is part of the index: only lines that are shown are read.
	selectTableHistory = `SELECT ` + historyOfJob + ` FROM (SELECT h.job_id FROM {job_history} h
 WHERE h.schema_name = ? AND h.table_name = ?%s ORDER BY h.finished_at DESC, h.job_id DESC LIMIT ?) shown
 STRAIGHT_JOIN {job_history} h ON h.job_id = shown.job_id ORDER BY h.finished_at DESC, h.job_id DESC`
	selectEndedJob = `SELECT ` + historyColumns + ` WHERE h.job_id = ?`
	// The line that has taken in that of a job.
	selectFoldedJob = `SELECT ` + historyColumns + ` WHERE h.job_id > ? AND h.first_id <= ? AND h.policy_id = ?
 AND h.partition_name = ?
 ORDER BY h.job_id LIMIT 1`
	// Formatted with policies. The schedules first, whatever the server thinks of its statistics:
	// one line for each.
	selectLastJobs = `SELECT ` + historyOfJob + ` FROM {schedule} s
 STRAIGHT_JOIN {job_history} h ON h.job_id = s.last_ended_id WHERE s.policy_id IN (%s)`
	upsertRowError = `INSERT INTO {row_error} (policy_id, partition_name, key_hash, row_key, error_number, reason,
 expired_at, first_at, last_at, next_try_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
 ON DUPLICATE KEY UPDATE error_number = VALUES(error_number), reason = VALUES(reason), attempts = attempts + 1,
 expired_at = VALUES(expired_at), last_at = VALUES(last_at), next_try_at = VALUES(next_try_at)`
	selectRowErrorAttempts = `SELECT attempts FROM {row_error} WHERE policy_id = ? AND partition_name = ?
 AND key_hash = ?`
	selectRowErrors = `SELECT e.policy_id, p.schema_name, p.table_name, e.partition_name, e.row_key,
 e.error_number, e.reason, e.attempts,
 e.first_at, e.last_at, e.next_try_at FROM {row_error} e JOIN {policy} p ON p.id = e.policy_id
 WHERE (? = '' OR p.schema_name = ?) AND (? = '' OR p.table_name = ?) ORDER BY e.last_at DESC, e.id DESC LIMIT ?`
	selectRestingRows = `SELECT row_key, expired_at FROM {row_error} WHERE policy_id = ? AND partition_name = ?
 AND next_try_at > UTC_TIMESTAMP(6) LIMIT ?`
	// Formatted with hashes of keys.
	selectRestingAmong = `SELECT row_key, expired_at FROM {row_error} WHERE policy_id = ? AND partition_name = ?
 AND (? OR next_try_at > UTC_TIMESTAMP(6)) AND key_hash IN (%s)`
	selectRowsNotTried = `SELECT row_key FROM {row_error} WHERE policy_id = ? AND partition_name = ? AND last_at < ?
 ORDER BY id LIMIT 100000`
	deleteRowErrors = `DELETE FROM {row_error} WHERE policy_id = ? AND partition_name = ? AND key_hash IN `
	selectEvents    = `SELECT id, at, kind, policy_id, policy_version, schema_name, table_name, actor, text
 FROM {event}
 WHERE (? = '' OR schema_name = ?) AND (? = '' OR table_name = ?) ORDER BY id DESC LIMIT ?`
)

// Housekeeping.
const (
	deleteOldHistory = `DELETE FROM {job_history} WHERE finished_at < UTC_TIMESTAMP(6) - INTERVAL ? DAY LIMIT 1000`
	// Runs beyond those that are read: all of them where the policy has been gone for days.
	selectManyRuns = `SELECT r.policy_id, COUNT(*) - IF(p.id IS NULL AND MAX(r.finished_at) < UTC_TIMESTAMP(6)
 - INTERVAL ? DAY, 0, ?) AS beyond FROM {run} r LEFT JOIN {policy} p ON p.id = r.policy_id
 GROUP BY r.policy_id, p.id HAVING beyond > 0`
	deleteFirstRuns    = `DELETE FROM {run} WHERE policy_id = ? ORDER BY run_at LIMIT ?`
	deleteOldEvents    = `DELETE FROM {event} WHERE at < UTC_TIMESTAMP(6) - INTERVAL ? DAY LIMIT 1000`
	deleteOldNodes     = `DELETE FROM {node} WHERE heartbeat_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY LIMIT 1000`
	deleteOldRowErrors = `DELETE FROM {row_error} WHERE last_at < UTC_TIMESTAMP(6) - INTERVAL ? DAY
 AND next_try_at < UTC_TIMESTAMP(6) LIMIT 1000`
	selectVanished = `SELECT ` + policyColumns + ` WHERE p.state = 'disarmed'
 AND p.state_at < UTC_TIMESTAMP(6) - INTERVAL ? DAY`
	// Those of partitions that the table's runs have passed over for days. The last run of a table counts, however
	// long ago it was: by it the next one is due.
	deleteOldSchedules = `DELETE FROM {schedule} WHERE partition_name <> '' AND last_started_at < (
  SELECT l.run_at FROM (SELECT policy_id, MAX(last_started_at) AS run_at FROM {schedule} GROUP BY policy_id) l
  WHERE l.policy_id = {schedule}.policy_id) - INTERVAL ? DAY
 AND NOT EXISTS (SELECT 1 FROM {job} j WHERE j.policy_id = {schedule}.policy_id
 AND j.partition_name = {schedule}.partition_name) LIMIT 1000`
)
