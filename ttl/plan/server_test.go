package plan

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// eachServer runs a test against MariaDB and MySQL, in sessions like the engine's.
func eachServer(t *testing.T, run func(t *testing.T, db *sql.DB)) {
	t.Helper()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		cfg := s.Config("")
		cfg.Params = map[string]string{"time_zone": "'+00:00'", "sql_mode": "'ALLOW_INVALID_DATES'"}
		db := mysqltest.Open(t, cfg)
		db.SetMaxOpenConns(1)
		run(t, db)
	})
}

func mustExec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// keyTypes are tables of one key type each: the key's columns, and an expression of n (1…rows) that
// fills them.
var keyTypes = []struct {
	name, columns, key, fill string
	whole                    bool // makes one task
	mariadbOnly              bool
}{
	{name: "bigint", columns: "id BIGINT NOT NULL", key: "id", fill: "n * 3 - 20000"},
	{name: "unsigned", columns: "id BIGINT UNSIGNED NOT NULL", key: "id", fill: "18446744073709551615 - n * 1000003"},
	{name: "decimal", columns: "id DECIMAL(30,6) NOT NULL", key: "id", fill: "n / 7 - 900"},
	{
		name: "varchar_ci", columns: "id VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL", key: "id",
		fill: "CONCAT(IF(n % 2, 'Key', 'kEY'), LPAD(n, 6, '0'), 'š')",
	},
	{
		name: "varchar_latin1", columns: "id VARCHAR(60) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL",
		key: "id", fill: "CONCAT(SHA2(n, 256))",
	},
	{
		name: "varchar_bin", columns: "id VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL", key: "id",
		fill: "CONCAT('x''\\\\ ', SHA2(n, 224))",
	},
	{
		name: "cyrillic", columns: "id VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL", key: "id",
		fill: "CONCAT(CHAR(53392 + n % 16 USING utf8mb4), CONVERT(UNHEX(HEX(53424 + n DIV 16 % 15)) USING utf8mb4), n)",
	},
	{
		name: "char_uuid", columns: "id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL", key: "id",
		fill: "UUID()",
	},
	{
		name: "utf16", columns: "id VARCHAR(60) CHARACTER SET utf16 COLLATE utf16_bin NOT NULL", key: "id",
		fill: "CONCAT('é', n)",
	},
	{name: "binary", columns: "id BINARY(16) NOT NULL", key: "id", fill: "UNHEX(LEFT(SHA2(n, 256), 32))"},
	{
		name: "varbinary", columns: "id VARBINARY(20) NOT NULL", key: "id",
		fill: "UNHEX(LEFT(SHA2(n, 256), 2 + 2 * (n % 10) + IF(n > 200, 16, 0)))",
	},
	{name: "bit", columns: "id BIT(40) NOT NULL", key: "id", fill: "n * 77"},
	{name: "enum", columns: "e ENUM('z','a','m''m','B') NOT NULL, id INT NOT NULL", key: "e, id", fill: "1 + n % 4, n"},
	{name: "set", columns: "s SET('z','a','m') NOT NULL, id INT NOT NULL", key: "s, id", fill: "n % 8, n"},
	{
		name:    "hugeset",
		columns: "s SET('a','b','c','d','e','f','g','h','i','j','k','l','m','n') NOT NULL, id INT NOT NULL",
		key:     "s, id", fill: "n % 16384, n", whole: true,
	},
	{
		name: "bigset", columns: "s SET('a','b','c','d','e','f','g','h','i','j') NOT NULL, id INT NOT NULL", key: "s, id",
		fill: "n % 1024, n",
	},
	{
		name: "date", columns: "d DATE NOT NULL, id INT NOT NULL", key: "d, id",
		fill: "'2000-01-01' + INTERVAL n % 900 DAY, n",
	},
	{
		name: "datetime", columns: "d DATETIME(6) NOT NULL", key: "d",
		fill: "TIMESTAMP'2000-01-01 00:00:00.000001' + INTERVAL n * 1234567 MICROSECOND",
	},
	{
		name: "timestamp", columns: "d TIMESTAMP NOT NULL DEFAULT '2000-01-01 00:00:00', id INT NOT NULL", key: "d, id",
		fill: "TIMESTAMP'2024-10-26 20:00:00' + INTERVAL n SECOND, n",
	},
	{name: "time", columns: "d TIME(3) NOT NULL, id INT NOT NULL", key: "d, id", fill: "SEC_TO_TIME(n - 3000), n"},
	{
		name: "year", columns: "y YEAR NOT NULL, id INT NOT NULL", key: "y, id",
		fill: "IF(n % 100 = 0, 0, 1901 + n % 200), n",
	},
	{
		name: "composite", columns: "a INT NOT NULL, b VARCHAR(20) NOT NULL, c BIGINT NOT NULL", key: "a, b, c",
		fill: "n DIV 3000, CONCAT('b', n % 7), n",
	},
	{name: "unique", columns: "id INT NOT NULL, u VARCHAR(40) NOT NULL", key: "UNIQUE u", fill: "n, CONCAT('u', n)"},
	{name: "skewed", columns: "id BIGINT NOT NULL", key: "id", fill: "IF(n < 8000, n, n * n * n * 1000000)"},
	{
		name: "snowflake", columns: "id BIGINT UNSIGNED NOT NULL", key: "id",
		fill: "IF(n = 1, 1, 1700000000000 * 4194304 + n * 4194304 * 17)",
	},
	{name: "bitpair", columns: "b BIT(4) NOT NULL, id INT NOT NULL", key: "b, id", fill: "n % 16, n"},
	{name: "uuid", columns: "id UUID NOT NULL", key: "id", fill: "UUID()", mariadbOnly: true},
	{
		name: "uuid4", columns: "id UUID NOT NULL", key: "id",
		fill: "LEFT(INSERT(INSERT(SHA2(n, 224), 13, 1, '4'), 17, 1, 'b'), 32)", mariadbOnly: true,
	},
	{
		name: "uuid7", columns: "id UUID NOT NULL", key: "id",
		fill:        "CONCAT('01980000', LPAD(HEX(n), 4, '0'), '7', LEFT(SHA2(n, 224), 3), 'b', LEFT(SHA2(n + 1, 224), 15))",
		mariadbOnly: true,
	},
	{
		name: "utf16le_ci", columns: "id VARCHAR(60) CHARACTER SET utf16le COLLATE utf16le_general_ci NOT NULL", key: "id",
		fill: "SHA2(n, 224)",
	},
	{
		name: "utf32", columns: "id VARCHAR(60) CHARACTER SET utf32 COLLATE utf32_unicode_ci NOT NULL", key: "id",
		fill: "CONCAT('Ж', n)",
	},
	{
		name: "sjis", columns: "id VARCHAR(60) CHARACTER SET sjis NOT NULL", key: "id",
		fill: "CONCAT(ELT(1 + n % 5, 'ア', 'カ', 'サ', 'タ', 'ナ'), n)",
	},
	{
		name: "skewed_decimal", columns: "id DECIMAL(30,6) NOT NULL", key: "id",
		fill: "IF(n < 8000, n / 1000000, n * n * 1000000)",
	},
	{
		name: "skewed_text", columns: "id VARCHAR(60) CHARACTER SET utf8mb4 NOT NULL", key: "id",
		fill: "IF(n < 8000, CONCAT('customer-0000-', LPAD(n, 8, '0')), SHA2(n, 224))",
	},
	{
		name: "skewed_bytes", columns: "id VARBINARY(40) NOT NULL", key: "id",
		fill: "IF(n < 8000, CONCAT('k', LPAD(n, 30, '0')), UNHEX(SHA2(n, 224)))",
	},
	{
		name: "skewed_dates", columns: "d DATETIME NOT NULL, id INT NOT NULL", key: "d, id",
		fill: "IF(n < 8000, TIMESTAMP'2024-01-01 12:00:00' + INTERVAL n SECOND, TIMESTAMP'1971-01-01 00:00:00' + " +
			"INTERVAL n * 100 HOUR), n",
	},
	{
		name: "skewed_enum", columns: "e ENUM('a','b','c','d') NOT NULL, id BIGINT NOT NULL", key: "e, id",
		fill: "IF(n % 50 = 0, 1 + n % 3, 4), n * n",
	},
	{
		name: "skewed_pair", columns: "a BIGINT NOT NULL, b CHAR(8) NOT NULL", key: "a, b",
		fill: "IF(n < 8000, 7, n * 1000000), LPAD(HEX(n * 7919), 8, '0')",
	},
	{name: "inet4", columns: "id INET4 NOT NULL", key: "id", fill: "INET_NTOA(167772160 + n * 77)", mariadbOnly: true},
	{name: "inet6", columns: "id INET6 NOT NULL", key: "id", fill: "CONCAT('::', HEX(n))", mariadbOnly: true},
}

