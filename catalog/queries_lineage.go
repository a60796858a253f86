package catalog

// Where the catalog lives, and for how long.
const (
	selectGeneration = `SELECT catalog_id, value, advanced_at, TIMESTAMPDIFF(MICROSECOND, advanced_at, UTC_TIMESTAMP(6))
 FROM {generation} WHERE id = 1`
	foundGeneration = `UPDATE {generation} SET catalog_id = UUID(), value = 1, advanced_at = UTC_TIMESTAMP(6)
 WHERE id = 1 AND catalog_id = ''`
	renewGeneration = `UPDATE {generation} SET catalog_id = UUID(), value = value + 1, advanced_at =
 UTC_TIMESTAMP(6) WHERE id = 1`
	// The new value is what the statement says it has inserted.
	advanceGeneration = `UPDATE {generation} SET value = LAST_INSERT_ID(value + 1), advanced_at = UTC_TIMESTAMP(6)
 WHERE id = 1 AND advanced_at < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND`

	// What there is to know as long as the server is the one that it was.
	selectGlance = `SELECT {server-key}, EXISTS (SELECT 1 FROM {lineage} WHERE server = {server-key} AND trusted),
 z.held, g.catalog_id, g.value, g.advanced_at, TIMESTAMPDIFF(MICROSECOND, g.advanced_at, UTC_TIMESTAMP(6))
 FROM {generation} g JOIN {pause} z ON z.policy_id = 0 WHERE g.id = 1`

	selectLineage = "SELECT server, host, port, cluster_id, version, trusted, trusted_by, first_at, last_at FROM " +
		"{lineage} ORDER BY first_at, server"
	upsertLineage = `INSERT INTO {lineage} (server, uuid, host, port, cluster_id, version, trusted, trusted_by,
 trusted_at, first_at, last_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, IF(?, UTC_TIMESTAMP(6), NULL), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
 ON DUPLICATE KEY UPDATE trusted_by = IF(trusted, trusted_by, VALUES(trusted_by)), trusted_at = IF(trusted, trusted_at,
 VALUES(trusted_at)),
 trusted = trusted OR VALUES(trusted), cluster_id = VALUES(cluster_id), version = VALUES(version), last_at =
 VALUES(last_at)`
	touchLineage = `UPDATE {lineage} SET last_at = UTC_TIMESTAMP(6) WHERE server = {server-key}`
	countRelated = `SELECT COUNT(*) FROM {node} n JOIN {lineage} l ON l.server = n.server AND l.trusted
 AND l.cluster_id = ?
 WHERE n.left_at IS NULL AND n.heartbeat_at >= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND`
	selectAdmission = `SELECT EXISTS (SELECT 1 FROM {lineage} WHERE server = {server-key}
 AND trusted), g.catalog_id, g.value
 FROM {generation} g WHERE g.id = 1`
)
