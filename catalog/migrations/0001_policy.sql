-- What is to be deleted: the policies, the tables they belong to, and what stops them.

CREATE TABLE IF NOT EXISTS policy (
  id                BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  version           BIGINT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'counts every change; a batch deletes only under the version it was planned for',
  schema_name       VARCHAR(64)     NOT NULL,
  table_name        VARCHAR(64)     NOT NULL,
  column_name       VARCHAR(64)     NOT NULL COMMENT 'as declared in the table',
  interval_literal  VARCHAR(255)    NOT NULL COMMENT 'the SQL literal as written',
  interval_unit     VARCHAR(32)     NOT NULL,
  enabled           BOOLEAN         NOT NULL DEFAULT TRUE COMMENT 'TTL_ENABLE',
  job_interval      VARCHAR(255)    NOT NULL COMMENT 'TTL_JOB_INTERVAL, verbatim',
  time_zone         VARCHAR(64)     NOT NULL DEFAULT '' COMMENT 'zone of DATETIME and DATE values; empty for TIMESTAMP',
  zone_source       VARCHAR(8)      NOT NULL DEFAULT 'server',
  options           JSON            NOT NULL COMMENT 'extension options, name to value',
  state             VARCHAR(16)     NOT NULL,
  reason            TEXT            NOT NULL COMMENT 'why it is in this state, in words',
  state_at          DATETIME(6)     NOT NULL,
  armed             BOOLEAN GENERATED ALWAYS AS (state = 'armed' AND enabled) STORED COMMENT 'rows may be deleted',
  column_signature  MEDIUMTEXT      NOT NULL COMMENT 'the columns when the policy was armed; empty before the first sight',
  primary_key       TEXT            NOT NULL COMMENT 'the key when the policy was armed',
  approval_required BOOLEAN         NOT NULL DEFAULT FALSE COMMENT 'waits for APPROVE whatever the brake says, as after a restore',
  approved_version  BIGINT UNSIGNED NULL     COMMENT 'the last version approved by a person or passed by the brake',
  approved_by       VARCHAR(288)    NOT NULL DEFAULT '',
  approved_at       DATETIME(6)     NULL,
  stage_server      VARCHAR(320)    NULL     COMMENT 'server of the client whose DDL is in flight',
  stage_boot        DATETIME(6)     NULL     COMMENT 'when that server started',
  stage_connection  BIGINT UNSIGNED NULL     COMMENT 'the connection on that server',
  stage_node        BIGINT UNSIGNED NULL     COMMENT 'the proxy that forwards the DDL',
  stage_at          DATETIME(6)     NULL,
  stage_intent      JSON            NULL     COMMENT 'what the DDL will make of this policy',
  owner             VARCHAR(288)    NOT NULL DEFAULT '' COMMENT 'account that declared the policy',
  created_at        DATETIME(6)     NOT NULL,
  changed_at        DATETIME(6)     NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY policy_table (schema_name, table_name),
  CONSTRAINT policy_state_known    CHECK (state IN ('armed', 'staged', 'stopped', 'dormant', 'disarmed')),
  CONSTRAINT policy_zone_source    CHECK (zone_source IN ('table', 'setting', 'server')),
  CONSTRAINT policy_disarmed_why   CHECK (state NOT IN ('disarmed', 'dormant') OR reason <> ''),
  CONSTRAINT policy_staged_by_whom CHECK ((state IN ('staged', 'stopped')) = (stage_server IS NOT NULL)),
  CONSTRAINT policy_approval       CHECK (approved_version IS NULL OR approved_version <= version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS policy_identity (
  policy_id       BIGINT UNSIGNED NOT NULL,
  partition_name  VARCHAR(64)     NOT NULL DEFAULT '' COMMENT 'empty for the table as a whole',
  server          VARCHAR(320)    NOT NULL COMMENT 'identities are per server: lineage.server',
  innodb_table_id BIGINT UNSIGNED NOT NULL COMMENT '0 when the account may not see it',
  create_time     DATETIME        NULL     COMMENT 'information_schema CREATE_TIME in UTC',
  held            TEXT            NULL     COMMENT 'why this partition is held; NULL when it is not',
  seen_at         DATETIME(6)     NOT NULL,
  PRIMARY KEY (policy_id, partition_name, server),
  CONSTRAINT policy_identity_policy FOREIGN KEY (policy_id) REFERENCES policy (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One row per policy, and row 0 for all of them. The rows always exist, so that a batch can lock "not paused".
CREATE TABLE IF NOT EXISTS pause (
  policy_id   BIGINT UNSIGNED NOT NULL COMMENT '0 pauses every policy',
  paused      BOOLEAN         NOT NULL DEFAULT FALSE COMMENT 'PAUSE TTL',
  held        BOOLEAN         NOT NULL DEFAULT FALSE COMMENT 'row 0 only: the server is not the one the catalog knows; TRUST TTL SERVER lifts it',
  reason      TEXT            NOT NULL,
  paused_by   VARCHAR(288)    NOT NULL DEFAULT '',
  paused_at   DATETIME(6)     NULL,
  until       DATETIME(6)     NULL     COMMENT 'ends by itself',
  held_reason TEXT            NOT NULL,
  held_at     DATETIME(6)     NULL,
  PRIMARY KEY (policy_id),
  CONSTRAINT pause_since CHECK (NOT paused OR paused_at IS NOT NULL),
  CONSTRAINT pause_hold  CHECK (NOT held OR (policy_id = 0 AND held_reason <> ''))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO pause (policy_id, reason, held_reason) VALUES (0, '', '');

CREATE TABLE IF NOT EXISTS setting (
  name       VARCHAR(64)  NOT NULL,
  value      VARCHAR(1024) NOT NULL,
  changed_by VARCHAR(288) NOT NULL DEFAULT '',
  changed_at DATETIME(6)  NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS event (
  id             BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  at             DATETIME(6)     NOT NULL,
  kind           VARCHAR(32)     NOT NULL COMMENT 'declared, changed, armed, disarmed, paused, approved, ...',
  policy_id      BIGINT UNSIGNED NOT NULL DEFAULT 0,
  policy_version BIGINT UNSIGNED NOT NULL DEFAULT 0,
  schema_name    VARCHAR(64)     NOT NULL DEFAULT '',
  table_name     VARCHAR(64)     NOT NULL DEFAULT '',
  actor          VARCHAR(288)    NOT NULL DEFAULT '' COMMENT 'account, or the node that acted by itself',
  text           TEXT            NOT NULL,
  PRIMARY KEY (id),
  KEY event_at (at),
  KEY event_table (schema_name, table_name, at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
