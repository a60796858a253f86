-- How busy the server is shows in how long clients wait, as each proxy counts it, and in how long a small change takes.

CREATE TABLE IF NOT EXISTS latency (
  node_id     BIGINT UNSIGNED NOT NULL,
  content     JSON            NOT NULL COMMENT 'commands of its clients since it started, by the microseconds that they took at most',
  measured_at DATETIME(6)     NOT NULL,
  PRIMARY KEY (node_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS probe (
  id     TINYINT UNSIGNED NOT NULL,
  number BIGINT UNSIGNED  NOT NULL COMMENT 'how often this row was changed',
  PRIMARY KEY (id),
  CONSTRAINT probe_single CHECK (id = 1)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
