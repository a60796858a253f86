-- Those who look all the time read again what has been written since: the server says so itself, whoever writes.

ALTER TABLE policy
  ADD COLUMN touched_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6) COMMENT 'when the row was last written';

ALTER TABLE schedule
  ADD COLUMN touched_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6) COMMENT 'when the row was last written';
