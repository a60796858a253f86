package tables

// Statements about tables, put to information_schema. Parameters: schema, table.
const (
	selectTable = `
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(DATE_FORMAT(CREATE_TIME,
 '%Y-%m-%d %H:%i:%s'), ''),
       COALESCE(TABLE_ROWS, 0), VERSION() LIKE '%MariaDB%', COALESCE(CREATE_OPTIONS, '') LIKE '%partitioned%'
  FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`

	selectCreated = `
SELECT COALESCE(TIMESTAMPDIFF(SECOND, '1970-01-01', CREATE_TIME), 0) FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`

	selectColumns = `
SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(CHARACTER_SET_NAME, ''), COALESCE(COLLATION_NAME, ''), IS_NULLABLE,
 COALESCE(EXTRA, ''),
       REPLACE(COALESCE(GENERATION_EXPRESSION, ''), '\\''', ''''), COLUMN_KEY = 'PRI'
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`

	selectPartitions = `
SELECT PARTITION_NAME, COALESCE(SUM(TABLE_ROWS), 0),
       COALESCE(MIN(PARTITION_METHOD), ''), COALESCE(MIN(PARTITION_EXPRESSION), ''),
 COALESCE(MIN(PARTITION_DESCRIPTION), '')
  FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND PARTITION_NAME IS NOT NULL
 GROUP BY PARTITION_NAME ORDER BY MIN(PARTITION_ORDINAL_POSITION)`

	selectVisibleChildren = `
SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONCAT(' (', CONSTRAINT_NAME, ', ON DELETE ', DELETE_RULE, ')')
  FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE UNIQUE_CONSTRAINT_SCHEMA = ? AND REFERENCED_TABLE_NAME = ?`

	// InnoDB's names: on MariaDB those of files; in lower case where the server compares them so.
	selectChildrenMySQL = `
SELECT SUBSTRING_INDEX(FOR_NAME, '/', 1), SUBSTRING_INDEX(FOR_NAME, '/', -1), ` + childRule + `
  FROM information_schema.INNODB_FOREIGN
 WHERE CAST(REF_NAME AS BINARY) = (SELECT CAST(IF(@@lower_case_table_names >
 0, ` + foldOf + `n` + foldEnd + `, n) AS
 BINARY) FROM (SELECT CONCAT(?, '/', ?) n) x)`

	selectChildrenMariaDB = `
SELECT CONVERT(CAST(CAST(SUBSTRING_INDEX(FOR_NAME, '/', 1) AS BINARY) AS CHAR CHARACTER SET filename) USING utf8mb4),
       CONVERT(CAST(CAST(SUBSTRING_INDEX(FOR_NAME, '/', -1) AS BINARY) AS CHAR CHARACTER
 SET filename) USING utf8mb4), ` + childRule + `
  FROM information_schema.INNODB_SYS_FOREIGN
 WHERE CAST(REF_NAME AS BINARY) = (SELECT CONCAT(CAST(CONVERT(IF(@@lower_case_table_names >
 0, ` + foldOf + `s` + foldEnd + `, s) USING filename) AS BINARY), '/',
       CAST(CONVERT(IF(@@lower_case_table_names >
 0, ` + foldOf + `t` + foldEnd + `, t) USING filename) AS BINARY))
 FROM (SELECT ? s, ? t) x)`

	// How the server folds the names of tables, which other collations do otherwise.
	foldOf  = `CONVERT(LOWER(CONVERT(`
	foldEnd = ` USING utf8mb3) COLLATE utf8mb3_general_ci) USING utf8mb4)`

	childRule = `CONCAT(' (', SUBSTRING_INDEX(ID, '/', -1), ', ON DELETE ', IF(TYPE & 1, 'CASCADE', IF(TYPE & 2,
 'SET NULL', 'NO ACTION')), ')')`
)
