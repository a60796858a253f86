package catalog

// Samples for the charts. The key begins with the time, so that reading a day and removing what is
// old are ranges.
const (
	insertSample = `INSERT INTO {sample} (at, node_id, seconds, content) VALUES (UTC_TIMESTAMP(3), ?, ?, ?)`
	sweepSamples = `DELETE FROM {sample} WHERE at < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND ORDER BY at LIMIT ?`

	selectSamples = `SELECT at, node_id, seconds, content FROM {sample} WHERE at >= ? ORDER BY at, node_id`

	selectInflows = `SELECT schema_name, table_name, partition_name, since, cutoff, inflow
 FROM (SELECT schema_name, table_name, partition_name, cutoff, inflow,
   LAG(cutoff) OVER (PARTITION BY policy_id, partition_name ORDER BY job_id) AS since
  FROM (SELECT job_id, policy_id, schema_name, table_name, partition_name, cutoff, inflow FROM {job_history}
 WHERE finished_at >= ?
   UNION ALL SELECT id, policy_id, schema_name, table_name, partition_name, cutoff, inflow FROM {job}) AS jobs) AS pairs
 WHERE inflow IS NOT NULL AND since < cutoff AND cutoff >= ? ORDER BY cutoff`
)
