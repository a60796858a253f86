package catalog

// Nodes and leases. A node beats in its own row, so that nothing else waits for it or conflicts
// with it.
const (
	insertNode = `INSERT INTO {node} (name, address, version, engine, workers, server, stopped, status, started_at,
 heartbeat_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))`
	beatNode = `UPDATE {node} SET heartbeat_at = UTC_TIMESTAMP(6), workers = ?, stopped = ?, status = ?, server =
 {server-key}
 WHERE id = ? AND left_at IS NULL`
	leaveNode   = `UPDATE {node} SET left_at = UTC_TIMESTAMP(6) WHERE id = ? AND left_at IS NULL`
	selectNodes = `SELECT id, name, address, version, engine, workers, server, stopped, status, started_at,
 heartbeat_at, left_at,
 left_at IS NULL AND heartbeat_at >= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND AS live
 FROM {node} ORDER BY live DESC, id`

	releaseTasksOfNode = `UPDATE {task} SET state = 'waiting', owner = NULL, fence = fence + 1, connection = NULL,
 server = NULL,
 state_at = UTC_TIMESTAMP(6) WHERE owner = ?`
	releaseJobsOfNode   = `UPDATE {job} SET owner = NULL, fence = fence + 1 WHERE owner = ?`
	releaseLeasesOfNode = `UPDATE {lease} SET node_id = NULL, expires_at = NULL WHERE node_id = ?`

	createLease  = `INSERT IGNORE INTO {lease} (name) VALUES (?)`
	acquireLease = `UPDATE {lease} SET fence = fence + IF(node_id <=> ?, 0, 1), node_id = ?,
 expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
 WHERE name = ? AND (node_id IS NULL OR node_id = ? OR expires_at <= UTC_TIMESTAMP(6))`
	selectLeases = `SELECT name, node_id, fence, expires_at FROM {lease} WHERE expires_at > UTC_TIMESTAMP(6)
 ORDER BY name`
	selectLease = `SELECT fence, expires_at FROM {lease} WHERE name = ?`
	renewLease  = `UPDATE {lease} SET expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
 WHERE name = ? AND node_id = ? AND fence = ? AND expires_at > UTC_TIMESTAMP(6)`
	releaseLease = `UPDATE {lease} SET node_id = NULL, expires_at = NULL WHERE name = ? AND node_id = ? AND fence = ?`
)
