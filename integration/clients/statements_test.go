package clients

// script is what any application might say: every family of types, NULLs, warnings, errors in the
// middle, transactions, procedures, large results and long names. It leaves nothing behind.
var script = []request{
	{"SELECT 1"},
	{"SELECT NULL, '', 'ü ß 漢字 🦉', 0x00FF, TRUE, -1, 18446744073709551615, 1.50, 1e100, DATE '2024-02-29'"},
	{"DROP TABLE IF EXISTS clients_types"},
	{"CREATE TABLE clients_types (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, ti TINYINT, si SMALLINT, mi " +
		"MEDIUMINT, i INT," +
		" bi BIGINT, de DECIMAL(30,10), f FLOAT, d DOUBLE, b BIT(9), da DATE, ti6 TIME(6), dt DATETIME(6), ts " +
		"TIMESTAMP NULL," +
		" y YEAR, c CHAR(4), v VARCHAR(64), bn BINARY(3), vb VARBINARY(8), t TEXT, bl BLOB, e ENUM('a','b'), s " +
		"SET('x','y','z'), j JSON)" +
		" DEFAULT CHARSET=utf8mb4"},
	{"INSERT INTO clients_types VALUES (1, -128, -32768, -8388608, -2147483648, -9223372036854775808, " +
		"-12345678901234567890.1234567890," +
		" 1.5, 2.25, b'101', '1000-01-01', '-838:59:59', '9999-12-31 23:59:59.999999', '2001-02-03 04:05:06', 1901, " +
		"'abcd', 'v', 'b', 'vb'," +
		" 'text', 'blob', 'a', 'x,z', '{\"k\": [1, null]}')"},
	{"INSERT INTO clients_types (id) VALUES (NULL), (NULL)"},
	{"SELECT LAST_INSERT_ID(), ROW_COUNT()"},
	{"SELECT * FROM clients_types ORDER BY id"},
	{"SELECT id FROM clients_types WHERE id > ? AND v <=> ?", "0", "v"},
	{"UPDATE clients_types SET v = ? WHERE id >= ?", "changed", "2"},
	{"SELECT 'it''s', \"double\", `v`, 'a;b', '/* no comment */' FROM clients_types -- a comment ; with a quote '"},
	{"SELECT CAST('12x' AS SIGNED)"},
	{"SHOW WARNINGS"},
	{"SELECT nope FROM clients_types"},
	{"SELECT * FROM clients_nowhere"},
	{"THIS IS NOT SQL"},
	{"SELECT 'still here'"},
	{"INSERT INTO clients_types (id) VALUES (1)"},
	{"START TRANSACTION"},
	{"DELETE FROM clients_types WHERE id = 1"},
	{"ROLLBACK"},
	{"SELECT COUNT(*) FROM clients_types"},
	{"SET @seen = 'a user variable'"},
	{"SELECT @seen"},
	{"SELECT a.n, b.n, REPEAT('row', 20) FROM (SELECT 1 n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) a, " +
		"(SELECT 1 n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) b, clients_types ORDER BY 1, 2, 3"},
	{"SELECT REPEAT('x', 100000)"},
	{"SELECT TABLE_NAME, ENGINE FROM information_schema.tables WHERE TABLE_NAME = 'clients_types'"},
	{"SHOW CREATE TABLE clients_types"},
	{"SHOW COLUMNS FROM clients_types"},
	{"DESCRIBE clients_types"},
	{"ALTER TABLE clients_types ADD COLUMN ttl INT DEFAULT 5, ADD KEY ttl_key (ttl)"},
	{"SELECT ttl AS `TTL`, 'TTL = a + INTERVAL 1 DAY' FROM clients_types WHERE ttl = 5 ORDER BY id LIMIT 1"},
	{"TRUNCATE TABLE clients_types"},
	{"DROP TABLE clients_types"},
}
