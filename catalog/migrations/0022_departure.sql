-- Partitions that go whole (TTL_PARTITION): one row for each, of the last attempt. The engine locks this table together with the user's, so it
-- has no foreign keys, which would lock others along.

CREATE TABLE IF NOT EXISTS departure (
  policy_id      BIGINT UNSIGNED NOT NULL,
  partition_name VARCHAR(64)     NOT NULL,
  how            VARCHAR(16)     NOT NULL COMMENT 'the value of TTL_PARTITION',
  job_id         BIGINT UNSIGNED NOT NULL,
  task_id        BIGINT UNSIGNED NOT NULL,
  fence          BIGINT UNSIGNED NOT NULL COMMENT 'of the task: names one attempt',
  server         VARCHAR(320)    NOT NULL COMMENT 'on which it is made: lineage.server',
  due            BIGINT UNSIGNED NOT NULL COMMENT 'rows that were counted, all of them expired',
  state          VARCHAR(16)     NOT NULL,
  state_at       DATETIME(6)     NOT NULL,
  reason         TEXT            NOT NULL COMMENT 'why it waits, or was refused, in words',
  create_time    DATETIME        NULL     COMMENT 'of the table, when the partition was gone',
  table_id       BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of InnoDB, of the partition afterwards; 0 for none',
  moves          BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'how often it has gone',
  PRIMARY KEY (policy_id, partition_name),
  KEY departure_job (job_id),
  CONSTRAINT departure_state_known CHECK (state IN ('ready', 'barred', 'waits', 'refused', 'taken', 'settled')),
  CONSTRAINT departure_how_known   CHECK (how IN ('DROP', 'TRUNCATE', 'EXCHANGE'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
