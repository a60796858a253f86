package ttl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestImportAroundTheProxy: rows that came by IMPORT TABLESPACE, which is how backups bring one table back,
// stay until a person approves, even if nobody told the proxy. MySQL keeps the id of the file and the time
// of the table.
func TestImportAroundTheProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ shape, place, file string }{
		"table": {"", "", "t"},
		"partition": {
			" PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))",
			"PARTITION p1", "t#p#p1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
				f := newFixture(t, cfg, 0)
				if f.Store.Server().MariaDB && c.place != "" {
					return // it has no such statement
				}
				files := f.Text("SELECT @@datadir")
				if _, err := os.Stat(filepath.Join(files, f.Schema)); err != nil {
					t.Skip("the server's files are not here")
				}
				f.Exec(f.In("CREATE TABLE {t}.t (id INT PRIMARY KEY, made DATETIME)"+c.shape),
					f.In("INSERT INTO {t}.t VALUES (101, '2027-04-01'), (102, '2027-05-30')"),
					f.In("CREATE TABLE {t}.u (id INT PRIMARY KEY, made DATETIME)"),
					f.In("INSERT INTO {t}.u VALUES (111, '2019-04-01'), (112, '2019-04-02'), "+
						"(113, '2019-04-03')"))
				m := f.at(utc("05-12 12:00:00"))
				p := m.declare("UTC", "30m", nil)
				m.pass()

				left := func(want string) {
					t.Helper()
					got := f.Text(f.In("SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM {t}.t"))
					if got != want {
						t.Errorf("%s are left, want %s", got, want)
					}
				}
				left("102")

				f.importOver(c.place, c.file, files)
				f.at(utc("05-12 13:00:00")).pass()
				left("111,112,113")
				state := f.Text(f.In("SELECT CONCAT_WS(', ', state, approval_required, approval_reason) " +
					"FROM {t}_c.policy"))
				if !strings.HasPrefix(state, "armed, 1, ") || !strings.Contains(state, "outside ttlproxy") {
					t.Errorf("the policy is %s", state)
				}
				event := f.Text(f.In(fmt.Sprintf("SELECT text FROM {t}_c.event WHERE kind = '%s' ORDER BY id LIMIT 1",
					catalog.EventBraked)))
				if !strings.Contains(event, "outside ttlproxy") {
					t.Errorf("the event is %q", event)
				}

				// Approved, they go, and nobody asks again.
				now := f.at(utc("05-12 14:00:00"))
				if _, err := now.engine.store.Consent(t.Context(), "ann@%", p.ID, p.Version+1, catalog.Consent{}); err != nil {
					t.Fatal(err)
				}
				now.pass()
				left("")
			})
		})
	}
}

// TestRebuiltIsNotImported: a partition that is rebuilt after a run has recognized its table, and before the run reads
// the partition's number, has another number. It counts as what it is, and holds that partition alone.
func TestRebuiltIsNotImported(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		now := utc("05-10 12:00:00")
		f.divide(now, 3)
		m := f.at(now)
		p := m.declare("UTC", "1h", nil)
		m.pass()

		f.Exec(f.In("INSERT INTO {t}.t VALUES (11, '2027-05-01')"), f.In("ALTER TABLE {t}.t REBUILD PARTITION p0"))
		if err := f.Store.Imported(t.Context(), "test", p, "p0"); err != nil {
			t.Fatal(err)
		}
		f.at(utc("05-10 13:00:00")).pass()
		if got := f.Text(f.In("SELECT GROUP_CONCAT(DISTINCT kind ORDER BY kind) FROM {t}_c.event")); got != "declared,held" {
			t.Errorf("there were events %s, want declared,held", got)
		}
		if got := f.Text(f.In("SELECT approval_reason FROM {t}_c.policy")); got != "" {
			t.Errorf("the policy waits: %s", got)
		}
	})
}

// importOver puts the rows of u into the place of t that has that file, around the proxy.
func (f *fixture) importOver(place, file, files string) {
	f.T.Helper()
	conn, err := f.Admin.Conn(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	defer conn.Close()
	run := func(query string) {
		f.T.Helper()
		if _, err := conn.ExecContext(f.T.Context(), f.In(query)); err != nil {
			f.T.Fatalf("%s: %v", query, err)
		}
	}

	run("ALTER TABLE {t}.t DISCARD " + place + " TABLESPACE")
	run("FLUSH TABLES {t}.u FOR EXPORT")
	for _, end := range []string{".ibd", ".cfg"} {
		data, err := os.ReadFile(filepath.Join(files, f.Schema, "u"+end))
		if err == nil {
			err = os.WriteFile(filepath.Join(files, f.Schema, file+end), data, 0o666)
		}
		if err != nil {
			f.T.Fatal(err)
		}
	}
	run("UNLOCK TABLES")
	run("ALTER TABLE {t}.t IMPORT " + place + " TABLESPACE")
}
