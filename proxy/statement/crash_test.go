package statement

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

var errCrash = errors.New("crash")

// TestCrashPoints ends the session behind each step, as a crash of the proxy does, and lets the
// sweep look afterwards: the catalog is what the server has done, and the client never got an OK
// for less.
func TestCrashPoints(t *testing.T) {
	const declared = " (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"
	tests := []struct {
		name, before, statement string
		table                   string
		undone, done            string // its policy when the DDL did not happen, and when it did
	}{
		{"create", "DO 0", "CREATE TABLE t" + declared, "t", "", hourly},
		{
			"alter", "CREATE TABLE t" + declared, "ALTER TABLE t RENAME COLUMN created TO made", "t", hourly,
			"armed made 10 HOUR 24h",
		},
		{
			"alter with a clause", "CREATE TABLE t" + declared,
			"ALTER TABLE t ADD COLUMN seen DATE, TTL = seen + INTERVAL 1 DAY", "t", hourly, "armed seen 1 DAY 24h",
		},
		{
			"remove with a change", "CREATE TABLE t" + declared, "ALTER TABLE t REMOVE TTL, ADD COLUMN x INT", "t", hourly,
			"",
		},
		{"rename", "CREATE TABLE t" + declared, "RENAME TABLE t TO u", "u", "", hourly},
		{"rename, old name", "CREATE TABLE t" + declared, "RENAME TABLE t TO u", "t", hourly, ""},
		{"drop", "CREATE TABLE t" + declared, "DROP TABLE t", "t", hourly, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onStage(t, func(t *theatre) {
				for _, point := range []step{stopped, carried, committed} {
					t.exec(tt.before)
					nextSecond()
					t.crash(point, tt.statement)
					want := tt.done

					if point == stopped {
						want = tt.undone
					}
					if got := t.policy(tt.table); got != want {
						t.Errorf("crash when %s: got policy %q of %s, want %q", point, got, tt.table, want)
					}

					t.exec("DROP TABLE IF EXISTS t, u")
				}
			})
		})
	}
}

// nextSecond waits until the server's clock shows another second: by it the server tells two
// incarnations of a table apart.
func nextSecond() {
	<-time.After(time.Until(time.Now().Truncate(time.Second).Add(1100 * time.Millisecond)))
}

// crash runs a statement whose session ends behind a step, and lets the sweep settle what it left.
func (t *theatre) crash(point step, statement string) {
	t.Helper()
	f := func(s step) error {
		if s == point {
			return errCrash
		}
		return nil
	}

	t.after.Store(&f)
	c := t.open(t.server.Config(t.schema))
	_, err := c.ExecContext(t.Context(), statement)
	t.after.Store(nil)

	if err == nil {
		t.Errorf("%s: got OK from a session that crashed when %s", statement, point)
	}

	t.settled()
}

// settled sweeps until no statement is in flight.
func (t *theatre) settled() {
	t.Helper()
	t.await("a stage was never settled", func() bool {
		if _, err := t.store.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}

		all, err := t.store.Policies(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		return !slices.ContainsFunc(all, func(p catalog.Policy) bool { return p.Stage != nil })
	})
}

func TestClientGoneInTheMiddleOfAnAlter(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"INSERT INTO t VALUES (1, NULL)")
		reader, err := t.direct.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()

		for _, statement := range []string{"BEGIN", "SELECT * FROM t"} { // an open transaction makes the ALTER wait
			if _, err := reader.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}

		ctx, leave := context.WithCancel(t.Context())
		altered := make(chan error, 1)
		go func() {
			_, err := t.db.ExecContext(ctx, "ALTER TABLE t RENAME COLUMN created TO made")
			altered <- err
		}()
		t.awaitState("t", catalog.PolicyStopped)
		leave()

		if err := <-altered; err == nil {
			t.Error("got OK")
		}
		if _, err := reader.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}

		t.settled()

		// Whether the server went on with the ALTER is its own affair: the policy is that of the
		// table there is.
		want := hourly
		if strings.Contains(t.created("t"), "`made`") {
			want = "armed made 10 HOUR 24h"
		}

		t.wantPolicy("t", want)
	})
}

func TestCatalogLocked(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		tx, err := t.direct.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		for _, table := range []string{"policy", "schedule"} {
			if _, err := tx.ExecContext(t.Context(),
				"UPDATE "+t.store.Schema()+"."+table+" SET created_at = created_at"); err != nil && table == "policy" {
				t.Fatal(err)
			}
		}

		begun := time.Now()
		for _, statement := range []string{
			"ALTER TABLE t TTL_ENABLE='OFF'",
			"CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY",
		} {
			if _, err := t.db.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("%s: got OK while the catalog is locked", statement)
			}
		}

		if waited := time.Since(begun); waited > 45*time.Second {
			t.Errorf("two statements waited %v for the catalog", waited)
		}

		t.exec("CREATE TABLE other (id INT)", "DROP TABLE other")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}

		t.settled()
		t.wantPolicy("t", hourly)
		t.exec("ALTER TABLE t TTL_ENABLE='OFF'")
		t.wantPolicy("t", "armed created 10 HOUR off 24h")
	})
}

func TestOwnLocks(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"LOCK TABLES t READ")
		t.fails(1099, "ALTER TABLE t TTL_ENABLE='OFF'")
		t.fails(1099, "ALTER TABLE t ADD COLUMN x INT")
		t.fails(1099, "DROP TABLE t")
		t.fails(1100, "CREATE TABLE x (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")
		t.exec("UNLOCK TABLES")
		t.wantPolicy("t", hourly)
		t.wantPolicy("x", "")
	})
}

func TestServerGoneInTheMiddleOfADDL(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		nextSecond()
		kill := func(s step) error {
			if s != stopped {
				return nil
			}

			var id uint64
			if err := t.direct.QueryRowContext(t.Context(),
				"SELECT stage_connection FROM "+t.store.Schema()+".policy WHERE table_name = 't'").Scan(&id); err != nil {
				return err
			}

			_, err := t.direct.ExecContext(t.Context(), "KILL ?", id)
			return err
		}

		t.after.Store(&kill)
		c := t.open(t.server.Config(t.schema))
		_, err := c.ExecContext(t.Context(), "ALTER TABLE t RENAME COLUMN created TO made")

		var refused *mysql.MySQLError
		if err == nil || errors.As(err, &refused) && refused.Number == 1105 {
			t.Errorf("got %v, want the end of the connection", err)
		}

		t.after.Store(nil)
		t.settled()
		t.wantPolicy("t", hourly)
	})
}

func TestOwnGlobalReadLock(t *testing.T) {
	t.Parallel()
	for _, flavour := range []sandbox.Flavour{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			th := newTheatre(t, mysqltest.Start(t, flavour)) // the lock is everybody's
			th.db.SetMaxOpenConns(1)
			th.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
				"FLUSH TABLES WITH READ LOCK")
			th.fails(1223, "ALTER TABLE t TTL_ENABLE='OFF'")
			th.fails(1223, "ALTER TABLE t ADD COLUMN x INT")
			th.fails(1223, "DROP TABLE t")
			th.fails(1223, "CREATE TABLE x (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")
			th.exec("UNLOCK TABLES")
			th.wantPolicy("t", hourly)
			th.wantPolicy("x", "")
		})
	}
}