const keyRows = 9000

func fillKeyTable(t *testing.T, db *sql.DB, schema, name, columns, key, fill string) {
	t.Helper()
	primary := "PRIMARY KEY (" + key + ")"
	if u, unique := strings.CutPrefix(key, "UNIQUE "); unique {
		primary = "UNIQUE KEY (" + u + ")"
	}
	mustExec(t, db,
		fmt.Sprintf("CREATE TABLE %s.%s (%s, made DATETIME NULL, pad CHAR(20) DEFAULT 'x', %s) ENGINE=InnoDB",
			schema, name, columns, primary),
		fmt.Sprintf("INSERT IGNORE INTO %s.%s SELECT %s, CASE WHEN n %% 10 = 9 THEN NULL WHEN n %% 10 = 8 THEN "+
			"'0000-00-00' WHEN n %% 2 = 0 THEN '2020-01-01' ELSE '2030-01-01' END, 'x' FROM %s.numbers", schema, name,
			fill, schema),
		fmt.Sprintf("ANALYZE TABLE %s.%s", schema, name))
}

func makeNumbers(t *testing.T, db *sql.DB, schema string, rows int) {
	t.Helper()
	mustExec(t, db, "DROP DATABASE IF EXISTS "+schema, "CREATE DATABASE "+schema+" CHARACTER SET utf8mb4",
		"CREATE TABLE "+schema+".digits (d INT)",
		"INSERT INTO "+schema+".digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
		fmt.Sprintf("CREATE TABLE %s.numbers (n INT PRIMARY KEY) AS SELECT 1 + a.d + 10*b.d + 100*c.d + 1000*e.d + "+
			"10000*f.d AS n FROM %[1]s.digits a, %[1]s.digits b, %[1]s.digits c, %[1]s.digits e, %[1]s.digits f "+
			"HAVING n <= %d", schema, rows))
	t.Cleanup(func() { _, _ = db.Exec("DROP DATABASE IF EXISTS " + schema) })
}

