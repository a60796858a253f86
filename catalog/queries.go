package catalog

// guardText is formatted with the quoted schema, the policy and its version.
const guardText = `EXISTS (SELECT 1 FROM %[1]s.policy WHERE id = %[2]d AND version = %[3]d AND armed LOCK IN SHARE MODE)
 AND EXISTS (SELECT 1 FROM %[1]s.pause WHERE policy_id = %[2]d AND NOT (paused
 AND (until IS NULL OR until > UTC_TIMESTAMP(6))) LOCK IN SHARE MODE)
 AND EXISTS (SELECT 1 FROM %[1]s.pause WHERE policy_id = 0 AND NOT held AND NOT (paused
 AND (until IS NULL OR until > UTC_TIMESTAMP(6))) LOCK IN SHARE MODE)`

// alongText is formatted with the quoted schema, names of tables, and how many policies they have.
const alongText = `
 AND (SELECT COUNT(*) FROM %s.policy WHERE (schema_name, table_name) IN (%s)) = %d`

// approvedText is formatted with the quoted schema and the policy, of which guardText has locked the row.
const approvedText = `
 AND NOT (SELECT approval_required FROM %s.policy WHERE id = %d LOCK IN SHARE MODE)`

// reachedText is formatted with the quoted schema, the catalog's id and a generation. It locks
// nothing: the generation moves all the time.
const reachedText = `
 AND EXISTS (SELECT 1 FROM %s.generation WHERE id = 1 AND catalog_id = %s AND value >= %d)`

// Writable is the condition, as SQL, that the server was not made read-only, for whomever. From MariaDB 12.0 on the
// variable is a word, and any word is equal to the number 0.
const Writable = `CAST(@@global.read_only AS CHAR) IN ('0', 'OFF')`

// The server.
const (
	selectReadOnly        = `SELECT NOT (` + Writable + `)`
	selectServer          = `SELECT VERSION(), @@hostname, @@port, @@lower_case_table_names`
	selectServerVariables = `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid',
 'group_replication_group_name')`
	selectServerStatus = `SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'wsrep_cluster_state_uuid')`
	selectBoot         = `SELECT UTC_TIMESTAMP(0) - INTERVAL ? SECOND`
)

// The schema.
const (
	createSchema = `CREATE DATABASE IF NOT EXISTS `
	dropSchema   = `DROP DATABASE IF EXISTS `
	// selectContents lists what there can be in a schema of any server; views are among the tables.
	selectContents = `SELECT IF(TABLE_TYPE LIKE '%VIEW', 'VIEW', 'TABLE'), TABLE_NAME FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = ?
UNION ALL SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ?
UNION ALL SELECT 'EVENT', EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ?`
	// MySQL has libraries from 9.2 on.
	selectLibraries = `SELECT 'LIBRARY', LIBRARY_NAME FROM information_schema.LIBRARIES WHERE LIBRARY_SCHEMA = ?`
	// selectSeesContents counts the rights that show routines and events. Those that come by a role
	// are not listed.
	selectSeesContents = `SELECT COUNT(DISTINCT PRIVILEGE_TYPE) FROM (
  SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES
  UNION ALL SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE ? LIKE TABLE_SCHEMA
) AS held WHERE PRIVILEGE_TYPE IN ('EXECUTE', 'EVENT') AND GRANTEE = ?`
	selectAccount   = `SELECT CURRENT_USER()`
	createMigration = `CREATE TABLE IF NOT EXISTS {migration} (
  number     INT UNSIGNED NOT NULL,
  name       VARCHAR(128) NOT NULL,
  checksum   CHAR(64)     NOT NULL COMMENT 'SHA-256 of the file',
  applied_at DATETIME(6)  NOT NULL,
  applied_by VARCHAR(64)  NOT NULL COMMENT 'version of ttlproxy',
  PRIMARY KEY (number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`
	selectMigrations = `SELECT number, name, checksum, applied_by FROM {migration} ORDER BY number`
	beginMigration   = `INSERT IGNORE INTO {migration} (number, name, checksum, applied_at, applied_by)
 VALUES (?, ?, ?, UTC_TIMESTAMP(6), ?)`
	endMigration = `UPDATE {migration} SET checksum = ?, applied_at = UTC_TIMESTAMP(6), applied_by = ?
 WHERE number = ?`
	withdrawMigration = `DELETE FROM {migration} WHERE number = ? AND checksum = ?`
)
