package ttl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestImportAroundTheProxy: rows that came by IMPORT TABLESPACE, which is how backups bring one table back,
// stay until a person approves, even if nobody told the proxy. MySQL keeps the id of the file and the time
// of the table.
func TestImportAroundTheProxy(t *testing.T) {
	t.Parallel()
	divided := " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))"
	for name, c := range map[string]struct {
		shape, place, file string
		begun              bool // a job has begun by then, and nobody works on it
		then               func(m *moment)
	}{
		"table":                           {file: "t"},
		"partition":                       {shape: divided, place: "PARTITION p1", file: "t#p#p1"},
		"table, while a job waits":        {file: "t", begun: true},
		"partition, while a job waits":    {shape: divided, place: "PARTITION p1", file: "t#p#p1", begun: true},
		"table, then another rule":        {file: "t", then: declaresAnew},
		"table, then a DDL":               {file: "t", then: altersThroughTheProxy},
		"waiting job, then another rule":  {file: "t", begun: true, then: declaresAnew},
		"waiting job, then a DDL":         {file: "t", begun: true, then: altersThroughTheProxy},
		"waiting job, then the same rule": {file: "t", begun: true, then: func(m *moment) { m.declare("UTC", "30m", nil) }},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
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
					f.In("INSERT INTO {t}.t VALUES (101, '2027-04-01'), (199, '2027-05-30')"),
					f.In("CREATE TABLE {t}.u (id INT PRIMARY KEY, made DATETIME)"),
					f.In("INSERT INTO {t}.u VALUES (111, '2019-04-01'), (112, '2019-04-02'), "+
						"(113, '2019-04-03')"))
				m := f.at(utc("05-12 12:00:00"))
				m.declare("UTC", "30m", nil)
				m.pass()

				left := func(want string) {
					t.Helper()
					got := f.Text(f.In("SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM {t}.t"))
					if got != want {
						t.Errorf("%s are left, want %s", got, want)
					}
				}
				left("199")

				now := utc("05-12 12:40:00")
				if c.begun {
					f.Exec(f.In("INSERT INTO {t}.t VALUES (198, '2027-04-01')"))
					f.at(now).mustTick()
					if got := f.waits(); got != "running" {
						t.Fatalf("the job is %q", got)
					}
				}
				f.importOver("t", c.place, c.file, files)
				if c.then != nil {
					c.then(f.at(now.Add(10 * time.Second)))
				}
				f.at(now.Add(20 * time.Minute)).pass()
				left("111,112,113")
				state := f.Text(f.In("SELECT CONCAT_WS(', ', state, approval_required, approval_reason) " +
					"FROM {t}_c.policy"))
				if !strings.HasPrefix(state, "armed, 1, ") || !strings.Contains(state, "outside ttlproxy") {
					t.Errorf("the policy is %s", state)
				}
				events := f.Text(f.In("SELECT GROUP_CONCAT(text) FROM {t}_c.event"))
				if c.then == nil && !strings.Contains(events, "outside ttlproxy") {
					t.Errorf("the events are %q", events)
				}

				// Approved, they go, and nobody asks again.
				m = f.at(utc("05-12 14:00:00"))
				p, err := m.engine.store.Policy(t.Context(), catalog.Table{Schema: f.Schema, Name: "t"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := m.engine.store.Consent(t.Context(), "ann@%", p.ID, p.Version, catalog.Consent{}); err != nil {
					t.Fatal(err)
				}
				m.pass()
				left("")
			})
		})
	}
}

// declaresAnew changes what has nothing to do with the rows.
func declaresAnew(m *moment) { m.declare("UTC", "20m", nil) }

// altersThroughTheProxy carries out a DDL as a client of the proxy does.
func altersThroughTheProxy(m *moment) {
	m.f.T.Helper()
	store := m.engine.store
	staged, err := store.Stage(m.f.T.Context(), catalog.Client{
		Account: "test", Server: store.Server().Key(), Boot: store.Server().Boot, Connection: 1,
	}, []catalog.Intent{{Kind: catalog.IntentAlter, Table: catalog.Table{Schema: m.f.Schema, Name: "t"}}})
	if err != nil {
		m.f.T.Fatal(err)
	}
	m.f.Exec("ALTER TABLE " + m.f.Schema + ".t ADD INDEX (made)")
	if err := staged.Commit(m.f.T.Context()); err != nil {
		m.f.T.Fatal(err)
	}
}

// TestRebuiltIsNotImported: a partition that is rebuilt after a run has recognized its table, and before the run reads
// the partition's number, has another number. It counts as what it is, and holds that partition alone, also if another
// run has noticed meanwhile; and one that was dropped is gone.
func TestRebuiltIsNotImported(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		now := utc("05-10 12:00:00")
		f.divide(now, 3)
		m := f.at(now)
		p := m.declare("UTC", "1h", nil)
		m.pass()
		places, err := f.Store.Identities(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		numberDiffers := func(partition string) {
			t.Helper()
			place, _ := places.At(partition)
			if err := f.Store.Imported(t.Context(), "test", p, place); err != nil {
				t.Fatal(err)
			}
		}

		f.Exec(f.In("INSERT INTO {t}.t VALUES (11, '2027-05-01')"), f.In("ALTER TABLE {t}.t REBUILD PARTITION p0"))
		numberDiffers("p0")
		f.at(utc("05-10 13:00:00")).pass()
		numberDiffers("p0")
		f.Exec(f.In("ALTER TABLE {t}.t DROP PARTITION p1"))
		numberDiffers("p1")
		if got := f.Text(f.In("SELECT GROUP_CONCAT(DISTINCT kind ORDER BY kind) FROM {t}_c.event")); got != "declared,held" {
			t.Errorf("there were events %s, want declared,held", got)
		}
		if got := f.Text(f.In("SELECT approval_reason FROM {t}_c.policy")); got != "" {
			t.Errorf("the policy waits: %s", got)
		}
	})
}

// importOver puts the rows of u into the table, or the place in it, that has that file, around the proxy.
func (f *fixture) importOver(table, place, file, files string) {
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

	run("ALTER TABLE {t}." + table + " DISCARD " + place + " TABLESPACE")
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
	run("ALTER TABLE {t}." + table + " IMPORT " + place + " TABLESPACE")
}
