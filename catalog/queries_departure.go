package catalog

// Partitions that go whole, their columns in the order in which departures reads them.
const (
	departureColumns = `r.policy_id, r.partition_name, r.bound, r.how, r.job_id, r.task_id, r.fence, r.server, r.due,
 r.state, r.state_at, r.reason, r.create_time, r.table_id, r.side_schema, r.side_name, r.side_id, r.grace, r.keep_until,
 r.from_id, r.empty_id, r.about
 FROM {departure} r`
	selectDepartures = `SELECT ` + departureColumns + ` WHERE r.policy_id = ?`
	selectDeparture  = `SELECT ` + departureColumns + ` WHERE r.policy_id = ? AND r.partition_name = ?`
	// Of a policy or of a job; what is made ahead has none, which is 0.
	selectTaken = `SELECT ` + departureColumns + ` WHERE r.state = 'taken'
 AND (r.policy_id = ? OR r.job_id = NULLIF(?, 0)) ORDER BY r.partition_name FOR UPDATE`
	// What a packet may take at any moment, or has taken; but not what a task asks for once more.
	selectLeaving = `SELECT ` + departureColumns + ` WHERE r.policy_id = ? AND r.state IN ('ready', 'taken')
 AND NOT (r.state = 'ready' AND r.task_id = ?)`
	selectMoves = `SELECT COUNT(*), COALESCE(SUM(moves), 0), COALESCE(SUM(state = 'taken'), 0) FROM {departure}
 WHERE policy_id = ?`

	// The bar: what is ready may go no more, unless it is made ready anew.
	barDepartures = `UPDATE {departure} SET state = ` + barredState + `, state_at = UTC_TIMESTAMP(6)
 WHERE policy_id = ? AND state IN ('ready', 'ending')`
	barJobDepartures = `UPDATE {departure} SET state = 'barred', state_at = UTC_TIMESTAMP(6)
 WHERE job_id = ? AND state = 'ready'`
	barAllDepartures = `UPDATE {departure} SET state = ` + barredState + `, state_at = UTC_TIMESTAMP(6)
 WHERE state IN ('ready', 'ending')`
	readyGuard = `EXISTS (SELECT 1 FROM %s WHERE policy_id = %d AND partition_name = %s AND task_id = %d AND fence = %d
 AND state = 'ready')`
	withdrawDeparture = `UPDATE {departure} SET state = 'barred', state_at = UTC_TIMESTAMP(6)
 WHERE policy_id = ? AND partition_name = ? AND task_id = ? AND fence = ? AND state = 'ready'`
	barredState = `IF(state = 'ready', 'barred', 'kept')`

	endDeparture = `INSERT INTO {departure} (policy_id, partition_name, how, job_id, task_id, fence, server, due,
 state, state_at, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6), ?)`
	gone = `state IN ('taken', 'kept', 'ending', 'restored')`
	// What has happened is counted, whatever the task may still do.
	countDeparted = `UPDATE {task} SET allowed = IF(allowed < deleted + ?, deleted + ?, allowed),
 examined = examined + ?, deleted = deleted + ? WHERE id = ?`
	settleDeparture = `UPDATE {departure} SET state = IF(how = 'EXCHANGE', 'kept', 'settled'),
 keep_until = IF(how = 'EXCHANGE', UTC_TIMESTAMP(6) + INTERVAL grace SECOND, NULL),
 state_at = UTC_TIMESTAMP(6), moves = moves + 1
 WHERE policy_id = ? AND partition_name = ? AND state = 'taken'`
	// What is kept stays listed, and stays: nobody is left in whose name it could be dropped.
	deleteDepartures = `DELETE FROM {departure} WHERE policy_id = ?
 AND NOT (side_id > 0 AND state IN ('kept', 'ending', 'restored')) AND NOT (side_name <> '' AND ` + unnoted + `)`

	// Of what nobody has noted.
	unnoted      = `state IN ('ready', 'barred', 'waits', 'refused')`
	announceSide = `INSERT INTO {departure} (policy_id, partition_name, how, job_id, task_id, fence, server, due,
 side_schema, side_name, grace, from_id, state, state_at, reason)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'barred', UTC_TIMESTAMP(6), '')`
	findAside = `UPDATE {departure} SET state = 'kept', state_at = UTC_TIMESTAMP(6), side_id = from_id,
 keep_until = UTC_TIMESTAMP(6) + INTERVAL grace SECOND, moves = moves + 1, reason = ''
 WHERE policy_id = ? AND partition_name = ? AND task_id = ? AND fence = ? AND ` + unnoted
	forgetSide = `UPDATE {departure} SET side_name = '' WHERE policy_id = ? AND partition_name = ? AND task_id = ?
 AND fence = ? AND side_name = ? AND ` + isUnnoted
	unnotedGuard = `(SELECT COUNT(*) FROM %s WHERE policy_id = %d AND partition_name = %s AND task_id = %d
 AND fence = %d AND side_name = %s AND ` + unnoted + `
 AND NOT (state = 'ready' AND state_at > UTC_TIMESTAMP(6) - INTERVAL %d SECOND)) = 1 AND %s = %d`

	// Of the end of what is kept.
	selectKept = `SELECT ` + departureColumns + ` WHERE r.state IN ('kept', 'ending', 'restored')
 ORDER BY r.keep_until`
	// Whatever may be there of partitions, noted or not.
	selectAsides = `SELECT ` + departureColumns + ` WHERE r.side_name <> '' AND r.state <> 'settled'
 ORDER BY r.side_schema, r.side_name`
	selectOver = `SELECT ` + departureColumns + ` WHERE (` + isOver + ` AND EXISTS (SELECT 1 FROM {policy} p
 WHERE p.id = r.policy_id) OR ` + isUnnoted + `) AND r.server = {server-key}
 ORDER BY r.keep_until, r.policy_id, r.partition_name`
	isOver = `r.keep_until <= UTC_TIMESTAMP(6)
 AND (r.state = 'kept' OR r.state = 'ending' AND r.state_at < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE)`
	isUnnoted = `side_name <> '' AND ` + unnoted + ` AND state_at < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE`
	endKept   = `UPDATE {departure} r SET r.state = 'ending', r.state_at = UTC_TIMESTAMP(6), r.fence = r.fence + 1
 WHERE r.policy_id = ? AND r.partition_name = ? AND r.fence = ? AND r.side_id = ? AND ` + isOver
	keepOn = `UPDATE {departure} r SET r.state = 'kept', r.state_at = UTC_TIMESTAMP(6), r.reason = ?,
 r.keep_until = UTC_TIMESTAMP(6) + INTERVAL GREATEST(r.grace, 3600) SECOND
 WHERE r.policy_id = ? AND r.partition_name = ? AND r.fence = ? AND r.side_id = ? AND ` + isOver
	// A longer grace is that of what is kept already. The first column is written first.
	prolongKept = `UPDATE {departure} SET keep_until = keep_until + INTERVAL ? - grace SECOND, grace = ?
 WHERE policy_id = ? AND state = 'kept' AND keep_until IS NOT NULL AND grace < ?`
	forgetKept = `UPDATE {departure} SET state = 'settled', state_at = UTC_TIMESTAMP(6)
 WHERE policy_id = ? AND partition_name = ? AND state IN ('kept', 'ending') AND side_id = ?`

	// Of partitions that are made before they are needed.
	readyAhead = `INSERT INTO {departure} (policy_id, partition_name, how, job_id, task_id, fence, server, due, state,
 state_at, reason) VALUES (?, '', ?, 0, 0, 1, ?, 0, 'ready', UTC_TIMESTAMP(6), '')
 ON DUPLICATE KEY UPDATE fence = fence + 1, how = VALUES(how), server = VALUES(server), state = VALUES(state),
 state_at = VALUES(state_at), reason = VALUES(reason)`
	enoughAhead = `UPDATE {departure} SET state = 'settled', state_at = UTC_TIMESTAMP(6), reason = ''
 WHERE policy_id = ? AND partition_name = '' AND how = ? AND state IN ('refused', 'waits')`
	selectStuckAhead = `SELECT r.policy_id, r.reason FROM {policy} p
 JOIN {departure} r ON r.policy_id = p.id AND r.partition_name = '' WHERE r.how = ? AND r.state = 'refused'`
	aheadGuard = `(SELECT COUNT(*) FROM %s WHERE %s
 AND state_at > UTC_TIMESTAMP(6) - INTERVAL %d SECOND) = 1 AND ` + Writable

	// Of what has come back. Rows that came into the partition at the last moment are in the table now
	// against which it was exchanged: that is kept until a person has looked.
	selectLeftovers = `SELECT ` + departureColumns + ` WHERE r.server = {server-key}
 AND (r.state = 'restored' OR r.state = 'kept' AND r.keep_until IS NULL) ORDER BY r.state = 'kept', r.state_at LIMIT 10`
	restoreKept = `UPDATE {departure} SET state = 'restored', state_at = UTC_TIMESTAMP(6), side_id = ?,
 keep_until = NULL WHERE policy_id = ? AND partition_name = ? AND state IN ('kept', 'ending') AND side_id = ?`
	settleLeftover = `UPDATE {departure} SET state = 'settled', state_at = UTC_TIMESTAMP(6)
 WHERE policy_id = ? AND partition_name = ? AND keep_until IS NULL AND state IN ('restored', 'kept') AND side_id = ?`
	keepLeftover = `UPDATE {departure} SET state = 'kept', state_at = UTC_TIMESTAMP(6), due = ?
 WHERE policy_id = ? AND partition_name = ? AND state = 'restored' AND side_id = ?`

	recreateIdentity = `UPDATE {policy_identity} SET create_time = ?, seen_at = UTC_TIMESTAMP(6)
 WHERE policy_id = ? AND server = ? AND partition_name = ''`
	exchangeIdentity = `UPDATE {policy_identity} SET innodb_table_id = ?, table_number = NULL,
 seen_at = UTC_TIMESTAMP(6) WHERE policy_id = ? AND server = ? AND partition_name = ? AND innodb_table_id = ?`
	replaceIdentity = `UPDATE {policy_identity} SET innodb_table_id = ?, table_number = NULL, create_time = ?,
 seen_at = UTC_TIMESTAMP(6)
 WHERE policy_id = ? AND server = ? AND partition_name = ?`
	deleteIdentity = `DELETE FROM {policy_identity} WHERE policy_id = ? AND server = ? AND partition_name = ?`
	// Servers that see the change by replication learn the table anew; but not what is held there.
	selectOtherServers = `SELECT server FROM {policy_identity} WHERE policy_id = ? AND server <> ?
 GROUP BY server HAVING SUM(held IS NOT NULL) = 0`

	// What a packet notes when the partition is gone.
	createdNow   = `(SELECT create_time FROM information_schema.tables WHERE table_schema = %s AND table_name = %s)`
	idNowMySQL   = `(SELECT COALESCE(MAX(space), 0) FROM information_schema.innodb_tablespaces_brief WHERE name = %s)`
	idNowMariaDB = `(SELECT COALESCE(MAX(table_id), 0) FROM information_schema.innodb_sys_tables
 WHERE CAST(name AS BINARY) = %s)`

	// Of files, whatever statistics say.
	sizeNowMySQL   = `(SELECT COALESCE(MAX(file_size), 0) FROM information_schema.innodb_tablespaces WHERE name = %s)`
	sizeNowMariaDB = `(SELECT COALESCE(MAX(file_size), 0) FROM information_schema.innodb_sys_tablespaces
 WHERE CAST(name AS BINARY) = %s)`

	endingGuard = `(SELECT COUNT(*) FROM %s WHERE policy_id = %d AND partition_name = %s AND fence = %d
 AND state = 'ending' AND state_at > UTC_TIMESTAMP(6) - INTERVAL %d SECOND) = 1 AND ` + Writable + `
 AND %s = %d`
)
