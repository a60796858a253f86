package catalog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// galera returns two members of one cluster, named by TTLPROXY_TEST_GALERA as data source names
// with blanks between.
func galera(t *testing.T) (a, b *bench) {
	t.Helper()
	names := strings.Fields(os.Getenv("TTLPROXY_TEST_GALERA"))
	if len(names) < 2 {
		t.Skip("needs a Galera cluster, named by TTLPROXY_TEST_GALERA: see scripts/galera.sh")
	}

	first, err := mysql.ParseDSN(names[0])
	if err != nil {
		t.Fatal(err)
	}

	second, err := mysql.ParseDSN(names[1])
	if err != nil {
		t.Fatal(err)
	}

	a = newBench(t, first)
	b = &bench{db: openDB(t, second), cfg: second, user: a.user}
	if b.Store, err = Open(t.Context(), b.db, a.Store.cfg); err != nil {
		t.Fatal(err)
	}

	return a, b
}

// Shared locks do not travel between members: there, the fence that every change bumps rejects the
// late batch.
func TestGaleraRejectsABatchThatCommitsAfterTheChange(t *testing.T) {
	t.Parallel()
	a, b := galera(t)
	node := a.node(t)

	changes := map[string]func(Policy) error{
		"pause":     func(p Policy) error { return b.Pause(t.Context(), "dba", p.ID, "", time.Time{}) },
		"pause all": func(Policy) error { return b.Pause(t.Context(), "dba", PauseAll, "", time.Time{}) },
		"cancel":    func(p Policy) error { _, err := b.Cancel(t.Context(), "dba", p.ID); return err },
		"remove":    func(p Policy) error { return b.Remove(t.Context(), b.client(), p.Table) },
		"stage": func(p Policy) error {
			_, err := b.Stage(t.Context(), b.client(), []Intent{{Kind: IntentAlter, Table: p.Table}})
			return err
		},
	}
	for name, change := range changes {
		p := a.declare(t, a.table(t, fmt.Sprintf("t%d", lastSchema.Add(1))))
		a.exec(t, "INSERT INTO user."+p.Table.Name+" VALUES (1, NULL)")
		job := a.job(t, p, 1)

		task, err := a.ClaimTask(t.Context(), Claim{Node: node, Jobs: []uint64{job.ID}})
		if err != nil {
			t.Fatal(name, err)
		}

		tx, err := a.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		batch := fmt.Sprintf("UPDATE {task} SET batch = %d WHERE id = %d AND fence = %d AND state = 'running' AND %s",
			task.Batch+1, task.ID, task.Fence, a.Guard(p.ID, p.Version))
		if n, err := a.Store.exec(t.Context(), tx, batch); n != 1 || err != nil {
			t.Fatalf("%s: batch: got %d rows, %v", name, n, err)
		}
		if _, err := tx.ExecContext(t.Context(), "DELETE FROM "+p.Table.String()); err != nil {
			t.Fatal(err)
		}
		if err := change(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := tx.Commit(); !isServerError(err, ddl.CodeDeadlock) {
			t.Errorf("%s: the batch's commit: got %v, want it rejected", name, err)
		}
		if n := a.scalar(t, "SELECT COUNT(*) FROM "+p.Table.String()); n != 1 {
			t.Errorf("%s: a row went after the change had answered", name)
		}
		if err := b.Resume(t.Context(), "dba", PauseAll); err != nil {
			t.Error(err)
		}
	}
}

func TestGaleraRejectsAJobCreatedBesideAPause(t *testing.T) {
	t.Parallel()
	a, b := galera(t)
	p := a.declare(t, a.table(t, "a"))

	tx, err := a.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.touch(t.Context(), tx, []NewJob{{Policy: p}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Pause(t.Context(), "dba", p.ID, "", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); !isServerError(err, ddl.CodeDeadlock) {
		t.Errorf("got %v, want the job rejected", err)
	}
	if _, err := a.CreateJob(t.Context(), NewJob{Policy: p, Cutoff: p.CreatedAt}); !errors.Is(err, ErrStopped) {
		t.Errorf("the next attempt: got %v, want %v", err, ErrStopped)
	}
}

func TestGaleraMemberIsTrustedWhileItsClusterIsAtWork(t *testing.T) {
	t.Parallel()
	a, b := galera(t)
	a.node(t)
	if why := b.check(t, b.witness(t, "")); why != "" {
		t.Errorf("another member of the cluster: held because %s", why)
	}
}

// A client on another member is looked for there: the proxy that forwarded its statement may be
// gone, too.
func TestGaleraMemberTellsThatAClientIsGone(t *testing.T) {
	t.Parallel()
	a, b := galera(t)
	p := a.declare(t, a.table(t, "a"))
	client := openDB(t, b.cfg)

	who := Client{Account: "ann@%", Server: Server{Host: b.Server().Host, Port: b.Server().Port}.Key()}
	if err := client.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&who.Connection); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Stage(t.Context(), who, []Intent{{Kind: IntentAlter, Table: p.Table}}); err != nil {
		t.Fatal(err)
	}

	sweep := func() int {
		t.Helper()
		n, err := a.SweepMember(t.Context(), b.db)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := sweep(); n != 0 {
		t.Errorf("swept %d stages while the client was there", n)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}

	for n := 0; sweep() == 0; n++ {
		if n == 200 {
			t.Fatal("the stage was never settled")
		}
		a.scalar(t, "SELECT SLEEP(0.02)")
	}

	a.wantState(t, "a", PolicyArmed)
}
