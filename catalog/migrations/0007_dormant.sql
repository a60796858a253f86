-- What a dormant policy knows of where it comes from: the name decides what becomes of it.

CREATE TABLE IF NOT EXISTS dormant (
  policy_id      BIGINT UNSIGNED NOT NULL,
  origin         BIGINT UNSIGNED NOT NULL DEFAULT 0  COMMENT 'the policy that this one is a copy of; 0 for none',
  origin_version BIGINT UNSIGNED NOT NULL DEFAULT 0  COMMENT 'its version when it was copied',
  origin_column  VARCHAR(64)     NOT NULL DEFAULT '' COMMENT 'its TTL column when it was copied; what that is called in the copy says the policy',
  home_schema    VARCHAR(64)     NOT NULL DEFAULT '' COMMENT 'the name that the table has left with this policy; empty for a copy',
  home_table     VARCHAR(64)     NOT NULL DEFAULT '',
  home_state     VARCHAR(16)     NOT NULL DEFAULT '' COMMENT 'state under that name',
  home_reason    TEXT            NOT NULL,
  home_approved  BOOLEAN         NOT NULL DEFAULT FALSE COMMENT 'whether it was approved there',
  PRIMARY KEY (policy_id),
  KEY dormant_origin (origin),
  CONSTRAINT dormant_policy FOREIGN KEY (policy_id) REFERENCES policy (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
