package ttl

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestServerPauses puts servers of our own into every state in which nothing may be deleted.
func TestServerPauses(t *testing.T) {
	t.Parallel()
	replica := map[sandbox.Flavour][2]string{
		sandbox.MariaDB: {
			"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'",
			"START SLAVE SQL_THREAD",
		},
		sandbox.MySQL: {
			"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='x'",
			"START REPLICA SQL_THREAD",
		},
	}
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t, flavour)
			readOnlyBeforeABatch(t, s)
			otherZoneBeforeABatch(t, s)
			repairedFormat(t, s)
			db := s.Open(t, "")
			db.SetMaxOpenConns(1)
			expect := func(allowReplica bool, want string, statements ...string) {
				t.Helper()
				for _, s := range statements {
					if _, err := db.ExecContext(t.Context(), s); err != nil {
						t.Fatalf("%s: %v", s, err)
					}
				}

				why, err := catalog.SessionPause(t.Context(), db, allowReplica)
				if err != nil || !strings.Contains(why, want) || want == "" && why != "" {
					t.Errorf("after %v: got %q, %v; want %q", statements, why, err, want)
				}
			}

			expect(false, "")
			expect(false, "read-only", "SET GLOBAL read_only = 1")
			expect(false, "", "SET GLOBAL read_only = 0")
			expect(false, "STATEMENT", "SET SESSION binlog_format = 'STATEMENT'")
			expect(false, "STATEMENT", "SET SESSION binlog_format = 'ROW'", "SET GLOBAL binlog_format = 'STATEMENT'")
			expect(false, "", "SET GLOBAL binlog_format = 'ROW'")
			expect(false, "applies replication", replica[flavour][0], replica[flavour][1])
			expect(true, "")
			changedZone(t, db)
			zoneAhead(t, db)
		})
	}
}

// readOnlyBeforeABatch: a batch that was on its way when the server was made read-only deletes
// nothing, although the account may write.
func readOnlyBeforeABatch(t *testing.T, s *mysqltest.Server) {
	t.Helper()
	f := newFixture(t, s.Config(""), 0)
	f.Fill("t", 200)
	m := f.at(utc("05-10 12:00:00"))
	p := m.declare("UTC", "1h", nil)
	m.engine.crew.BeforePacket = func() { f.Exec("SET GLOBAL read_only = 1") }
	m.pass()
	f.Exec("SET GLOBAL read_only = 0")

	if got := f.waits(); f.Rows("t") != "200" || got != "paused: the server is read-only" {
		t.Errorf("%s rows are left, and the job is %q", f.Rows("t"), got)
	}

	p.Table = catalog.Table{Schema: f.Schema + "_c", Name: "event"}
	waits, err := m.pauses(t.Context(), p, nil, catalog.Waits{})
	if why := waits.Why; err != nil || !strings.Contains(why, "of ttlproxy itself") {
		t.Errorf("a policy that came to a table of the catalog: got %q, %v", why, err)
	}
}

// repairedFormat: a job that waits for another binlog_format goes on as soon as new sessions have it, although those
// that look at its table began with the old one.
func repairedFormat(t *testing.T, s *mysqltest.Server) {
	t.Helper()
	f := newFixture(t, s.Config(""), 0)
	f.Fill("t", 200)
	m := f.at(utc("05-10 12:00:00"))
	m.declare("UTC", "1h", nil)
	f.Exec("SET GLOBAL binlog_format = 'STATEMENT'")
	m.mustTick()
	if got := f.waits(); got != "paused: "+catalog.BinlogPause {
		t.Errorf("under STATEMENT the job is %q", got)
	}

	f.Exec("SET GLOBAL binlog_format = 'ROW'")
	m.session.KeepAlive(t.Context())
	clear(m.reconsidered)
	m.pass()
	if got := f.Rows("t"); got != "100" {
		t.Errorf("%s rows are left when the format is ROW again, and the job is %q", got, f.waits())
	}
}

