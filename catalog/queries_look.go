package catalog

import (
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// A look at a user's table. information_schema takes no lock, and TABLE_SCHEMA and TABLE_NAME given
// as constants keep it cheap.
const (
	// One row in any case, without a join: in the condition of a join the constants would not keep
	// MariaDB from opening every table.
	selectOutside = `SELECT {server-key}, COUNT(*) > 0, MAX(create_time), MAX(table_rows), MAX(engine)
 FROM information_schema.tables
 WHERE table_schema = ? AND table_name = ? AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')`
	selectShapeColumns = `SELECT ` + shapeColumn + ` FROM information_schema.columns WHERE table_schema = ?
 AND table_name = ? ORDER BY ordinal_position`
	shapeColumn = "REPLACE(CONCAT('`', REPLACE(column_name, '`', '``'), '` ', column_type, IF(is_nullable = " +
		"'NO', ' NOT NULL', ''),\n" +
		` IF(collation_name IS NULL, '', CONCAT(' COLLATE ', collation_name)),
 IF(COALESCE(generation_expression, '') = '', '',
 CONCAT('` + tables.AsExpression + `', generation_expression))), '\n', ' ')`
	selectShapeKey = `SELECT column_name FROM information_schema.statistics
 WHERE table_schema = ? AND table_name = ? AND index_name = 'PRIMARY' ORDER BY seq_in_index`
	selectPartitions = `SELECT partition_name, %s, MAX(create_time) FROM information_schema.partitions
 WHERE table_schema = ? AND table_name = ? AND partition_name IS NOT NULL GROUP BY partition_name
 ORDER BY MIN(partition_ordinal_position)`

	// The same of many tables: formatted with which, see ofMany.
	selectCreatedOfMany = `SELECT table_schema, table_name, create_time FROM information_schema.tables
 WHERE %s AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')`
	selectShapesColumns = `SELECT table_schema, table_name,
 ordinal_position, ` + shapeColumn + ` FROM
 information_schema.columns WHERE %s`
	selectShapesKeys = `SELECT table_schema, table_name, seq_in_index, column_name FROM information_schema.statistics
 WHERE %s AND index_name = 'PRIMARY'`

	// The scalar form keeps MySQL from turning it into a join.
	unalteredCondition = `(SELECT COUNT(*) FROM information_schema.tables
 WHERE table_schema = %s AND table_name = %s AND create_time = '%s') = 1`
)

// InnoDB's ids. On MySQL they are those of tablespaces: to read its table of tables it waits for
// the metadata lock of every table there is, behind any ALTER that waits itself. Names there are as
// people write them, and have an index that ranges are found by. MariaDB's are those of files, in a
// list that is read to its end: so the name to look for is written once, and little is done for
// each of them.
const (
	selectIDsMySQL = `SELECT space, SUBSTRING(name, CHAR_LENGTH(%[2]s) + 1)
 FROM information_schema.innodb_tablespaces_brief
 WHERE name = %[1]s OR name >= %[2]s AND name < %[3]s`
	selectIDsMariaDB = `SELECT table_id, SUBSTRING(CAST(name AS BINARY), LENGTH(wanted) + LENGTH('#P#') + 1)
 FROM information_schema.innodb_sys_tables, (SELECT %[1]s wanted) w WHERE SUBSTRING_INDEX(CAST(name AS BINARY), '#P#',
 1) = wanted`

	// Of many tables, with their places in the list; MariaDB's list is read once for all of them.
	selectIDsOfManyMySQL = `SELECT FIELD(name, %[1]s), space FROM information_schema.innodb_tablespaces_brief
 WHERE name IN (%[1]s)`
	selectIDsOfManyMariaDB = `SELECT FIELD(CAST(name AS BINARY), %[1]s) AS place, table_id
 FROM information_schema.innodb_sys_tables,
 (SELECT %[2]s) w HAVING place > 0`

	tableIDMySQL = `(SELECT COUNT(*) FROM information_schema.innodb_tablespaces_brief WHERE space = %[1]d
 AND name = %[2]s) = 1`
	tableIDMariaDB = `(SELECT COUNT(*) FROM information_schema.innodb_sys_tables WHERE table_id = %[1]d
 AND CAST(name AS BINARY) = %[2]s) = 1`

	partitionIDMySQL = `(SELECT ` + idTogetherMySQL + ` FROM information_schema.innodb_tablespaces_brief
 WHERE name = %[2]s OR name >= %[3]s AND name < %[4]s) = %[1]d`
	partitionIDMariaDB = `(SELECT ` + idTogetherMariaDB + ` FROM information_schema.innodb_sys_tables
 WHERE CAST(name AS BINARY) = %[2]s OR LEFT(CAST(name AS BINARY), LENGTH(%[3]s)) = %[3]s) = %[1]d`

	selectNewestMySQL = `SELECT {server-key}, COALESCE(MAX(CAST(space AS UNSIGNED)), 0)
 FROM information_schema.innodb_tablespaces_brief
 WHERE LOCATE('/', name) > 0`
	selectNewestMariaDB = `SELECT {server-key}, COALESCE(MAX(table_id), 0) FROM information_schema.innodb_sys_tables`

	// Not those which the server is about to drop.
	countIDsMySQL = `SELECT COUNT(*) FROM information_schema.innodb_tablespaces_brief WHERE space IN (%s)
 AND name NOT LIKE '%%/#sql%%'`
	countIDsMariaDB = `SELECT COUNT(*) FROM information_schema.innodb_sys_tables WHERE table_id IN (%s)
 AND name NOT LIKE '%%/#sql%%'`

	selectBetweenMySQL = `SELECT DISTINCT SUBSTRING_INDEX(SUBSTRING(name, CHAR_LENGTH(%[3]s) + 1), '#p#', 1)
 FROM information_schema.innodb_tablespaces_brief WHERE space > %[1]d AND space < %[2]d
 AND LEFT(name, CHAR_LENGTH(%[3]s)) = %[3]s`
	selectBetweenMariaDB = `SELECT DISTINCT CONVERT(CONVERT(SUBSTRING_INDEX(SUBSTRING(CAST(name AS BINARY),
 LENGTH(prefix) + 1), '#P#', 1) USING filename) USING utf8mb4)
 FROM information_schema.innodb_sys_tables, (SELECT %[3]s AS prefix) p
 WHERE table_id > %[1]d AND table_id < %[2]d AND LEFT(CAST(name AS BINARY), LENGTH(prefix)) = prefix`

	// What together is in Go.
	idTogetherMySQL = `IF(COUNT(*) = 1, MAX(space), BIT_XOR(CAST(CONV(LEFT(SHA2(space, 256), 16), 16, 10) AS
 UNSIGNED)))`
	idTogetherMariaDB = `IF(COUNT(*) = 1, MAX(table_id), BIT_XOR(CAST(CONV(LEFT(SHA2(table_id, 256), 16), 16, 10) AS
 UNSIGNED)))`

	fileNameMariaDB = `CAST(CONVERT(%s USING filename) AS BINARY)`
)

// Other connections.
const (
	selectConnection = `SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?`
	// MySQL fails to fill that table while anybody runs a text that it cannot convert. This one it
	// reads by column, if it has it.
	selectConnectionAlone = `SELECT COUNT(*), @@performance_schema FROM performance_schema.processlist WHERE id = ?`
	probeProcess          = `SELECT 1 FROM information_schema.innodb_trx LIMIT 1`
	selectAbandoned       = `SELECT COUNT(*) FROM {policy} p WHERE p.id = ?
 AND p.stage_at < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
 AND NOT EXISTS (` + liveOwner + ` n.id = p.stage_node)`
)

// Whether there is any row. Formatted with the table, the partition and the condition of its
// identity.
const (
	selectAnyRow  = `SELECT EXISTS (SELECT 1 FROM %s%s LIMIT 1), %s`
	selectNothing = `SELECT * FROM %s LIMIT 0`
	waitBriefly   = `SET SESSION lock_wait_timeout = 1` // nobody waits behind us for longer
	waitAsUsual   = `SET SESSION lock_wait_timeout = 5`
)

// inPartition restricts a table to a partition; "" is the whole table.
func inPartition(name string) string {
	if name == "" {
		return ""
	}
	return " PARTITION (" + ddl.Quote(name) + ")"
}
