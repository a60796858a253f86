package ttl

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestEveryKeyTypeEndToEnd lets the engine clean tables with keys of every type, by key and, with
// an index on time, from the old end. n runs from 1 to 3000; rows with odd n are expired.
func TestEveryKeyTypeEndToEnd(t *testing.T) {
	t.Parallel()
	keys := []struct{ name, columns, key, fill string }{
		{"big", "id BIGINT", "id", "n * 7 - 9000"},
		{"unsigned", "id BIGINT UNSIGNED", "id", "18446744073709551615 - n * 1000003"},
		{"dec", "id DECIMAL(30,6)", "id", "n / 7 - 200"},
		{
			"ci", "id VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "id",
			"CONCAT(IF(n % 3, 'Key', 'kEY'), n, 'š')",
		},
		{
			"bin", "id VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "id",
			"CONCAT('x''\\\\ ', SHA2(n, 224), '')",
		},
		{"latin", "id CHAR(60) CHARACTER SET latin1", "id", "SHA2(n, 224)"},
		{"wide", "id VARCHAR(60) CHARACTER SET utf16", "id", "CONCAT('Ж', n, '€')"},
		{"bytes", "id VARBINARY(20)", "id", "UNHEX(LEFT(SHA2(n, 256), 40))"},
		{"bits", "id BIT(40)", "id", "n * 77"},
		{"enums", "e ENUM('z','a','m''m'), id INT", "e, id", "1 + n % 3, n"},
		{"sets", "s SET('z','a','m'), id INT", "s, id", "n % 8, n"},
		{"manysets", "s SET('a','b','c','d','e','f','g','h','i','j','k','l','m','n'), id INT", "s, id", "n % 16384, n"},
		{"dates", "d DATE, id INT", "d, id", "'2000-01-01' + INTERVAL n % 90 DAY, n"},
		{"datetimes", "d DATETIME(6)", "d", "TIMESTAMP'2000-01-01 00:00:00.000001' + INTERVAL n * 1234567 MICROSECOND"},
		{"stamps", "d TIMESTAMP, id INT", "d, id", "TIMESTAMP'2024-10-26 23:00:00' + INTERVAL n * 5 SECOND, n"},
		{"times", "d TIME(3), id INT", "d, id", "SEC_TO_TIME(n - 1500), n"},
		{"years", "y YEAR, id INT", "y, id", "IF(n % 100 = 0, 0, 1901 + n % 200), n"},
		{"uuids", "id CHAR(36) CHARACTER SET ascii", "id", "CONCAT(LEFT(SHA2(n, 224), 8), '-', LPAD(n, 4, '0'))"},
		{"mixed", "a INT, b VARCHAR(20), c BIGINT", "a, b, c", "n DIV 1000, CONCAT('b', n % 7), n"},
		{"uniq", "u VARCHAR(40) NOT NULL, v INT NULL", "UNIQUE u", "CONCAT('u', n), n"},
		{"none", "v INT", "", "n"},
		{"prefixed", "v VARBINARY(300)", "PREFIX v(20)", "CONCAT(n, ' and more than the prefix')"},
	}
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("numbers", 3000)

		for _, k := range keys {
			key := ", PRIMARY KEY (" + k.key + ")"
			if u, unique := strings.CutPrefix(k.key, "UNIQUE "); unique {
				key = ", UNIQUE KEY (" + u + ")"
			} else if p, prefix := strings.CutPrefix(k.key, "PREFIX "); prefix {
				key = ", PRIMARY KEY (" + p + ")"
			} else if k.key == "" {
				key = ""
			}

			for _, index := range []string{"", ", INDEX (made)"} {
				table := k.name
				if index != "" {
					table += "_t"
				}

				f.Exec("CREATE TABLE "+f.Schema+"."+table+" ("+k.columns+", made DATETIME NULL"+key+index+")",
					"INSERT INTO "+f.Schema+"."+table+" SELECT "+k.fill+", made FROM (SELECT id AS n, made FROM "+
						f.Schema+".numbers) AS numbered", "ANALYZE TABLE "+f.Schema+"."+table)
				f.Declare(table)
			}
		}
		defer f.run(nil)()

		for _, k := range keys {
			for _, table := range []string{k.name, k.name + "_t"} {
				f.Wait("the expired rows of "+table+" to go", func() bool { return f.Rows(table) == "1500" })
				if left := f.Text("SELECT COUNT(*) FROM " + f.Schema + "." + table +
					" WHERE made < NOW()"); left != "0" {
					t.Errorf("%s: %s expired rows are left", table, left)
				}
			}
		}

		if failed := f.Text("SELECT COALESCE(GROUP_CONCAT(CONCAT(table_name, ': ', reason)), '') FROM " + f.Schema +
			"_c.job_history WHERE state <> 'finished'"); failed != "" {
			t.Errorf("jobs did not finish: %s", failed)
		}
	})
}