// otherZoneBeforeABatch: dates are written in another zone from one moment to the next, before
// anybody has looked.
func otherZoneBeforeABatch(t *testing.T, s *mysqltest.Server) {
	t.Helper()
	f := newFixture(t, s.Config(""), 0)
	f.Fill("t", 200)
	f.Exec("SET GLOBAL time_zone = '+09:00'")
	m := f.at(utc("05-10 12:00:00"))
	p := m.declare("+09:00", "1h", nil)
	f.Exec("UPDATE " + f.Schema + "_c.policy SET zone_source = 'server'")
	m.engine.crew.BeforePacket = func() { f.Exec("SET GLOBAL time_zone = '-08:00'") }
	m.pass()

	if got := f.waits(); f.Rows("t") != "200" ||
		!strings.HasPrefix(got, "paused: the server's time zone is -08:00 and was +09:00") {
		t.Errorf("%s rows are left, and the job of policy %d is %q", f.Rows("t"), p.ID, got)
	}

	f.Exec("SET GLOBAL time_zone = '+09:00'")
	m = f.at(utc("05-10 12:00:10"))
	m.pass()
	f.Exec("SET GLOBAL time_zone = 'SYSTEM'")

	if got := f.Rows("t"); got != "100" {
		t.Errorf("%s rows are left when the zone is the old one again, want 100", got)
	}
}

// changedZone: a policy whose zone came from the server waits when the server's is another one.
func changedZone(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, s := range []string{
		"CREATE DATABASE zone",
		"CREATE TABLE zone.t (id INT PRIMARY KEY, made DATETIME, at TIMESTAMP NULL)",
		"SET GLOBAL time_zone = '+02:00'",
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}

	facts, err := tables.ReadFacts(t.Context(), db, "zone", "t")
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		column, zone string
		source       catalog.ZoneSource
		held         bool
	}{
		{"made", "+02:00", catalog.ZoneFromServer, false},
		{"made", "+01:00", catalog.ZoneFromServer, true},
		{"made", "+01:00", catalog.ZoneFromTable, false},
		{"at", "+01:00", catalog.ZoneFromServer, false},
	} {
		p := catalog.Policy{Rule: catalog.Rule{Column: c.column, TimeZone: c.zone, ZoneSource: c.source}}
		why, err := tablePause(t.Context(), db, p, facts)
		if err != nil || (why != "") != c.held {
			t.Errorf("%s with %s from %s: got %q, %v; want held %v", c.column, c.zone, c.source, why, err, c.held)
		}
	}

	if _, err := tablePause(t.Context(), db, catalog.Policy{Rule: catalog.Rule{Column: "id"}}, facts); err == nil {
		t.Error("a column that is no date is not objected to")
	}
}

// zoneAhead: a zone that has lost an hour on the server and not here yet, and one that has lost it
// here only.
func zoneAhead(t *testing.T, db *sql.DB) {
	t.Helper()
	facts, err := tables.ReadFacts(t.Context(), db, "zone", "t")
	if err != nil {
		t.Fatal(err)
	}

	// six, and four hours east; the server takes both for five
	for id, name := range []string{"Etc/GMT-6", "Etc/GMT-4"} {
		for _, s := range []string{
			fmt.Sprintf("INSERT INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (%d, 'N')", 90001+id),
			fmt.Sprintf("INSERT INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('%s', %d)", name, 90001+id),
			fmt.Sprintf("INSERT INTO mysql.time_zone_transition_type (Time_zone_id, Transition_type_id, `Offset`, "+
				"Is_DST, Abbreviation) VALUES (%d, 0, 18000, 0, '+05')", 90001+id),
		} {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}

	for _, c := range []struct {
		column, zone string
		source       catalog.ZoneSource
		want         string
	}{
		{"made", "Etc/GMT-6", catalog.ZoneFromTable, "in Etc/GMT-6 it is 1h later"},
		{"made", "Etc/GMT-6", catalog.ZoneFromServer, "in Etc/GMT-6 it is 1h later"},
		{"made", "Etc/GMT-4", catalog.ZoneFromTable, ""},
		{"made", "Etc/GMT-7", catalog.ZoneFromTable, ""}, // which the server does not know
		{"made", "Mars/Tharsis", catalog.ZoneFromTable, "is unknown"},
		{"at", "Etc/GMT-6", catalog.ZoneFromTable, ""},
	} {
		if c.source == catalog.ZoneFromServer {
			if _, err := db.ExecContext(t.Context(), "SET GLOBAL time_zone = '"+c.zone+"'"); err != nil {
				t.Fatal(err)
			}
		}

		p := catalog.Policy{Rule: catalog.Rule{Column: c.column, TimeZone: c.zone, ZoneSource: c.source}}
		why, err := tablePause(t.Context(), db, p, facts)
		if err != nil || !strings.Contains(why, c.want) || c.want == "" && why != "" {
			t.Errorf("%s in %s from %s: got %q, %v; want %q", c.column, c.zone, c.source, why, err, c.want)
		}
	}
}
