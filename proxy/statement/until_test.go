package statement

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// TestPauseUntilIsReadTheSameEverywhere: what a server would make of a time is nothing to go by.
func TestPauseUntilIsReadTheSameEverywhere(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.idleEngine(t)
		db.SetMaxOpenConns(1)
		run(t, db, "SET time_zone = '+02:00'")

		for text, want := range map[string]string{
			"2030-01-01":                "2030-01-01 00:00:00+02:00",
			"2040-01-01":                "2040-01-01 00:00:00+02:00",
			"2999-07-01 18:00":          "2999-07-01 18:00:00+02:00",
			"2030-01-01 18:00:00+05:00": "2030-01-01 15:00:00+02:00",
			"2030-01-01T18:00:00Z":      "2030-01-01 20:00:00+02:00",
			"2030-01-01 18:00:00.5":     "2030-01-01 18:00:00+02:00",
		} {
			run(t, db, "PAUSE TTL FOR orders UNTIL '"+text+"'")
			verdict := rows(t, db, "SHOW TTL JOBS FOR orders WHERE Verdict LIKE 'PAUSED%'")
			if len(verdict) != 1 || !strings.Contains(verdict[0], "until "+want) {
				t.Errorf("until '%s': got %q, want %s", text, verdict, want)
			}
		}

		run(t, db, "RESUME TTL FOR orders")
		for _, text := range []string{
			"", "2030-01-01 10:00 PM", "2030-01-01 18:00 tomorrow", "20300101", "2030-02-30", "0000-00-00",
			"9999-12-31 23:59:59-10:00", "now()",
		} {
			for _, table := range []string{"", " FOR orders"} {
				code, message := refused(t, db, "PAUSE TTL"+table+" UNTIL '"+text+"'")
				if code != ddl.CodeTruncated || !strings.Contains(message, "'"+text+"'") {
					t.Errorf("until '%s': error %d (%s), want %d", text, code, message, ddl.CodeTruncated)
				}
			}
		}
		if got := rows(t, db, "SHOW TTL JOBS WHERE Verdict LIKE 'PAUSED%'"); len(got) > 0 {
			t.Errorf("after what was refused: %q", got)
		}
	})
}

// TestPauseUntilInAZoneOfTheServer: SYSTEM is known to the server alone, which says what its clocks show.
func TestPauseUntilInAZoneOfTheServer(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.idleEngine(t)
		db.SetMaxOpenConns(1)
		run(t, db, "SET time_zone = 'SYSTEM'")
		for _, at := range []string{"2036-07-01 18:00:00", "2055-01-01 00:00:00"} {
			run(t, db, "PAUSE TTL FOR orders UNTIL '"+at+"'")
			if got := rows(t, db, "SHOW TTL JOBS FOR orders WHERE Verdict LIKE '%until "+at+"%'"); len(got) != 1 {
				t.Errorf("until %s in SYSTEM: got %q", at, rows(t, db, "SHOW TTL JOBS FOR orders"))
			}
		}
	})
}

// TestPauseAnswersInTheZoneOfTheSession: until when is in the text of the OK, which few clients show.
func TestPauseAnswersInTheZoneOfTheSession(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t" + hourlyTable)
		const account = "raw_pauses"
		for _, statement := range []string{
			"DROP USER IF EXISTS " + account, "CREATE USER " + account + " IDENTIFIED BY ''",
			"GRANT ALL ON " + t.schema + ".* TO " + account,
		} {
			if _, err := t.direct.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { t.direct.Exec("DROP USER IF EXISTS " + account) })

		answers := t.sendRaw(account, t.schema, 0, [][]byte{
			command(wire.Query, "SET time_zone = '+05:30'"),
			command(wire.Query, "PAUSE TTL FOR t UNTIL '2037-01-02 03:04:05+00:00'"),
			command(wire.Query, "SET time_zone = '-03:00'"),
			command(wire.Query, "PAUSE TTL FOR t UNTIL '2037-01-02 03:04:05'"),
		})
		for _, until := range []string{"2037-01-02 08:34:05+05:30", "2037-01-02 03:04:05-03:00"} {
			want := "Paused: `" + t.schema + "`.`t`, until " + until
			if !strings.Contains(string(answers), want) {
				t.Errorf("got %q, want %s", answers, want)
			}
		}
	})
}