func statementsFor(t *testing.T, db *sql.DB, schema, table string) (*tables.Facts, *Statements) {
	t.Helper()
	f, err := tables.ReadFacts(t.Context(), db, schema, table)
	if err != nil {
		t.Fatal(err)
	}

	cutoff, err := NewCutoff(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC, ddl.Span{Months: 1}, tables.Datetime, 0)
	if err != nil {
		t.Fatal(err)
	}

	s, err := NewStatements(&f.Layout, "", "made", cutoff, DefaultFloor, Staying{})
	if err != nil {
		t.Fatal(err)
	}

	return f, s
}

// TestWalkEveryKeyType reads whole tables in blocks: every row once, strictly onwards, by the
// intended index.
func TestWalkEveryKeyType(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "plan_keys", keyRows)
		for _, k := range keyTypes {
			t.Run(k.name, func(t *testing.T) {
				if k.mariadbOnly && !strings.Contains(t.Name(), "mariadb") {
					t.Skip("MySQL has no such type")
				}

				fillKeyTable(t, db, "plan_keys", k.name, k.columns, k.key, k.fill)
				f, s := statementsFor(t, db, "plan_keys", k.name)
				walkInBlocks(t, db, s)
				splitEvenly(t, db, s, !k.whole)
				findsOne(t, db, s)
				deleteInBlocks(t, db, f, s)
			})
		}
	})
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func walkInBlocks(t *testing.T, db *sql.DB, s *Statements) {
	t.Helper()
	rows := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source())
	const size = 700
	var at tables.Key

	for n := 0; ; n += size {
		query, err := s.BlockEnd(Range{From: at}, size)
		if err != nil {
			t.Fatal(err)
		}

		end, err := QueryKey(t.Context(), db, query, len(s.Key))
		if err != nil {
			t.Fatal(err)
		}

		if end == nil {
			where, _ := s.within(Range{From: at})
			if left := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source()+" WHERE "+where); n+left != rows {
				t.Fatalf("blocks cover %d rows, want %d", n+left, rows)
			}
			return
		}

		where, _ := s.within(Range{at, end})
		if got := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source()+" WHERE "+where); got != size {
			t.Fatalf("block (%s, %s] has %d rows, want %d", at.Encode(), end.Encode(), got, size)
		}
		if err := s.Verify(t.Context(), db, WalkRange, end); err != nil {
			t.Fatal(err)
		}

		back, err := tables.DecodeKey(end.Encode())
		if err != nil || !back.Equal(end) {
			t.Fatalf("key %q comes back as %q (%v)", end, back, err)
		}

		at = end
	}
}

