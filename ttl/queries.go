package ttl

// Questions about the server; see hold.go and identity.go. The deleting statements are written by plan.Statements and barrier.
const (
	selectServerState = `SELECT @@global.read_only, IF(@@global.log_bin, @@session.binlog_format, 'OFF')`

	// The servers' own schemas are left out: MariaDB opens every table it is asked about, and nobody swaps one of those in. It also
	// takes the names of two tables for the same when they differ in case or accents only, so they are compared as bytes.
	selectTwins = `SELECT EXISTS (SELECT 1 FROM information_schema.TABLES
 WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') AND CREATE_TIME = ?
 AND NOT (CAST(TABLE_SCHEMA AS BINARY) = CAST(? AS BINARY) AND CAST(TABLE_NAME AS BINARY) = CAST(? AS BINARY)))`
	showGrants = `SHOW GRANTS`

	// Pages of the table or partition, and the undo that purge has not worked off.
	selectTableSize = `SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH + IF(@@innodb_file_per_table, DATA_FREE, 0)), 0) FROM information_schema.PARTITIONS
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND (? = '' OR PARTITION_NAME = ?)`
	selectHistoryLength = `SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'`

	showReplicas = `SHOW ALL SLAVES STATUS` // MariaDB
	showReplica  = `SHOW REPLICA STATUS`    // MySQL, and MariaDB without names
)
