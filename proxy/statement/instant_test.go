package statement

import (
	"context"
	"database/sql"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestDatesOfTimestampsAreInstants: what the table says of a zone is not how a TIMESTAMP is read, and each of its dates
// is told with an offset, as everything else is.
func TestDatesOfTimestampsAreInstants(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		const beside = "TTL_CRON, TTL_WINDOW and months are read in time zone Europe/Berlin (from the table)"
		rule := "at + INTERVAL 1 DAY TTL_CRON = '0 3 * * *' TTL_ENABLE = 'OFF'"
		run(t, db, "SET time_zone = '+02:00'")

		for _, c := range []struct{ name, column, zone, line, note string }{
			{"zoned", "TIMESTAMP NOT NULL", " TTL_TIME_ZONE = 'Europe/Berlin'", "Europe/Berlin (from the table; of TTL_CRON, TTL_WINDOW " +
				"and months)", beside},
			{"fine", "TIMESTAMP(6) NOT NULL", " TTL_TIME_ZONE = 'Europe/Berlin'", "Europe/Berlin (from the table; of TTL_CRON, " +
				"TTL_WINDOW and months)", beside},
			{"plain", "TIMESTAMP NOT NULL", "", "", ""},
			{
				"dated", "DATETIME NOT NULL", " TTL_TIME_ZONE = 'Europe/Berlin'", "Europe/Berlin (from the table)",
				"Dates are read in time zone Europe/Berlin (from the table)",
			},
		} {
			instants := c.name != "dated"
			run(t, db, "CREATE TABLE "+c.name+" (id INT PRIMARY KEY, at "+c.column+", KEY (at)) TTL = "+rule+c.zone)
			b.notesOfZone(t, db, c.name+" is made", c.note)
			run(t, db, "INSERT INTO "+c.name+" VALUES (1, '2020-01-02 03:04:05'), (2, '2020-01-03 00:00:00')")
			run(t, db, "ALTER TABLE "+c.name+" TTL = "+rule+c.zone)
			notes := b.notesOfZone(t, db, c.name+" is changed", c.note)

			said := b.explained(t, db, c.name)
			offset, oldest, newest := "", "2020-01-02 03:04:05", "2020-01-03 00:00:00"
			if instants {
				offset = "+02:00"
			}
			if got := strings.TrimSuffix(said["oldest due"], ".000000"); got != oldest+offset {
				t.Errorf("%s: the oldest that is due is of %s, want %s", c.name, got, oldest+offset)
			}
			if got := strings.TrimSuffix(said["newest due"], ".000000"); got != newest+offset ||
				!strings.Contains(notes, "the newest of them of "+newest+offset) {
				t.Errorf("%s: the newest that is due is of %s, want %s; the notes are %s", c.name, got, newest+offset, notes)
			}
			if instant := regexp.MustCompile(`^2\d\d\d-\d\d-\d\d \d\d:\d\d:\d\d\+02:00$`); instant.MatchString(said["cutoff"]) != instants {
				t.Errorf("%s: the cutoff is %s", c.name, said["cutoff"])
			}
			if said["time zone"] != c.line {
				t.Errorf("%s: the time zone is %q, want %q", c.name, said["time zone"], c.line)
			}
		}
	})
}

// TestZoneOfUnknownDates: of dates of which nobody can say in time whether they are instants, nothing is claimed.
func TestZoneOfUnknownDates(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		run(t, db, "CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP NOT NULL)")
		table := catalog.Table{Schema: b.schema, Name: "t"}
		rule := catalog.Rule{Column: "at", TimeZone: "Europe/Berlin", ZoneSource: catalog.ZoneFromTable}
		late, cancel := context.WithCancel(t.Context())
		cancel()

		for ctx, want := range map[context.Context]string{
			t.Context(): "TTL_CRON, TTL_WINDOW and months are read in time zone Europe/Berlin (from the table)",
			late:        "",
		} {
			q := &request{h: New(Config{DB: b.db}, slog.New(slog.DiscardHandler))}
			q.noteZone(ctx, table, rule)
			said := ""
			for _, n := range q.notes {
				said += n.Message
			}
			if said != want {
				t.Errorf("got %q, want %q", said, want)
			}
		}
	})
}

// notesOfZone demands that of the notes only one names a zone, or none, and returns all.
func (b *adminBed) notesOfZone(t *testing.T, db *sql.DB, when, want string) string {
	t.Helper()
	all := rows(t, db, "SHOW WARNINGS")
	var got []string
	for _, line := range all {
		if strings.Contains(line, "time zone") {
			got = append(got, line[strings.LastIndexByte(line, '|')+1:])
		}
	}
	if strings.Join(got, "; ") != want {
		t.Errorf("when %s: got %q, want %q", when, got, want)
	}
	return strings.Join(all, "\n")
}

// explained is what EXPLAIN TTL says of a table.
func (b *adminBed) explained(t *testing.T, db *sql.DB, table string) map[string]string {
	t.Helper()
	said := map[string]string{}
	for _, line := range rows(t, db, "EXPLAIN TTL "+table) {
		property, value, _ := strings.Cut(line, "|")
		said[property] = value
	}
	return said
}

// TestExplainTellsOfTheCensusInTheSessionsZone: the reason of a plan is a sentence like any other.
func TestExplainTellsOfTheCensusInTheSessionsZone(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		run(t, db, "CREATE TABLE queued (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 90 DAY TTL_PLAN = 'QUEUE' "+
			"TTL_JOB_INTERVAL = '1h' TTL_TIME_ZONE = 'UTC' TTL_ENABLE = 'OFF'")
		run(t, b.db, "INSERT INTO "+b.store.Schema()+".expiry_queue (policy_id, shape, shards, census_at, used_at) "+
			"SELECT id, '', 1, '2020-01-02 03:04:05', '2020-01-02 03:04:05' FROM "+b.store.Schema()+".policy")
		run(t, db, "SET time_zone = '+02:00'")
		const want = "the last census began at 2020-01-02 05:04:05+02:00, "
		if got := b.explained(t, db, "queued")["plan reason"]; !strings.Contains(got, want) {
			t.Errorf("the reason of the plan is %s, without %s", got, want)
		}
	})
}
