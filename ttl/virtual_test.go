package ttl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestVirtualColumns: a TTL column that every session computes for itself holds its jobs, unless
// the servers' own spelling of it shows that all of them compute the same. A policy of before this
// rule, or a table altered around the proxy, has no other guard.
func TestVirtualColumns(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		columns := []struct{ definition, held string }{
			{"dt + INTERVAL 10 DAY", ""},
			{"'1970-01-01' + INTERVAL n SECOND", ""},
			{"TIMESTAMP'1970-01-01 00:00:00' + INTERVAL n * 2 + 1 SECOND", ""},
			{"DATE'2020-01-01' + INTERVAL n DAY", ""},
			{"IF(n <> 0 OR n BETWEEN 1 AND 3, dt, NULL)", ""},
			{"CASE WHEN n = 1 AND dt IS NOT NULL THEN dt ELSE da END", ""},
			{"DATE_SUB(dt, INTERVAL '1 2' DAY_HOUR)", ""},
			{"COALESCE(dt, da, `odd``name`, '2037-12-31')", ""},
			{"GREATEST(dt, LAST_DAY(da))", ""},
			{"CAST(dt AS DATE)", ""},
			{"TIMESTAMPADD(DAY, n, dt)", ""},
			{"dt + INTERVAL (n DIV 1000) SECOND + INTERVAL n % 7 MONTH", ""},
			{"c0", ""},
			{"FROM_UNIXTIME(n)", "FROM_UNIXTIME()"},
			{"CAST(ts AS DATETIME)", "TIMESTAMP column `ts`"},
			{"ts + INTERVAL 0 SECOND", "TIMESTAMP column `ts`"},
			{"c15", "TIMESTAMP column `ts`"},
			{"CONVERT_TZ(dt, 'SYSTEM', '+00:00')", "CONVERT_TZ()"},
			{"dt + INTERVAL n / 1000 SECOND", "/"},
			{"n", "number"},
			{"s", "VARCHAR"},
		}

		var b strings.Builder
		for i, c := range columns {
			fmt.Fprintf(&b, ", c%d DATETIME AS (%s) VIRTUAL", i, c.definition)
		}

		f.Exec("CREATE TABLE " + f.Schema +
			".t (id INT PRIMARY KEY, dt DATETIME, da DATE, `odd``name` DATETIME, n INT, ts TIMESTAMP NULL, s " +
			"VARCHAR(30)" + b.String() +
			", kept DATETIME AS (MAKEDATE(n, 1)) STORED, stamp TIMESTAMP AS (dt) VIRTUAL)")
		facts, err := tables.ReadFacts(t.Context(), f.Admin, f.Schema, "t")
		if err != nil {
			t.Fatal(err)
		}

		wait := func(column, held string) {
			t.Helper()
			why, err := tablePause(t.Context(), f.Admin,
				catalog.Policy{Rule: catalog.Rule{Column: column, TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable}},
				facts)
			if err != nil || !strings.Contains(why, held) || held == "" && why != "" {
				t.Errorf("%s: got %q, %v; want %q", column, why, err, held)
			}
		}

		for i, c := range columns {
			wait(fmt.Sprintf("c%d", i), c.held)
		}

		wait("kept", "")
		wait("stamp", "TIMESTAMP column `stamp`")
	})
}

// TestVirtualColumnMadeZoneDependent: a table altered around the proxy, with a job under way or
// not, loses no row to another zone.
func TestVirtualColumnMadeZoneDependent(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Exec("CREATE TABLE "+f.Schema+
			".t (id INT PRIMARY KEY, epoch INT, made DATETIME AS ('1970-01-01' + INTERVAL epoch SECOND) VIRTUAL)",
			"INSERT INTO "+f.Schema+
				".t (id, epoch) VALUES (1, UNIX_TIMESTAMP('2027-05-10 02:00:00')), (2, UNIX_TIMESTAMP('2027-05-01'))")
		m := f.at(utc("05-10 12:00:00"))
		p := m.declare("UTC", "1h", nil)

		if m.pass(); f.Rows("t") != "1" {
			t.Fatalf("%s rows are left, want 1", f.Rows("t"))
		}

		f.Exec("ALTER TABLE "+f.Schema+".t DROP COLUMN made",
			"ALTER TABLE "+f.Schema+".t ADD COLUMN made DATETIME AS (FROM_UNIXTIME(epoch)) VIRTUAL")
		m = f.at(utc("05-20 12:00:00"))
		if m.pass(); f.Rows("t") != "1" || f.Text("SELECT state FROM "+f.Schema+"_c.policy") != "disarmed" {
			t.Errorf("%s rows are left, and the policy is %s; want 1, and it disarmed", f.Rows("t"),
				f.Text("SELECT state FROM "+f.Schema+"_c.policy"))
		}

		// Somebody arms it without asking what the proxy asks.
		if _, err := m.engine.store.Declare(t.Context(), catalog.Client{Account: "test"},
			catalog.Declaration{Table: p.Table, Rule: p.Rule, Arm: true}); err != nil {
			t.Fatal(err)
		}

		f.at(utc("05-21 12:00:00")).pass()
		if got := f.waits(); f.Rows("t") != "1" ||
			!strings.HasPrefix(got, "paused: TTL column 'made' is VIRTUAL and made of FROM_UNIXTIME()") {
			t.Errorf("%s rows are left, and the job is %q; want 1 and a job that waits", f.Rows("t"), got)
		}
	})
}

// TestFractionsAreNotEarly: a virtual column without fractions of what has some is the second
// after, whatever the server's mode says.
func TestFractionsAreNotEarly(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Exec("CREATE TABLE "+f.Schema+".t (id INT PRIMARY KEY, exact DATETIME(6), made DATETIME AS (exact) VIRTUAL)",
			"INSERT INTO "+f.Schema+".t (id, exact) VALUES (1, '2027-05-09 11:59:59.6')")
		m := f.at(utc("05-10 12:00:00"))
		m.declare("UTC", "1h", nil)
		if m.pass(); f.Rows("t") != "1" {
			t.Error("a date that a session may read as the next second was judged as the second before")
		}
	})
}
