package ttl

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestTriggersReachNoOtherTable: whoever may create triggers on a table with a TTL has a program of his own run in a session of the engine.
// What it leaves behind there, settings and temporary tables that hide others, reaches no table of somebody else.
func TestTriggersReachNoOtherTable(t *testing.T) {
	eachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		m := f.at(utc("05-10 12:00:00"))
		f.fill("trap", 4)
		f.exec(strings.ReplaceAll(`CREATE TRIGGER SCHEMA.trap AFTER DELETE ON SCHEMA.trap FOR EACH ROW BEGIN
				SET SESSION time_zone = '-12:00', SESSION foreign_key_checks = 0, SESSION sql_safe_updates = 1, SESSION lock_wait_timeout = 1000;
				CREATE TEMPORARY TABLE IF NOT EXISTS SCHEMA.t (id INT PRIMARY KEY, made TIMESTAMP NULL);
				CREATE TEMPORARY TABLE IF NOT EXISTS SCHEMA_c.task (id INT PRIMARY KEY);
			END`, "SCHEMA", f.schema),
			"CREATE TABLE "+f.schema+".t (id INT PRIMARY KEY, made TIMESTAMP NULL)",
			"INSERT INTO "+f.schema+".t VALUES (1, '2027-05-09 11:00:00'), (2, '2027-05-09 18:00:00')")

		for _, table := range []string{"trap", "t"} {
			_, err := m.store.Declare(t.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
				Table: catalog.Table{Schema: f.schema, Name: table},
				Rule: catalog.Rule{
					Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h", TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // start, work, finish
				if err := m.tick(t.Context(), make(chan struct{}, 1)); err != nil {
					t.Fatal(err)
				}
				m.workUntilCalled(t.Context())
			}
		}

		if got := f.text("SELECT GROUP_CONCAT(id) FROM " + f.schema + ".t"); got != "2" {
			t.Errorf("rows left: got %s, want 2, which is 18 hours old and kept for a day", got)
		}
		if got := f.text("SELECT CONCAT_WS(' ', state, deleted) FROM " + f.schema + "_c.job_history WHERE table_name = 't'"); got != "finished 1" {
			t.Errorf("job: got %s, want finished 1", got)
		}
	})
}
