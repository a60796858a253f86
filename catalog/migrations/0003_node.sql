-- Who works, and where: proxies, named leases, and the servers this catalog has lived on.

CREATE TABLE IF NOT EXISTS node (
  id           BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  name         VARCHAR(255)    NOT NULL COMMENT 'host name and process',
  address      VARCHAR(255)    NOT NULL DEFAULT '' COMMENT 'where it listens',
  version      VARCHAR(64)     NOT NULL DEFAULT '',
  engine       BOOLEAN         NOT NULL DEFAULT TRUE COMMENT 'runs jobs; FALSE for --engine=off',
  workers      INT UNSIGNED    NOT NULL DEFAULT 0,
  server       VARCHAR(320)    NOT NULL DEFAULT '' COMMENT 'server its catalog connection is on',
  status       TEXT            NOT NULL COMMENT 'what holds this node back; empty when nothing does',
  started_at   DATETIME(6)     NOT NULL,
  heartbeat_at DATETIME(6)     NOT NULL,
  left_at      DATETIME(6)     NULL,
  PRIMARY KEY (id),
  KEY node_heartbeat (heartbeat_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lease (
  name       VARCHAR(64)     NOT NULL COMMENT 'scheduler, housekeeping, ...',
  node_id    BIGINT UNSIGNED NULL,
  fence      BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'grows with every new holder',
  expires_at DATETIME(6)     NULL,
  PRIMARY KEY (name),
  CONSTRAINT lease_held_until CHECK ((node_id IS NULL) = (expires_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lineage (
  server     VARCHAR(320)    NOT NULL COMMENT 'uuid, host and port in one word: the key of per-server facts',
  uuid       VARCHAR(64)     NOT NULL,
  host       VARCHAR(255)    NOT NULL,
  port       INT UNSIGNED    NOT NULL,
  cluster_id VARCHAR(64)     NOT NULL DEFAULT '' COMMENT 'wsrep cluster or replication group',
  version    VARCHAR(255)    NOT NULL DEFAULT '',
  trusted    BOOLEAN         NOT NULL DEFAULT FALSE,
  trusted_by VARCHAR(288)    NOT NULL DEFAULT '',
  trusted_at DATETIME(6)     NULL,
  first_at   DATETIME(6)     NOT NULL,
  last_at    DATETIME(6)     NOT NULL,
  PRIMARY KEY (server)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One row: how far this catalog has lived. A proxy that remembers more looks at an older copy.
CREATE TABLE IF NOT EXISTS generation (
  id          TINYINT UNSIGNED NOT NULL,
  catalog_id  CHAR(36)         NOT NULL DEFAULT '' COMMENT 'drawn when the catalog was made',
  value       BIGINT UNSIGNED  NOT NULL DEFAULT 0,
  advanced_at DATETIME(6)      NULL,
  advanced_by BIGINT UNSIGNED  NULL,
  PRIMARY KEY (id),
  CONSTRAINT generation_single CHECK (id = 1)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO generation (id) VALUES (1);
