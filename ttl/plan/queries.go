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

	selectSpatialColumns = `
SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?
   AND DATA_TYPE IN ('geometry', 'point', 'linestring', 'polygon', 'multipoint', 'multilinestring', 'multipolygon',
       'geometrycollection', 'geomcollection')`
	selectPrimaryKey = `
SELECT s.COLUMN_NAME, s.SUB_PART, COALESCE(s.COLLATION, 'A'), LOWER(c.DATA_TYPE), c.CHARACTER_MAXIMUM_LENGTH,
       c.CHARACTER_OCTET_LENGTH
  FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c
    ON c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME
 WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ? AND s.INDEX_NAME = 'PRIMARY' ORDER BY s.SEQ_IN_INDEX`
	// How long an entry may be depends on InnoDB's page.
	selectKeyLimits = `
SELECT VERSION() LIKE '%MariaDB%',
       CASE @@innodb_page_size WHEN 4096 THEN 768 WHEN 8192 THEN 1536 ELSE 3072 END`

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
