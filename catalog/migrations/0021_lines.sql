-- A line of the history stands for all jobs that began soon one after the other, whatever they found.

ALTER TABLE job_history
  MODIFY COLUMN runs BIGINT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'jobs that the line stands for: this one, and some just before it';
