-- What decides is a word, not a sentence that somebody may mend; and the job that ended last is found without reading the history.

UPDATE policy_identity SET held = 'first sight' WHERE held LIKE 'this server sees the table for the first time%';

UPDATE schedule SET requested_by = 'replan' WHERE requested_by = 'engine, to plan anew';

UPDATE job SET triggered_by = 'replan' WHERE triggered_by = 'engine, to plan anew';

UPDATE job_history SET triggered_by = 'replan' WHERE triggered_by = 'engine, to plan anew';

ALTER TABLE schedule ADD COLUMN last_ended_id BIGINT UNSIGNED NULL COMMENT 'the job that ended last: in job_history, until it is cleared away' AFTER last_job_id;

UPDATE schedule s JOIN (SELECT policy_id, partition_name, MAX(job_id) AS job_id FROM job_history GROUP BY policy_id, partition_name) h
  ON h.policy_id = s.policy_id AND h.partition_name = s.partition_name
SET s.last_ended_id = h.job_id WHERE s.last_ended_id IS NULL;

CREATE INDEX job_history_ended ON job_history (schema_name, table_name, finished_at, job_id);
