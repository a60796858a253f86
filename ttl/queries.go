package ttl

// Questions about the server; see hold.go and identity.go. The deleting statements are written by plan.Statements and barrier.
const (
	selectServerState = `SELECT @@global.read_only, IF(@@global.log_bin, @@session.binlog_format, 'OFF')`

	selectTwins = `SELECT EXISTS (SELECT 1 FROM information_schema.TABLES
 WHERE CREATE_TIME = ? AND NOT (TABLE_SCHEMA = ? AND TABLE_NAME = ?))`

	showReplicas = `SHOW ALL SLAVES STATUS` // MariaDB
	showReplica  = `SHOW REPLICA STATUS`    // MySQL, and MariaDB without names
)
