package statement

import (
	"database/sql"
	"sync"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

const ttlOfADay = "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY"

// begin runs a statement of a client that stays, and waits until it stands behind a lock of a table.
func (t *theatre) begin(statement string) (ended func() error) {
	t.Helper()
	client := t.conn(t.open(t.server.Config(t.schema)))
	id := 0
	if err := client.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 1)
	go func() {
		_, err := client.ExecContext(t.Context(), statement)
		said <- err
	}()
	t.await(statement+" does not wait", func() bool {
		return len(mysqltest.Processes(t.T, t.direct, "ID = ? AND STATE LIKE 'Waiting for table%'", id)) == 1
	})
	return func() error { return <-said }
}

// conn is a connection until the end of the test.
func (t *theatre) conn(db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestAlterThatWaitedBringsNothingBack: what somebody has said of a TTL while an ALTER waited for the table holds, be it
// that the TTL is gone, off or another one.
func TestAlterThatWaitedBringsNothingBack(t *testing.T) {
	for name, c := range map[string]struct{ waits, meanwhile, policy string }{
		"removed":           {"ADD COLUMN x INT", "REMOVE TTL", ""},
		"off":               {"ADD COLUMN x INT", "TTL_ENABLE = 'OFF'", "armed at 1 DAY off 24h"},
		"longer":            {"ADD COLUMN x INT", "TTL = at + INTERVAL 1 YEAR", "armed at 1 YEAR 24h"},
		"interval, removed": {"TTL_JOB_INTERVAL = '2h', ADD COLUMN x INT", "REMOVE TTL", ""},
		"interval, longer": {
			"TTL_JOB_INTERVAL = '2h', ADD COLUMN x INT", "TTL = at + INTERVAL 1 YEAR", "armed at 1 YEAR 2h",
		},
		"only interval, longer": {"TTL_JOB_INTERVAL = '2h'", "TTL = at + INTERVAL 1 YEAR", "armed at 1 YEAR 2h"},
		"only interval, off":    {"TTL_JOB_INTERVAL = '2h'", "TTL_ENABLE = 'OFF'", "armed at 1 DAY off 2h"},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *theatre) {
				t.exec(ttlOfADay)
				locker := t.conn(t.db)
				do := func(statement string) {
					t.Helper()
					if _, err := locker.ExecContext(t.Context(), statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
				do("LOCK TABLES t WRITE")
				ended := t.begin("ALTER TABLE t " + c.waits)
				do("ALTER TABLE t " + c.meanwhile)
				do("UNLOCK TABLES")
				if err := ended(); (err != nil) != (name == "interval, removed") {
					t.Errorf("the one that waited: %v", err)
				}
				t.wantPolicy("t", c.policy)
			})
		})
	}
}

// TestAlterBesideAnotherBringsNothingBack: so it is with what another ALTER says that is under way.
func TestAlterBesideAnotherBringsNothingBack(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec(ttlOfADay)
		reached, goOn := make(chan bool), make(chan bool)
		var first sync.Once
		behind := func(s step) error {
			if s == stopped {
				first.Do(func() {
					close(reached)
					<-goOn
				})
			}
			return nil
		}
		t.after.Store(&behind)

		var both sync.WaitGroup
		alter := func(statement string) {
			both.Go(func() {
				if _, err := t.db.ExecContext(t.Context(), statement); err != nil {
					t.Errorf("%s: %v", statement, err)
				}
			})
		}
		alter("ALTER TABLE t ADD a INT, TTL = at + INTERVAL 1 YEAR")
		<-reached
		alter("ALTER TABLE t ADD b INT")
		alter("ALTER TABLE t TTL_JOB_INTERVAL = '2h'")
		t.await("nobody waits", func() bool { // the pure one has asked for its right, and then waits for the catalog
			return len(mysqltest.Processes(t.T, t.direct, "DB = ?", t.schema)) >= 3
		})
		close(goOn)
		both.Wait()
		t.wantPolicy("t", "armed at 1 YEAR 2h")
	})
}