// findsOne: the row of a single key is found by the index, whatever is done to it.
func findsOne(t *testing.T, db *sql.DB, s *Statements) {
	t.Helper()
	query, err := s.BlockEnd(Range{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	key, err := QueryKey(t.Context(), db, query, len(s.Key))
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Key.In([]tables.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source()+" WHERE "+in); n != 1 {
		t.Errorf("%s is true of %d rows, want one", in, n)
	}
	remove, err := s.DeleteKeys([]tables.Key{key}, "@nothing = 1")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		remove, "DELETE FROM " + s.Target.Source() + " WHERE " + in,
		"UPDATE " + s.Target.Source() + " SET made = NULL WHERE " + in + " AND @nothing = 1",
	} {
		wantByIndex(t, db, statement)
	}
}

// wantByIndex compares how the server would carry out a statement that concerns one row.
func wantByIndex(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN FORMAT=TRADITIONAL "+statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	fields := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range fields {
		into[i] = &fields[i]
	}
	if !rows.Next() || rows.Scan(into...) != nil || rows.Err() != nil {
		t.Fatalf("EXPLAIN says nothing of %s: %v", statement, rows.Err())
	}
	how := fields[slices.Index(names, "type")].String
	if how == "ALL" || how == "index" {
		t.Errorf("%s reads all rows (%s)", statement, how)
	}
}

func splitEvenly(t *testing.T, db *sql.DB, s *Statements, even bool) {
	t.Helper()
	rows := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source())
	ranges, err := s.Split(t.Context(), db, Estimate{}, 8)
	if err != nil {
		t.Fatal(err)
	}

	sum, least, most := 0, rows, 0
	for i, r := range ranges {
		if i > 0 && !r.From.Equal(ranges[i-1].To) {
			t.Fatalf("range %d does not begin where the one before it ends", i)
		}

		where, err := s.within(r)
		if err != nil {
			t.Fatal(err)
		}

		n := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source()+" WHERE "+where)
		sum, least, most = sum+n, min(least, n), max(most, n)
	}

	if sum != rows {
		t.Errorf("%d ranges hold %d rows, want %d", len(ranges), sum, rows)
	}
	if even && (len(ranges) != 8 || most > 2*least) {
		t.Errorf("%d ranges from %d to %d rows; want 8 within a factor of two", len(ranges), least, most)
	}
	if !even && len(ranges) != 1 {
		t.Errorf("%d ranges, want one", len(ranges))
	}

	t.Logf("%d ranges %d..%d", len(ranges), least, most)
}

func isMariaDB(t *testing.T, db *sql.DB) bool {
	t.Helper()
	return count(t, db, "SELECT VERSION() LIKE '%MariaDB%'") == 1
}

// TestForcingNamesTheIndex: the servers read all of a small table for a long list of keys, unless
// told not to. Also in a partition.
func TestForcingNamesTheIndex(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "plan_forcing", 900)
		mustExec(t, db, "CREATE TABLE plan_forcing.whole (id INT PRIMARY KEY, made DATETIME)")
		mustExec(t, db,
			"CREATE TABLE plan_forcing.parts (id INT PRIMARY KEY, made DATETIME) PARTITION BY RANGE (id) (PARTITION "+
				"a VALUES LESS THAN (901), PARTITION b VALUES LESS THAN MAXVALUE)")

		for table, partition := range map[string]string{"whole": "", "parts": "a"} {
			mustExec(t, db, "INSERT INTO plan_forcing."+table+" SELECT n, '2020-01-01' FROM plan_forcing.numbers")
			mustExec(t, db, "ANALYZE TABLE plan_forcing."+table)
			f, err := tables.ReadFacts(t.Context(), db, "plan_forcing", table)
			if err != nil {
				t.Fatal(err)
			}

			s := StatementsOf(&f.Layout, partition, "made", "'2026-01-01'", "'1970-01-02'", Staying{})
			var keys []tables.Key
			for n := range 800 {
				keys = append(keys, tables.Key{tables.Value(strconv.Itoa(n + 1))})
			}

			for _, c := range []struct {
				s    *Statements
				kind string
			}{{s, "ALL"}, {s.Forcing(isMariaDB(t, db)), "range"}} {
				del, err := c.s.DeleteKeys(keys, "")
				if err != nil {
					t.Fatal(err)
				}
				if a, err := explain(t.Context(), db, del); err != nil || a.Type != c.kind {
					t.Errorf("%s: access %+v, %v; want %s", table, a, err, c.kind)
				}
			}

			del, _ := s.Forcing(isMariaDB(t, db)).DeleteKeys(keys, "")
			mustExec(t, db, del)
			if left := count(t, db, "SELECT COUNT(*) FROM plan_forcing."+table); left != 100 {
				t.Errorf("%s: %d rows are left, want 100", table, left)
			}
		}
	})
}

