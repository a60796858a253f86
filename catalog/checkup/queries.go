package checkup

// What a checkup tries out.
const (
	probeTable          = `SELECT 1 FROM `
	probeReplicaMySQL   = `SHOW REPLICA STATUS`
	probeReplicaMariaDB = `SHOW ALL SLAVES STATUS`
	probeRowsQuery      = `SET SESSION binlog_rows_query_log_events = ON`
	probeDelete         = `EXPLAIN DELETE FROM %s WHERE %s < '1970-01-02'`
	probeZoneTables     = `SELECT CONVERT_TZ('2000-01-01 00:00:00', 'UTC', 'Europe/Berlin') IS NOT NULL`
	selectLedIndex      = `SELECT (SELECT TABLE_ROWS FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?), EXISTS (SELECT 1 FROM information_schema.STATISTICS
 WHERE SEQ_IN_INDEX = 1 AND COLUMN_NAME = ? AND TABLE_SCHEMA = ? AND TABLE_NAME = ?)`
	selectProbes = `SELECT TABLE_NAME FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME REGEXP '^check_probe_[a-z2-7]{26}$' AND CREATE_TIME <= NOW() - INTERVAL ? SECOND
 AND TABLE_TYPE = 'BASE TABLE'`
	selectClock         = `SELECT UTC_TIMESTAMP(6)`
	selectBoundAccounts = `SELECT CONCAT(user, '@', host) FROM mysql.user
 WHERE host NOT IN ('%', 'localhost', '127.0.0.1', '::1', '') AND user <> '' ORDER BY 1`
)

// probeSchema is what migrations and the engine need in the catalog's schema.
var probeSchema = []string{
	`CREATE TABLE {probe} (id INT PRIMARY KEY) ENGINE=InnoDB`,
	`ALTER TABLE {probe} ADD COLUMN n INT NOT NULL DEFAULT 0, ADD INDEX (n)`,
	`INSERT INTO {probe} (id) VALUES (1)`,
	`UPDATE {probe} SET n = 1`,
	`CREATE VIEW {view} AS SELECT id FROM {probe}`,
	`DELETE FROM {probe}`,
	`DROP VIEW {view}`,
	`DROP TABLE {probe}`,
}

// dropProbe is what takes a probe away, whatever there is of it.
var dropProbe = []string{`DROP VIEW IF EXISTS {view}`, `DROP TABLE IF EXISTS {probe}`}
