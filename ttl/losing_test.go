package ttl

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestLosingAParentRenewsNothing: rows that lose a parent keep everything else, as if the server had done
// it: also columns that any UPDATE renews, among them one that is a foreign key, one by which the rows
// expire themselves, and dates that no clock shows.
func TestLosingAParentRenewsNothing(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 200)
		f.Exec(f.In("ALTER TABLE {t}.t ADD u DATETIME NOT NULL DEFAULT '2020-01-01'"),
			f.In("UPDATE {t}.t SET u = '2020-01-01' + INTERVAL id HOUR"), f.In("ALTER TABLE {t}.t ADD UNIQUE (u)"),
			f.In("CREATE TABLE {t}.stays (id INT PRIMARY KEY, t INT NULL, u DATETIME NULL ON UPDATE CURRENT_TIMESTAMP, "+
				"made TIMESTAMP NOT NULL DEFAULT '2037-01-01' ON UPDATE CURRENT_TIMESTAMP, "+
				"`on ``update` DATETIME(6) NULL DEFAULT '2001-02-03 04:05:06.789' ON UPDATE CURRENT_TIMESTAMP(6), "+
				"never DATETIME NULL ON UPDATE CURRENT_TIMESTAMP, doubled INT AS (t * 2), "+
				"FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE SET NULL, "+
				"FOREIGN KEY (u) REFERENCES {t}.t (u) ON DELETE SET NULL)"),
			f.In("INSERT INTO {t}.stays (id, t, u) SELECT id, id, u FROM {t}.t"),
			f.In("INSERT INTO {t}.stays (id, t, u) SELECT id + 1000, id, u + INTERVAL 1 HOUR FROM {t}.t WHERE id < 200"),
			"SET SESSION sql_mode = ''",
			f.In("UPDATE {t}.stays SET `on ``update` = '0000-00-00', made = made, never = never, u = u WHERE id % 5 = 0"),
			f.In("CREATE TABLE {t}.was AS SELECT id, t, u, made, `on ``update` o, never FROM {t}.stays"))
		f.set(setting.BrakeFactor, "0")
		f.taking("stays SET NULL")
		f.DeclareEvery("stays", "1h")
		defer f.run(nil)()

		f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
		if n := f.Number(f.In("SELECT COUNT(*) FROM {t}.stays s JOIN {t}.was w ON w.id = s.id " +
			"LEFT JOIN {t}.t p ON p.id = w.t LEFT JOIN {t}.t q ON q.u = w.u " +
			"WHERE s.t <=> p.id AND s.u <=> q.u AND s.doubled <=> p.id * 2")); n != 399 {
			t.Errorf("%d rows have lost the parents that are gone, and no others; want 399", n)
		}
		if n := f.Number(f.In("SELECT COUNT(*) FROM {t}.stays s JOIN {t}.was w ON w.id = s.id " +
			"WHERE s.made = w.made AND s.`on ``update` = w.o AND s.never IS NULL")); n != 399 {
			t.Errorf("%d rows are as old as they were, want 399", n)
		}
	})
}

// TestCirclesThatNull: rows point at the last of their own children, or at that of another row, by keys
// that only let them lose it. They go with all of their children, at once or in parts.
func TestCirclesThatNull(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, most := range []string{"1000", "2"} {
			t.Run(most, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 200)
				f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES {t}.t (id))"),
					f.In("ALTER TABLE {t}.t ADD last INT, ADD FOREIGN KEY (last) REFERENCES {t}.child (id) ON DELETE SET NULL"))
				for n := range 3 {
					f.Exec(fmt.Sprintf(f.In("INSERT INTO {t}.child SELECT id * 10 + %d, id FROM {t}.t"), n))
				}
				f.Exec(f.In("UPDATE {t}.t SET last = IF(id % 3 = 0, id % 200 + 1, id) * 10 + 2"))
				f.set(setting.BrakeFactor, "0")
				f.set(setting.MaxChildren, most)
				f.taking("child", "t SET NULL")
				defer f.run(nil)()

				f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
				if left := f.Rows("t") + "/" + f.Rows("child"); left != "100/300" {
					t.Errorf("%s rows are left, want 100/300", left)
				}
				if n := f.Number(f.In("SELECT COUNT(*) FROM {t}.t WHERE last <=> IF(id % 3 = 0, NULL, id * 10 + 2)")); n != 100 {
					t.Errorf("%d rows have lost their last child if it is gone, and otherwise kept it; want 100", n)
				}
				if n := f.Number(f.In("SELECT COUNT(*) FROM {t}_c.row_error")); n != 0 {
					t.Errorf("%d rows count as undeletable, want none", n)
				}
			})
		}
	})
}

// TestOpenedCircles: rows that point at themselves, and rows and children that point at each other, by keys
// that only refuse. They go, at once or in parts, if whoever declared the policy may let one of them lose
// its parent; a row that is not due keeps its own.
func TestOpenedCircles(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, most := range []string{"1000", "2"} {
			t.Run(most, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 200)
				f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, t INT NOT NULL, FOREIGN KEY (t) REFERENCES {t}.t (id))"),
					f.In("ALTER TABLE {t}.t ADD first INT, ADD self INT, ADD FOREIGN KEY (first) REFERENCES {t}.child (id), "+
						"ADD FOREIGN KEY (self) REFERENCES {t}.t (id) ON DELETE RESTRICT"))
				for n := range 3 {
					f.Exec(fmt.Sprintf(f.In("INSERT INTO {t}.child SELECT id * 10 + %d, id FROM {t}.t"), n))
				}
				f.Exec(f.In("UPDATE {t}.t SET first = IF(id % 5 < 3, id * 10, NULL), self = IF(id % 5 > 1, id, NULL)"))
				f.set(setting.BrakeFactor, "0")
				f.set(setting.MaxChildren, most)
				f.taking("child", "t", "t CIRCLES")
				defer f.run(nil)()

				f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
				if left := f.Rows("t") + "/" + f.Rows("child"); left != "100/300" {
					t.Errorf("%s rows are left, want 100/300", left)
				}
				if n := f.Number(f.In("SELECT COUNT(*) FROM {t}.t WHERE first <=> IF(id % 5 < 3, id * 10, NULL) AND " +
					"self <=> IF(id % 5 > 1, id, NULL)")); n != 100 {
					t.Errorf("%d rows still point where they did, want 100", n)
				}
				if n := f.Number(f.In("SELECT COUNT(*) FROM {t}_c.row_error")); n != 0 {
					t.Errorf("%d rows count as undeletable, want none: %s", n,
						f.Text(f.In("SELECT MAX(reason) FROM {t}_c.row_error")))
				}
			})
		}
	})
}
