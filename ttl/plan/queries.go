package plan

// Queries about tables, from information_schema. Parameters: schema, table.
const (
	selectTriggers = `
SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
 WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? AND EVENT_MANIPULATION = 'DELETE'`

	// What tables with partitions may not have.
	selectForeignKeys = `
SELECT CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS
 WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ?`
	selectOddIndexes = `
SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_TYPE IN ('FULLTEXT', 'SPATIAL', 'VECTOR')
   AND NOT (INDEX_TYPE = 'FULLTEXT' AND VERSION() LIKE '%MariaDB%')`
)
