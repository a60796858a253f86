package ttl

// Queries about the server; see recognizer.go. The deleting statements are written by
// plan.Statements and barrier.
const (
	// Pages of the table or partition, and the undo that purge has not processed.
	selectTableSize = `SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH + IF(@@innodb_file_per_table, DATA_FREE, 0)), 0)
 FROM information_schema.PARTITIONS
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND (? = '' OR PARTITION_NAME = ?)`
	selectHistoryLength = `SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'`
)
