-- What a partition has become is found again although nobody noted that it left: it has the id of the partition. And
-- on MySQL the partition has that of the empty table against which it was exchanged.

ALTER TABLE departure
  ADD COLUMN from_id  BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of InnoDB, of the partition before it left; 0 if that is not known',
  ADD COLUMN empty_id BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of InnoDB, of the empty table that is exchanged for it; 0 for none',
  ADD COLUMN about    BOOLEAN         NOT NULL DEFAULT FALSE COMMENT 'due is what the server believed, not a count';
