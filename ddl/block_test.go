package ddl

import "testing"

// MariaDB takes blocks outside stored programs: their semicolons end no statement.
func TestBlocksAreOneStatement(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"BEGIN NOT ATOMIC SET @a = 1; EXECUTE IMMEDIATE @b; END",
		"FOR r IN (SELECT 1 AS n) DO SET NAMES utf8mb4; EXECUTE IMMEDIATE CONCAT('SELECT ', r.n); END FOR",
		"IF @a THEN DROP TABLE t; ELSE ALTER TABLE t REMOVE TTL; END IF",
		"WHILE @a DO SHOW TTL JOBS; END WHILE", "LOOP TRUNCATE t; END LOOP", "REPEAT DROP TABLE t; UNTIL 1 END REPEAT",
		"CASE @a WHEN 1 THEN DROP TABLE t; END CASE",
		"BEGIN SELECT 1; DROP TABLE t; END", "DECLARE a INT; b INT; BEGIN SELECT 1; DROP TABLE t; END",
		"<<l>> BEGIN SELECT 1; DROP TABLE t; END", "l: LOOP SELECT 1; DROP TABLE t; LEAVE l; END LOOP",
		"CREATE DEFINER=CURRENT_USER() PROCEDURE p() BEGIN SELECT 1; DROP TABLE t; END",
		"CREATE DEFINER=CURRENT_ROLE() EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN SELECT 1; DROP TABLE t; END",
		"CREATE LIBRARY l LANGUAGE JAVASCRIPT AS $$ f(); drop; table; $$",
	} {
		if parts := Parse(text, Mode{MariaDB: true}); len(parts) != 1 || parts[0].Action != nil ||
			parts[0].Forward() != text {
			t.Errorf("%s: got %d statements, the first with %#v", text, len(parts), parts[0].Action)
		}
	}
}

// What only begins like a block ends at its semicolon.
func TestNoBlocks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"BEGIN; DROP TABLE t", "BEGIN WORK; DROP TABLE t", "ALTER PROCEDURE p COMMENT 'x'; DROP TABLE t",
		"CREATE USER procedure_owner; DROP TABLE t", "ALTER FUNCTION f SQL SECURITY INVOKER; DROP TABLE t",
	} {
		if parts := Parse(text, Mode{MariaDB: true}); len(parts) != 2 || parts[1].Action == nil {
			t.Errorf("%s: got %d statements, want the DROP TABLE to be one", text, len(parts))
		}
	}
}
