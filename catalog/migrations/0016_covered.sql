-- Conditions on the history of a table are judged by its index: a line is read only if it is shown.

ALTER TABLE job_history
  DROP KEY job_history_table,
  DROP KEY job_history_ended,
  ADD KEY job_history_ended (schema_name, table_name, finished_at, job_id, state, partition_name, plan, runs, deleted, refreshed, failed, skipped, examined, estimated_rows, inflow);
