package catalog

// Expiry queues.
const (
	// Entries that were written for another table, key or column are of no use.
	retireOtherShapes = `UPDATE {expiry_queue} SET policy_id = NULL
 WHERE policy_id = ? AND partition_name = ? AND shape <> ?`
	useExpiryQueue = `INSERT INTO {expiry_queue} (policy_id, partition_name, shape, shards, used_at)
 VALUES (?, ?, ?, ?, UTC_TIMESTAMP(6))
 ON DUPLICATE KEY UPDATE shards = GREATEST(shards, VALUES(shards)), used_at = VALUES(used_at)`
	endCensus = `UPDATE {expiry_queue} q JOIN {job_history} h ON h.job_id = q.census_job
 SET q.census_at = IF(h.state = 'finished', h.created_at, q.census_at), q.census_job = NULL
 WHERE q.policy_id = ? AND q.partition_name = ?`
	// Most jobs change nothing about it.
	selectReadyQueue = `SELECT id, shards, census_at FROM {expiry_queue} WHERE policy_id = ? AND partition_name = ?
 AND shape = ? AND shards >= ? AND census_job IS NULL AND used_at > UTC_TIMESTAMP(6) - INTERVAL 1 HOUR`
	selectExpiryQueue = `SELECT id, shards, census_at FROM {expiry_queue}
 WHERE policy_id = ? AND partition_name = ?`
	beginCensus  = `UPDATE {expiry_queue} SET census_job = ? WHERE id = ?`
	selectCensus = `SELECT COALESCE(MAX(census_at IS NULL), TRUE), MIN(census_at) FROM {expiry_queue}
 WHERE policy_id = ?`

	selectAnyQueue     = `SELECT EXISTS (SELECT 1 FROM {expiry_queue})`
	retireExpiryQueues = `UPDATE {expiry_queue} q SET q.policy_id = NULL
 WHERE q.policy_id IS NOT NULL AND (NOT EXISTS (SELECT 1 FROM {policy} p WHERE p.id = q.policy_id)
 OR q.used_at < UTC_TIMESTAMP(6) - INTERVAL 7 DAY AND NOT EXISTS (SELECT 1 FROM {job} j
 WHERE j.policy_id = q.policy_id))`
	selectRetiredQueue  = `SELECT id FROM {expiry_queue} WHERE policy_id IS NULL ORDER BY id LIMIT 1`
	deleteExpiryEntries = `DELETE FROM {expiry_entry} WHERE queue_id = ? LIMIT 5000`
	deleteExpiryQueue   = `DELETE FROM {expiry_queue} WHERE id = ? AND policy_id IS NULL`
)
