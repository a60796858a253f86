package ttl

// Questions about the server; see hold.go and identity.go. The deleting statements are written by plan.Statements and barrier.
const (
	selectServerState = `SELECT @@global.read_only, IF(@@global.log_bin, @@session.binlog_format, 'OFF')`

	// Who was created in which second. Of a second that is not over more may come. MariaDB opens every table for it; the servers' own
	// schemas are left out, since nobody swaps one of those in.
	selectCensus = `SELECT DATE_FORMAT(CREATE_TIME, '%Y-%m-%d %H:%i:%s'), COUNT(*), MIN(TABLE_SCHEMA), MIN(TABLE_NAME) FROM information_schema.TABLES
 WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')
 AND CREATE_TIME <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND GROUP BY CREATE_TIME`
	showGrants = `SHOW GRANTS`

	// Pages of the table or partition, and the undo that purge has not worked off.
	selectTableSize = `SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH + IF(@@innodb_file_per_table, DATA_FREE, 0)), 0) FROM information_schema.PARTITIONS
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND (? = '' OR PARTITION_NAME = ?)`
	selectHistoryLength = `SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'`

	showReplicas = `SHOW ALL SLAVES STATUS` // MariaDB
	showReplica  = `SHOW REPLICA STATUS`    // MySQL, and MariaDB without names
)
