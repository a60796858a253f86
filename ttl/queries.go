package ttl

// Questions about the server; see hold.go. The deleting statements are written by plan.Statements and barrier.
const (
	selectServerState = `SELECT @@global.read_only, IF(@@global.log_bin, @@session.binlog_format, 'OFF')`

	showReplicas = `SHOW ALL SLAVES STATUS` // MariaDB
	showReplica  = `SHOW REPLICA STATUS`    // MySQL, and MariaDB without names
)
