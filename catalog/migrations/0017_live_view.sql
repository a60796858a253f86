-- The views that TTL_VIEW keeps: only what is written here, and is still as it was made, is ever replaced or dropped.

CREATE TABLE IF NOT EXISTS live_view (
  schema_name VARCHAR(64) NOT NULL COMMENT 'of the view and of its table',
  view_name   VARCHAR(64) NOT NULL,
  table_name  VARCHAR(64) NOT NULL COMMENT 'whose living rows it shows',
  definition  CHAR(64)    NOT NULL COMMENT 'SHA-256 of its definition, as the server shows it',
  made_by     VARCHAR(288) NOT NULL COMMENT 'the account whose statement made it last',
  made_at     DATETIME(6) NOT NULL,
  PRIMARY KEY (schema_name, view_name),
  KEY live_view_table (schema_name, table_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
