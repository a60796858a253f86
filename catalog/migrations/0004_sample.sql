-- What the charts of the status page are drawn from: one row a node and minute, kept for two days.

CREATE TABLE IF NOT EXISTS sample (
  at      DATETIME(3)     NOT NULL COMMENT 'end of the time it tells about',
  node_id BIGINT UNSIGNED NOT NULL,
  seconds DOUBLE          NOT NULL COMMENT 'length of that time',
  content JSON            NOT NULL COMMENT 'rows by result, seconds of workers by phase, throttle signals and thresholds',
  PRIMARY KEY (at, node_id),
  CONSTRAINT sample_length CHECK (seconds > 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
