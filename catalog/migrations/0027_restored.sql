-- Partitions that come back from the table that they have become (RESTORE TTL PARTITION): where one ended, and that it has come back. Partitions
-- that are made before they are needed have a row, too, without a name.

ALTER TABLE departure
  ADD COLUMN bound VARCHAR(1024) NOT NULL DEFAULT '' COMMENT 'where the partition ended, as the server writes it',
  DROP CONSTRAINT departure_state_known,
  ADD CONSTRAINT departure_state_known
    CHECK (state IN ('ready', 'barred', 'waits', 'refused', 'taken', 'settled', 'kept', 'ending', 'restored')),
  DROP CONSTRAINT departure_how_known,
  ADD CONSTRAINT departure_how_known CHECK (how IN ('DROP', 'TRUNCATE', 'EXCHANGE', 'AHEAD'));
