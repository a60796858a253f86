-- How many rows a run may delete. Every batch adds to "deleted" of its task, and the server refuses the one that would exceed "allowed":
-- that holds for a node that was frozen, too.

ALTER TABLE policy
  ADD COLUMN approved_rows BIGINT UNSIGNED NULL COMMENT 'rows that were approved; NULL for what the next run finds' AFTER approved_at,
  ADD COLUMN approved_exactly BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'a person named the number: UP TO n ROWS' AFTER approved_rows;

ALTER TABLE job
  ADD COLUMN run_at DATETIME(6) NULL COMMENT 'when its run began: the same for all partitions' AFTER cutoff,
  ADD COLUMN usual_rows BIGINT UNSIGNED NULL COMMENT 'rows of the whole table that are usually due by then' AFTER table_rows,
  ADD COLUMN bound BIGINT UNSIGNED NULL COMMENT 'rows that the run may delete, of all partitions together; NULL for any number' AFTER usual_rows;

ALTER TABLE task
  ADD COLUMN allowed BIGINT UNSIGNED NULL COMMENT 'its share of the bound so far; NULL for any number' AFTER deleted,
  ADD CONSTRAINT task_allowed CHECK (deleted <= allowed);

ALTER TABLE job_history
  ADD COLUMN run_at DATETIME(6) NULL COMMENT 'when its run began: the same for all partitions' AFTER cutoff,
  ADD KEY job_history_run (policy_id, run_at);
