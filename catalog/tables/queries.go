package tables

// Statements about tables, put to information_schema. Parameters: schema, table.
const (
	selectTable = `
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(DATE_FORMAT(CREATE_TIME,
 '%Y-%m-%d %H:%i:%s'), ''),
       COALESCE(TABLE_ROWS, 0), VERSION() LIKE '%MariaDB%', @@lower_case_table_names > 0,
       COALESCE(CREATE_OPTIONS, '') LIKE '%partitioned%'
  FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`

	selectCreated = `
SELECT COALESCE(TIMESTAMPDIFF(SECOND, '1970-01-01', CREATE_TIME), 0) FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`

	selectColumns = `
SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(CHARACTER_SET_NAME, ''), COALESCE(COLLATION_NAME, ''), IS_NULLABLE,
 COALESCE(EXTRA, ''),
       REPLACE(COALESCE(GENERATION_EXPRESSION, ''), '\\''', ''''), COLUMN_KEY = 'PRI', COALESCE(DATETIME_PRECISION, 0)
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`

	selectPartitions = `
SELECT PARTITION_NAME, COALESCE(SUM(TABLE_ROWS), 0), COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0),
       COALESCE(MIN(PARTITION_METHOD), ''), COALESCE(MIN(PARTITION_EXPRESSION), ''),
 COALESCE(MIN(PARTITION_DESCRIPTION), ''), MAX(SUBPARTITION_NAME IS NOT NULL),
       COALESCE(MIN(PARTITION_COMMENT), '')
  FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND PARTITION_NAME IS NOT NULL
 GROUP BY PARTITION_NAME ORDER BY MIN(PARTITION_ORDINAL_POSITION)`

	// Of foreign keys that point at a table: the child's schema and name, the key's name and rule, one
	// of its columns with the one that it points at, and a number that changes with any of that.
	selectVisibleChildren = `
SELECT r.CONSTRAINT_SCHEMA, r.TABLE_NAME, r.CONSTRAINT_NAME, IF(r.DELETE_RULE = 'RESTRICT', 'NO ACTION', r.DELETE_RULE),
       k.COLUMN_NAME, k.REFERENCED_COLUMN_NAME, 0
  FROM information_schema.REFERENTIAL_CONSTRAINTS r JOIN information_schema.KEY_COLUMN_USAGE k
    ON k.CONSTRAINT_SCHEMA = r.CONSTRAINT_SCHEMA AND k.TABLE_NAME = r.TABLE_NAME
   AND k.CONSTRAINT_NAME = r.CONSTRAINT_NAME
 WHERE r.UNIQUE_CONSTRAINT_SCHEMA = ? AND r.REFERENCED_TABLE_NAME = ? ORDER BY k.ORDINAL_POSITION`

	// InnoDB's names: on MariaDB those of files, in which a / only comes behind the schema; in lower case
	// where the server compares them so. Behind these comes where the keys are read.
	selectChildrenMySQL = `
SELECT SUBSTRING_INDEX(f.FOR_NAME, '/', 1), SUBSTRING(f.FOR_NAME, LOCATE('/', f.FOR_NAME) + 1), ` + childKey + `,
       ` + childMark

	selectChildrenMariaDB = `
SELECT CONVERT(CAST(CAST(SUBSTRING_INDEX(f.FOR_NAME, '/', 1) AS BINARY) AS CHAR CHARACTER SET filename) USING utf8mb4),
       CONVERT(CAST(CAST(SUBSTRING_INDEX(f.FOR_NAME, '/', -1) AS BINARY) AS CHAR CHARACTER
 SET filename) USING utf8mb4), ` + childKey + `, ` + childMark

	selectServer = "SELECT VERSION() LIKE '%MariaDB%', @@lower_case_table_names > 0"

	// The same keys in one value: how many columns they have, and the sum of their numbers.
	selectMark = `(SELECT CONCAT(COUNT(*), '/', COALESCE(SUM(` + childMark + `), 0))`

	keysToMySQL = `
  FROM information_schema.INNODB_FOREIGN f STRAIGHT_JOIN information_schema.INNODB_FOREIGN_COLS c
    ON CAST(c.ID AS BINARY) = CAST(f.ID AS BINARY)
 WHERE CAST(f.REF_NAME AS BINARY) = (SELECT ` + nameMySQL + ` FROM `

	keysToMariaDB = `
  FROM information_schema.INNODB_SYS_FOREIGN f STRAIGHT_JOIN information_schema.INNODB_SYS_FOREIGN_COLS c
    ON CAST(c.ID AS BINARY) = CAST(f.ID AS BINARY)
 WHERE CAST(f.REF_NAME AS BINARY) = (SELECT ` + nameMariaDB + ` FROM `

	// Which of some tables any foreign key points at. Behind these comes where their names are read.
	parentsMySQL   = `SELECT DISTINCT n FROM information_schema.INNODB_FOREIGN f STRAIGHT_JOIN `
	parentsMariaDB = `SELECT DISTINCT n FROM information_schema.INNODB_SYS_FOREIGN f STRAIGHT_JOIN `
	pointedAt      = ` ON CAST(f.REF_NAME AS BINARY) = `

	nameMySQL = `CAST(IF(` + folding + `, ` + foldOf + `CONCAT(s, '/', t)` + foldEnd +
		`, CONCAT(s, '/', t)) AS BINARY)`
	nameMariaDB = `CONCAT(CAST(CONVERT(IF(` + folding + `, ` + foldOf + `s` + foldEnd +
		`, s) USING filename) AS BINARY), '/', CAST(CONVERT(IF(` + folding + `, ` + foldOf + `t` + foldEnd +
		`, t) USING filename) AS BINARY))`

	// Whether it does is put in.
	folding = `{folding}`

	// How the server folds the names of tables, which other collations do otherwise.
	foldOf  = `CONVERT(LOWER(CONVERT(`
	foldEnd = ` USING utf8mb3) COLLATE utf8mb3_general_ci) USING utf8mb4)`

	// The two lowest bits of TYPE say what a DELETE does.
	childKey = `SUBSTRING(f.ID, LOCATE('/', f.ID) + 1),
       IF(f.TYPE & 1, 'CASCADE', IF(f.TYPE & 2, 'SET NULL', 'NO ACTION')), c.FOR_COL_NAME, c.REF_COL_NAME`
	childMark = `CRC32(CONCAT_WS('\n', f.ID, f.FOR_NAME, f.TYPE, c.POS, c.FOR_COL_NAME, c.REF_COL_NAME))`
)
