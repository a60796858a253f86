package catalog

// A look at a user's table. information_schema takes no lock, and TABLE_SCHEMA and TABLE_NAME given as constants keep it cheap.
const (
	selectOutside = `SELECT {server-key}, t.table_name IS NOT NULL, t.create_time, t.table_rows FROM (SELECT 1) one
 LEFT JOIN information_schema.tables t ON t.table_schema = ? AND t.table_name = ? AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')`
	selectShapeColumns = "SELECT CONCAT('`', REPLACE(column_name, '`', '``'), '` ', column_type, IF(is_nullable = 'NO', ' NOT NULL', ''),\n" +
		` IF(collation_name IS NULL, '', CONCAT(' COLLATE ', collation_name)))
 FROM information_schema.columns WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position`
	selectShapeKey = `SELECT column_name FROM information_schema.statistics
 WHERE table_schema = ? AND table_name = ? AND index_name = 'PRIMARY' ORDER BY seq_in_index`
	selectPartitions = `SELECT partition_name, MAX(create_time) FROM information_schema.partitions
 WHERE table_schema = ? AND table_name = ? AND partition_name IS NOT NULL GROUP BY partition_name ORDER BY MIN(partition_ordinal_position)`
	selectTableIDsMySQL   = `SELECT table_id, name FROM information_schema.innodb_tables` + whereFile
	selectTableIDsMariaDB = `SELECT table_id, name FROM information_schema.innodb_sys_tables` + whereFile
	whereFile             = ` WHERE name = ? OR LEFT(name, CHAR_LENGTH(?)) = ?`

	tableIDCondition = `(SELECT COUNT(*) FROM information_schema.%s
 WHERE table_id = %d AND (LOWER(name) = %s OR LEFT(LOWER(name), %d) = %s)) = 1`
	identityCondition = `(SELECT COUNT(*) FROM information_schema.tables
 WHERE table_schema = %s AND table_name = %s AND create_time = '%s') = 1`
)

// Other connections.
const (
	selectConnection    = `SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?`
	probeProcessMySQL   = `SELECT 1 FROM information_schema.innodb_tables LIMIT 1`
	probeProcessMariaDB = `SELECT 1 FROM information_schema.innodb_sys_tables LIMIT 1`
	selectAbandoned     = `SELECT COUNT(*) FROM {policy} p WHERE p.id = ? AND p.stage_at < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
 AND NOT EXISTS (` + liveOwner + ` n.id = p.stage_node)`
)
