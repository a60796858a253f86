package statement

import (
	"context"
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// A table that another session renames to and fro is never said to have got or lost a TTL when it
// has not.
func TestTableThatComesAndGoes(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.session(t.server.Config(t.schema))
		c.run("CREATE TABLE t" + hourlyTable)
		ctx, stop := context.WithCancel(t.Context())
		moved := make(chan struct{})
		go func() {
			defer close(moved)
			for n := 0; ctx.Err() == nil; n++ {
				from, to := "t", "away"
				if n%2 == 1 {
					from, to = to, from
				}
				_, _ = t.direct.ExecContext(context.WithoutCancel(ctx), "RENAME TABLE "+from+" TO "+to)
			}
		}()

		for n := range 60 {
			statement, want := "ALTER TABLE t REMOVE TTL", ""
			if n%2 == 1 {
				statement, want = "ALTER TABLE t TTL = created + INTERVAL 10 HOUR", hourly
			}

			err := c.try(statement)
			if _, refused := errors.AsType[*mysql.MySQLError](err); err != nil && !refused {
				t.Fatal(err)
			}
			if got := t.policy("t"); err == nil && got != want {
				t.Errorf("%s: answered OK, and the policy is %q", statement, got)
			}
		}

		stop()
		<-moved
	})
}

// A policy that has moved on with its table, by a RENAME through the proxy that was under way, is
// not said to be removed.
func TestRemoveDoesNotMissARename(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.session(t.server.Config(t.schema))
		c.run("CREATE TABLE t" + hourlyTable)
		locker := t.session(t.server.Config(t.schema))
		locker.run("LOCK TABLES t WRITE")

		removed, renamed := make(chan error, 1), make(chan error, 1)
		go func() { removed <- c.try("ALTER TABLE t REMOVE TTL") }()
		t.await("REMOVE TTL does not wait for the table", func() bool {
			return len(mysqltest.Processes(t.T, t.direct,
				"DB = ? AND INFO LIKE 'ALTER TABLE%' AND STATE LIKE 'Waiting%lock'", t.schema)) == 1
		})
		go func() {
			_, err := t.db.ExecContext(t.Context(), "RENAME TABLE t TO moved")
			renamed <- err
		}()
		t.awaitState("t", catalog.PolicyStopped)
		locker.run("UNLOCK TABLES")

		if err := <-renamed; err != nil {
			t.Fatal(err)
		}
		if err := <-removed; err == nil && t.policy("moved") != "" {
			t.Error("REMOVE TTL answered OK, and the policy is in force under the table's new name")
		}
	})
}

// What is not there, or is there already, is answered as the server does, with its notes or
// without.
func TestAbsentAndPresent(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.session(t.server.Config(t.schema))
		c.run("CREATE TABLE t" + hourlyTable)

		for _, notes := range []string{"1", "0"} {
			c.run("SET sql_notes = "+notes,
				"CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")
			t.wantPolicy("t", hourly)
			c.refused(1146, "ALTER TABLE nowhere TTL = created + INTERVAL 1 DAY, ADD COLUMN x INT")
			c.refused(1146, "ALTER TABLE nowhere REMOVE TTL")

			if t.server.MariaDB() {
				c.run("ALTER TABLE IF EXISTS nowhere TTL = created + INTERVAL 1 DAY, ADD COLUMN x INT",
					"ALTER TABLE IF EXISTS t TTL_ENABLE='ON'")
			}

			var got string
			if err := c.conn.QueryRowContext(t.Context(), "SELECT @@sql_notes").Scan(&got); err != nil || got != notes {
				t.Errorf("got sql_notes %s, %v, want %s", got, err, notes)
			}
		}
	})
}
