-- Partitions that are kept as tables for a time (TTL_PARTITION = 'EXCHANGE'): nothing is dropped but what is written here, with the id it had.

ALTER TABLE departure
  ADD COLUMN side_schema VARCHAR(64)     NOT NULL DEFAULT '' COMMENT 'of the table that the partition has become',
  ADD COLUMN side_name   VARCHAR(64)     NOT NULL DEFAULT '' COMMENT 'empty for none',
  ADD COLUMN side_id     BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of InnoDB',
  ADD COLUMN grace       BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'seconds for which it is kept',
  ADD COLUMN keep_until  DATETIME(6)     NULL,
  DROP CONSTRAINT departure_state_known,
  ADD CONSTRAINT departure_state_known CHECK (state IN ('ready', 'barred', 'waits', 'refused', 'taken', 'settled', 'kept', 'ending'));