func deleteInBlocks(t *testing.T, db *sql.DB, f *tables.Facts, s *Statements) {
	t.Helper()
	due := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source()+" WHERE made = '2020-01-01'")
	rows := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source())
	query, _ := s.BlockEnd(Range{}, 500)

	end, err := QueryKey(t.Context(), db, query, len(s.Key))
	if err != nil {
		t.Fatal(err)
	}

	query, err = s.BlockKeys(Range{To: end})
	if err != nil {
		t.Fatal(err)
	}

	keys, err := QueryKeys(t.Context(), db, query, len(s.Key))
	if err != nil {
		t.Fatal(err)
	}

	query, err = s.UnlockedKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	if free, err := QueryKeys(t.Context(), db, query, len(s.Key)); err != nil || len(free) != len(keys) {
		t.Errorf("%d of %d keys are free, %v", len(free), len(keys), err)
	}

	half := len(keys) / 2
	for _, part := range []struct {
		s    *Statements
		keys []tables.Key
	}{{s, keys[:half]}, {s.Forcing(isMariaDB(t, db)), keys[half:]}} {
		lock, err := part.s.LockKeys(part.keys)
		if err != nil {
			t.Fatal(err)
		}

		mustExec(t, db, lock)
		del, err := part.s.DeleteKeys(part.keys, "")
		if err != nil {
			t.Fatal(err)
		}

		result, err := db.ExecContext(t.Context(), del)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := result.RowsAffected(); int(n) != len(part.keys) {
			t.Errorf("%d keys deleted %d rows: %s", len(part.keys), n, del)
		}
	}

	lock, err := s.LockRange(Range{})
	if err != nil {
		t.Fatal(err)
	}

	mustExec(t, db, lock)
	query, _ = s.BlockEnd(Range{From: end}, 500)
	next, err := QueryKey(t.Context(), db, query, len(s.Key))
	if err != nil {
		t.Fatal(err)
	}

	forced, err := s.Forcing(isMariaDB(t, db)).DeleteRange(Range{From: end, To: next}, "")
	if err != nil {
		t.Fatal(err)
	}

	del, err := s.DeleteRange(Range{}, "")
	if err != nil {
		t.Fatal(err)
	}

	mustExec(t, db, forced)
	mustExec(t, db, del)
	if left := count(t, db, "SELECT COUNT(*) FROM "+s.Target.Source()); left != rows-due {
		t.Errorf("%d rows are left, want %d", left, rows-due)
	}
}

// TestOneEntryIsFoundByTheIndex: the entry of a single row of a queue is deleted without a look at all others.
func TestOneEntryIsFoundByTheIndex(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "plan_queue", 1000)
		mustExec(t, db, "USE plan_queue", "CREATE TABLE entry (queue_id BIGINT UNSIGNED NOT NULL, "+
			"shard SMALLINT UNSIGNED NOT NULL, dated DATETIME(6) NOT NULL, key_hash BINARY(16) NOT NULL, PRIMARY KEY (queue_id, shard, dated, key_hash))",
			"INSERT INTO entry SELECT 1, 0, '2024-01-01', LEFT(SHA2(n, 256), 16) FROM numbers",
			"ANALYZE TABLE entry")
		q := ExpiryQueue{Table: "plan_queue.entry", ID: 1}
		e := Entry{Date: "2024-01-01 00:00:00.000000", Hash: tables.Value(strings.Repeat("x", 16))}
		wantByIndex(t, db, q.Remove([]Entry{e}, "@nothing = 1"))
		wantByIndex(t, db, q.Remove([]Entry{e, e}, "@nothing = 1"))
	})
}
