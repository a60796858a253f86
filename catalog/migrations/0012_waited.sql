-- How fast a job is, is told by the time in which it ran: not by that in which it was paused, outside its window or without approval.

ALTER TABLE job
  ADD COLUMN waited_us BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'microseconds in which it did not run, up to state_at' AFTER state_at;

ALTER TABLE job_history
  ADD COLUMN waited_us BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'microseconds in which it did not run' AFTER finished_at;
