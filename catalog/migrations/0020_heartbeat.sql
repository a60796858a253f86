-- How far replicas are behind is told by a row that gets a number twice a second while rows are deleted.

CREATE TABLE IF NOT EXISTS heartbeat (
  id        TINYINT UNSIGNED NOT NULL,
  token     VARCHAR(64)      NOT NULL COMMENT 'known to the process that beats: a replica that shows it replicates from this server',
  number    BIGINT UNSIGNED  NOT NULL,
  beaten_at DATETIME(6)      NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT heartbeat_single CHECK (id = 1)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
