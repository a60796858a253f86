-- How fast rows may be deleted now, and by what signals: one row for each node that measures any.

CREATE TABLE IF NOT EXISTS throttle (
  node_id     BIGINT UNSIGNED NOT NULL,
  share       DOUBLE          NULL COMMENT 'of their full speed at which all nodes may delete; NULL if this node does not decide it',
  held_by     TEXT            NOT NULL COMMENT 'the signal that keeps the share below 1',
  content     JSON            NOT NULL COMMENT 'what each signal says',
  measured_at DATETIME(6)     NOT NULL,
  PRIMARY KEY (node_id),
  CONSTRAINT throttle_share CHECK (share BETWEEN 0 AND 1)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
