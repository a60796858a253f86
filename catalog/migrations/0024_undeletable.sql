-- How many rows have expired and cannot go, and since when: because something objects, or other rows need them.

ALTER TABLE task
  ADD COLUMN undeletable BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'have expired and cannot go: see row_error, or other rows need them' AFTER skipped,
  ADD COLUMN oldest_undeletable DATETIME(6) NULL COMMENT 'when the first of them expired' AFTER undeletable;

ALTER TABLE schedule
  ADD COLUMN undeletable BIGINT UNSIGNED NULL COMMENT 'rows that the last finished job found expired and could not delete' AFTER watermark_version,
  ADD COLUMN oldest_undeletable DATETIME(6) NULL COMMENT 'when the first of them expired' AFTER undeletable,
  ADD COLUMN undeletable_version BIGINT UNSIGNED NULL COMMENT 'policy version that they are about' AFTER oldest_undeletable;

ALTER TABLE row_error ADD COLUMN expired_at DATETIME(6) NULL COMMENT 'when the row expired' AFTER reason;
