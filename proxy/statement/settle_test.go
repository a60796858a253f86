package statement

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestPolicyIsSettledWhenTheCatalogIsBack: a policy that could not be written when a statement had ended is as soon as it
// can be, although the client stays: pools keep their connections for days.
func TestPolicyIsSettledWhenTheCatalogIsBack(t *testing.T) {
	for name, c := range map[string]struct {
		before, statement string
		behind            step
		code              uint16
		policy            string
	}{
		"carried out": {
			"DO 0", "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY", carried,
			1105, "armed at 1 DAY 24h",
		},
		"carried out, without a promise": {
			"CREATE TABLE t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY",
			"ALTER TABLE t CHANGE at seen DATETIME", carried, 0, "armed seen 1 DAY 24h",
		},
		"refused by the server": {
			"CREATE TABLE t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY",
			"ALTER TABLE t ADD COLUMN at DATETIME", stopped, 1060, "armed at 1 DAY 24h",
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *theatre) {
				t.db.SetMaxOpenConns(1)
				t.exec(c.before)
				unlock := func() {}
				once := sync.OnceFunc(func() { unlock = t.lockCatalog("policy") })
				behind := func(s step) error {
					if s == c.behind {
						once()
					}
					return nil
				}
				t.after.Store(&behind)

				_, err := t.db.ExecContext(t.Context(), c.statement)
				my, refused := errors.AsType[*mysql.MySQLError](err)
				switch {
				case c.code == 0 && err != nil, c.code != 0 && (!refused || my.Number != c.code):
					t.Fatalf("it is answered with %v, want %d", err, c.code)
				case c.code == 1105 && !strings.Contains(my.Message, "was carried out, but its TTL policy is not in force yet: "+
					"end stage: "), err != nil && strings.Contains(err.Error(), "deadline"):
					t.Errorf("it is answered with %v", err)
				}
				unlock()
				t.awaitState("t", catalog.PolicyArmed)
				t.wantPolicy("t", c.policy)
				t.exec("ALTER TABLE t ADD COLUMN n INT") // on the same connection
			})
		})
	}
}

// TestUndecidedStatementIsUndone: a statement that ends before it is sent to the server, because what it would do there
// cannot be found out, leaves nothing behind that keeps others from the table.
func TestUndecidedStatementIsUndone(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("SET lock_wait_timeout = 1")
		made := make(chan error, 1)
		behind := func(step) error {
			const lengthy = "CREATE TABLE t AS SELECT 1 AS id, SLEEP(3) AS n"
			go func() {
				_, err := t.direct.ExecContext(t.Context(), lengthy)
				made <- err
			}()
			t.await("nobody makes the table", func() bool {
				return len(mysqltest.Processes(t.T, t.direct, "STATE = 'User sleep' AND INFO = ?", lengthy)) == 1
			})
			return nil
		}
		t.after.Store(&behind)
		const create = "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY"
		t.fails(1205, create)
		t.after.Store(nil)
		if err := <-made; err != nil {
			t.Fatal(err)
		}
		t.wantPolicy("t", "")
		if _, err := t.open(t.server.Config(t.schema)).ExecContext(t.Context(), "DROP TABLE t; "+create); err != nil {
			t.Errorf("another one on the table: %v", err)
		}
		t.wantPolicy("t", "armed at 1 DAY 24h")
	})
}

// TestStatementThatIsNotSentIsUndone: the policy goes on where an EXECUTE is refused for the sake of another schema.
func TestStatementThatIsNotSentIsUndone(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY",
			"PREPARE s FROM 'OPTIMIZE TABLE t'", "USE mysql")
		t.fails(1615, "EXECUTE s")
		t.wantPolicy("t", "armed at 1 DAY 24h")
		t.exec("USE "+t.schema, "EXECUTE s")
		t.wantPolicy("t", "armed at 1 DAY 24h")
	})
}

