-- The chart of what becomes due is drawn from each job's own line: no line before it has to be found.

ALTER TABLE job_history
  ADD COLUMN since DATETIME(6) NULL COMMENT 'when the job before began: the inflow became due from then on' AFTER cutoff;

UPDATE job_history h JOIN (
    SELECT job_id, LAG(created_at) OVER (PARTITION BY policy_id, partition_name ORDER BY job_id) AS since
    FROM job_history WHERE finished_at >= UTC_TIMESTAMP() - INTERVAL 4 DAY
  ) b ON b.job_id = h.job_id
SET h.since = b.since WHERE h.since IS NULL AND b.since IS NOT NULL;
