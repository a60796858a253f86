package ttl

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestTaskThatNobodyHas: a task goes on that no worker has although the catalog says that a living
// node is at work on it, because the server did not hear that it was given back, or done, or its
// answer to the claim was lost.
func TestTaskThatNobodyHas(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, unheard := range map[string]string{"done": "finished", "given back": "waiting", "claimed": ""} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 300)
				f.Declare("t")
				f.strays(unheard)
				f.Wait("the job to end", func() bool {
					return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job_history WHERE state = 'finished' AND deleted = 150")) > 0
				})
				if left := f.Rows("t"); left != "150" {
					t.Errorf("%s rows are left, want 150", left)
				}
			})
		}
	})
}

// strays runs an engine until the end of the test, and has it lose a task on the way to a state, or
// on the way to its worker.
func (f *fixture) strays(unheard string) {
	f.T.Helper()
	gate, err := f.Admin.Conn(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	defer gate.Close()
	mustExec(f.T, gate, f.In("DO GET_LOCK('{t}', 10)"))
	f.Exec(f.In("CREATE TRIGGER {t}_c.deaf BEFORE UPDATE ON {t}_c.task FOR EACH ROW IF OLD.state = 'running' AND " +
		"NEW.state = '" + unheard + "' THEN SET @halt = GET_LOCK('{t}', 60), @halt = RELEASE_LOCK('{t}'); " +
		"SIGNAL SQLSTATE '45000'; END IF"))

	stopFile := filepath.Join(f.T.TempDir(), "stop")
	var once sync.Once
	f.T.Cleanup(f.run(func(c *Config) {
		c.StopFile = stopFile
		c.beforePacket = func() {
			if unheard != "finished" {
				once.Do(func() { _ = os.WriteFile(stopFile, nil, 0o600) })
			}
		}
	}))

	if unheard == "" {
		f.Wait("the task to be given back", func() bool {
			return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.task WHERE state = 'waiting' AND fence > 2")) > 0
		})
		f.Exec(f.In("UPDATE {t}_c.task SET state = 'running', fence = fence + 1, owner = (SELECT id FROM {t}_c.node)"))
	} else {
		f.Wait("the server not to listen", func() bool {
			return f.Number(f.In("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock' AND "+
				"info LIKE '%{t}%'")) > 0
		})
	}
	mustExec(f.T, gate, f.In("DO RELEASE_LOCK('{t}')"))
	f.Exec(f.In("DROP TRIGGER {t}_c.deaf"))
	if err := os.Remove(stopFile); err != nil && !os.IsNotExist(err) {
		f.T.Fatal(err)
	}
}
