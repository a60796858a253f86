-- Tables whose rows should go within seconds are looked at first: if nothing is due, there is no job.

ALTER TABLE schedule
  ADD COLUMN looked_at DATETIME(6) NULL COMMENT 'when nothing was due, so that no job was needed' AFTER last_started_at;
