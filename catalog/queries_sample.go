package catalog

// Samples for the charts. The key begins with the time, so that reading a day and removing what is
// old are ranges.
const (
	insertSample = `INSERT INTO {sample} (at, node_id, seconds, content) VALUES (UTC_TIMESTAMP(3), ?, ?, ?)`
	sweepSamples = `DELETE FROM {sample} WHERE at < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND ORDER BY at LIMIT ?`

	selectSamples = `SELECT at, node_id, seconds, content FROM {sample} WHERE at >= ? ORDER BY at, node_id`

	// What is due is known by when a job begins: its cutoff is a date of rows, not of their expiry.
	selectInflows = `SELECT h.schema_name, h.table_name, h.partition_name, h.since, h.created_at, h.inflow
 FROM {job_history} h
 WHERE h.finished_at >= ? AND h.inflow IS NOT NULL AND h.since < h.created_at AND h.created_at >= ?
 UNION ALL SELECT j.schema_name, j.table_name, j.partition_name, h.created_at, j.created_at, j.inflow FROM {job} j
 JOIN {schedule} s ON s.policy_id = j.policy_id AND s.partition_name = j.partition_name
 JOIN {job_history} h ON h.job_id = s.last_ended_id
 WHERE j.inflow IS NOT NULL AND h.created_at < j.created_at AND j.created_at >= ?`
)