// TestInsistSaysWhatIsInTheWay: a statement that waits for another one on its table is told of that one, and not that
// its time was over in the middle of one more attempt.
func TestInsistSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		err := insist(t.Context(), time.Second, func(ctx context.Context) error {
			if attempts++; attempts < 3 {
				return catalog.ErrTableInDDL
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, catalog.ErrTableInDDL) {
			t.Errorf("got %v, want %v", err, catalog.ErrTableInDDL)
		}

		err = insist(t.Context(), time.Second, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with nobody in the way: got %v", err)
		}
	})
}

// TestResumedIsNoError: who has resumed something is told so, also if it cannot be said then what else holds it.
func TestResumedIsNoError(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec(ttlOfADay, "PAUSE TTL FOR t")
		unlock := t.lockCatalog("setting")
		t.exec("RESUME TTL FOR t")
		unlock()
		if got := rows(t.T, t.direct, "SELECT 1 FROM "+t.store.Schema()+".pause WHERE policy_id > 0 AND paused"); len(got) != 0 {
			t.Error("it is still paused")
		}
	})
}

// TestViewOfAnUnknownPolicyStays: a policy that cannot be read may keep its view.
func TestViewOfAnUnknownPolicyStays(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.someSessions()
		t.exec("ALTER TABLE session TTL_VIEW = 'live'")
		reader, err := t.direct.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reader.ExecContext(t.Context(), "SELECT * FROM live"); err != nil {
			t.Fatal(err)
		}
		ended := t.begin("ALTER TABLE session TTL = seen + INTERVAL 1 DAY") // waits for the reader of the view
		unlock := t.lockCatalog("policy")
		if err := reader.Commit(); err != nil {
			t.Fatal(err)
		}
		t.want(1105, "an ALTER whose policy cannot be written", ended())
		unlock()
		t.wantPolicy("session", "armed seen 1 HOUR 24h")
		if got := rows(t.T, t.db, "SELECT COUNT(*) FROM live"); len(got) != 1 {
			t.Errorf("the view has %d lines", len(got))
		}
	})
}

// TestViewThatCannotBeNotedIsPutBack: a view that was made anew, and could not be noted as ours, is what it was: it hides
// no row that the rule in force spares, and follows the next statement.
func TestViewThatCannotBeNotedIsPutBack(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.someSessions()
		t.exec("ALTER TABLE session TTL = seen + INTERVAL 1 DAY TTL_VIEW = 'live'")
		t.wantViews("before", "live:1,2,3,4", "live of session")
		locker := t.conn(t.direct)
		do := func(statement string) {
			t.Helper()
			if _, err := locker.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		do("LOCK TABLES " + t.store.Schema() + ".live_view READ")
		t.fails(1105, "ALTER TABLE session TTL = seen + INTERVAL 1 HOUR")
		t.wantViews("refused", "live:1,2,3,4", "live of session")
		do("UNLOCK TABLES")
		t.wantPolicy("session", "armed seen 1 DAY 24h")
		t.exec("ALTER TABLE session TTL = seen + INTERVAL 1 HOUR")
		t.wantViews("afterwards", "live:1,2,4", "live of session")
	})
}

// TestApprovalWhileATableIsChanged: what a person agrees to is about a table that may be another one in a moment.
func TestApprovalWhileATableIsChanged(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec(ttlOfADay)
		behind := func(s step) error {
			if s == stopped {
				t.fails(1205, "APPROVE TTL JOB FOR t")
			}
			return nil
		}
		t.after.Store(&behind)
		t.exec("ALTER TABLE t ADD x INT")
		t.after.Store(nil)

		t.exec("APPROVE TTL JOB FOR t")
		if p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "t"}); err != nil || !p.Approved() {
			t.Errorf("it is not approved, %v", err)
		}
	})
}

// TestPreparedSetSaysWhatIsSet: the server's variables of a prepared SET are set before our values are known.
func TestPreparedSetSaysWhatIsSet(t *testing.T) {
	onStage(t, func(t *theatre) {
		set, err := t.db.PrepareContext(t.Context(), "SET SESSION sort_buffer_size = 65536, GLOBAL ttl_brake_percent = ?")
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		_, err = set.ExecContext(t.Context(), "nonsense")
		if err == nil || !strings.Contains(err.Error(), "the server's variables are set, but not ours: ") {
			t.Errorf("got %v", err)
		}
	})
}
