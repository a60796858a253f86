package plan

// Queries about tables, from information_schema. Parameters: schema, table.
const (
	// Formatted with the event.
	selectTriggers = `
SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
 WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? AND EVENT_MANIPULATION = '%s'`
	deletes = "DELETE"
	updates = "UPDATE"

	// What tables with partitions may not have.
	selectForeignKeys = `
SELECT CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS
 WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ?`
	selectOddIndexes = `
SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_TYPE IN ('FULLTEXT', 'SPATIAL', 'VECTOR')
   AND NOT (INDEX_TYPE = 'FULLTEXT' AND VERSION() LIKE '%MariaDB%')`

	// What MySQL compares before it exchanges a partition.
	selectInnoDBTables = `
SELECT t.*, @@innodb_default_row_format AS usual
  FROM information_schema.innodb_tablespaces_brief b JOIN information_schema.innodb_tables t ON t.space = b.space
 WHERE b.name >= ? AND b.name < ?`

	// The rights of the asking account on a schema. On MySQL a global right need not hold for every
	// schema if rights can be revoked in part.
	selectRightsMariaDB = `
SELECT PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES WHERE ` + isGrantee + `
UNION SELECT PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE ? LIKE TABLE_SCHEMA AND ` + isGrantee
	selectRightsMySQL = `
SELECT PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES WHERE NOT @@global.partial_revokes AND ` + isGrantee + `
UNION SELECT PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE ? LIKE TABLE_SCHEMA AND ` + isGrantee
	isGrantee = `CAST(GRANTEE AS BINARY) =
 CAST(CONCAT('\'', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(),
 '@', -1)) - 1), '\'@\'', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '\'') AS BINARY)`
)
