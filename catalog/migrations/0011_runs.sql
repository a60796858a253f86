-- Jobs that found nothing, one after the other, are one line of the history; and what a table usually expires is told by its runs.

CREATE TABLE IF NOT EXISTS run (
  policy_id   BIGINT UNSIGNED NOT NULL,
  run_at      DATETIME(6)     NOT NULL COMMENT 'when it began: the same for all partitions',
  deleted     BIGINT UNSIGNED NOT NULL,
  finished    BOOLEAN         NOT NULL COMMENT 'every job of it came to its end, as far as they have ended',
  finished_at DATETIME(6)     NOT NULL COMMENT 'end of the last job so far',
  PRIMARY KEY (policy_id, run_at),
  KEY run_finished (finished_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO run SELECT policy_id, run_at, SUM(deleted), MIN(state = 'finished'), MAX(finished_at)
  FROM job_history WHERE run_at IS NOT NULL GROUP BY policy_id, run_at;

ALTER TABLE job_history
  ADD COLUMN runs BIGINT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'jobs that the line stands for: those before the last one found nothing either' AFTER finished_at,
  ADD COLUMN first_id BIGINT UNSIGNED NULL COMMENT 'the first of them; NULL when it is the only one' AFTER runs,
  ADD COLUMN first_at DATETIME(6) NULL COMMENT 'when that one began' AFTER first_id,
  DROP KEY job_history_run;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW history AS
SELECT h.job_id AS job,
  CONCAT(h.schema_name, '.', h.table_name) AS `table`,
  h.partition_name AS `partition`,
  h.state,
  h.reason,
  h.cutoff AS `cutoff (UTC)`,
  h.deleted,
  h.refreshed,
  h.failed,
  h.skipped,
  h.examined,
  h.created_at AS `started (UTC)`,
  h.finished_at AS `finished (UTC)`,
  h.runs,
  COALESCE(h.first_at, h.created_at) AS `first started (UTC)`,
  h.plan,
  h.plan_reason AS `plan reason`
FROM job_history h
ORDER BY h.finished_at DESC;
