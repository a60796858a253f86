-- What TTL_PLAN = 'QUEUE' has written down: when the rows of a table expire, as a census has seen them. Hints only:
-- whether a row goes is decided by its own date, in the statement that deletes it.

CREATE TABLE IF NOT EXISTS expiry_queue (
  id             BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  policy_id      BIGINT UNSIGNED NULL COMMENT 'none once nobody needs the queue: then its entries are removed',
  partition_name VARCHAR(64)     NOT NULL DEFAULT '',
  shape          CHAR(64)        NOT NULL COMMENT 'SHA-256 of what its entries depend on: the table, its key, its TTL column',
  shards         INT UNSIGNED    NOT NULL COMMENT 'all entries are in shards below this one',
  census_job     BIGINT UNSIGNED NULL COMMENT 'the job that took the last census, until it is known how it ended',
  census_at      DATETIME(6)     NULL COMMENT 'when the last census began that came to its end',
  used_at        DATETIME(6)     NOT NULL COMMENT 'when a job was last planned by it',
  PRIMARY KEY (id),
  UNIQUE KEY expiry_queue_of (policy_id, partition_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS expiry_entry (
  queue_id BIGINT UNSIGNED   NOT NULL,
  shard    SMALLINT UNSIGNED NOT NULL COMMENT 'by the hash of the key',
  dated    DATETIME(6)       NOT NULL COMMENT 'the TTL column of the row, as it was seen',
  key_hash BINARY(16)        NOT NULL COMMENT 'of SHA-256 of row_key',
  row_key  TEXT              NOT NULL COMMENT 'key as JSON',
  PRIMARY KEY (queue_id, shard, dated, key_hash)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
