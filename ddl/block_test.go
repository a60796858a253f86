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
	} {
		if parts := Parse(text, Mode{MariaDB: true}); len(parts) != 1 || parts[0].Action != nil || parts[0].Forward() != text {
			t.Errorf("%s: got %d statements, the first with %#v", text, len(parts), parts[0].Action)
		}
	}
}
