package statement

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// What keeps the jobs of a table from deleting is the answer also while one of them is open, and
// ends the wait of those who have joined it.
func TestRunSaysWhatHolds(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		node, err := b.store.Join(t.Context(), catalog.Node{Name: "busy", Engine: true})
		if err != nil {
			t.Fatal(err)
		}

		stop := func(why catalog.Stop, status string) {
			t.Helper()
			if err := b.store.Beat(t.Context(), node, 1, why, status); err != nil {
				t.Fatal(err)
			}
		}

		orders, later := b.declare(t, "orders"), time.Now().UTC().Add(12*time.Hour)
		b.openJob(t, node, orders)
		b.openJob(t, node, b.declare(t, "parcels", func(r *catalog.Rule) {
			r.Options = map[string]string{"TTL_WINDOW": later.Format("15:04-") + later.Add(time.Minute).Format("15:04")}
		}))

		if got := rows(t, db, "RUN TTL JOB FOR orders"); len(got) != 1 || !strings.Contains(got[0], "|running|") {
			t.Errorf("nothing holds it: got %q", got)
		}

		for _, c := range []struct {
			name, hold, end string
			stop            catalog.Stop
			want            string
		}{
			{name: "a pause", hold: "PAUSE TTL FOR orders", end: "RESUME TTL FOR orders", want: "PAUSED (PAUSE TTL by"},
			{name: "a pause of all", hold: "PAUSE TTL", end: "RESUME TTL", want: "PAUSED (everything, PAUSE TTL by"},
			{
				name: "the switch", hold: "SET GLOBAL ttl_job_enable = OFF", end: "SET GLOBAL ttl_job_enable = ON",
				want: "PAUSED (ttl_job_enable is OFF",
			},
			{
				name: "a stop file", hold: "DO 0", end: "DO 0", stop: catalog.StopFile,
				want: "PAUSED (stopped here (on busy))",
			},
		} {
			stop(c.stop, "stopped here")
			run(t, db, c.hold)
			for _, wait := range []string{"", " WAIT"} {
				if _, why := refused(t, db, "RUN TTL JOB FOR orders"+wait); !strings.Contains(why, c.want) {
					t.Errorf("%s%s: got %q, want %q", c.name, wait, why, c.want)
				}
			}

			run(t, db, c.end)
		}

		stop("", "")
		if _, why := refused(t, db, "RUN TTL JOB FOR parcels"); !strings.Contains(why,
			"WAITING FOR WINDOW (outside TTL_WINDOW") {
			t.Errorf("outside its window: got %q", why)
		}

		timer := time.AfterFunc(pingEvery, func() { // by then it has been joined
			if err := b.store.Pause(context.WithoutCancel(t.Context()), "ann@%", orders.ID, "",
				time.Time{}); err != nil {
				t.Error(err)
			}
		})
		defer timer.Stop()

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		if _, err := db.ExecContext(ctx, "RUN TTL JOB FOR orders WAIT"); err == nil ||
			!strings.Contains(err.Error(), "cannot run now: PAUSED") {
			t.Errorf("paused while somebody waits: got %v", err)
		}
	})
}

// openJob gives a policy a job that is running, of a node that never does anything about it.
func (b *adminBed) openJob(t *testing.T, node uint64, p catalog.Policy) catalog.Job {
	t.Helper()
	job, err := b.store.CreateJob(t.Context(),
		catalog.NewJob{Policy: p, Owner: node, Cutoff: time.Now(), Tasks: []catalog.TaskRange{{}}})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// A client that is gone does not wait for its job: its session ends on the server as well, and the
// job goes on.
func TestRunEndsWithItsClient(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		p := b.declare(t, "orders")
		node, err := b.store.Join(t.Context(), catalog.Node{Name: "busy", Engine: true})
		if err != nil {
			t.Fatal(err)
		}

		job := b.openJob(t, node, p)
		conn, err := b.client(t, nil).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		var id uint64
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		if _, err := conn.ExecContext(ctx, "RUN TTL JOB FOR orders WAIT"); err == nil {
			t.Fatal("RUN … WAIT did not wait")
		}

		const query = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?"
		for deadline := time.Now().Add(time.Minute); ; {
			if rows(t, b.db, query, id)[0] == "0" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the session is still there")
			}
			<-time.After(50 * time.Millisecond)
		}

		if now, err := b.store.Job(t.Context(), job.ID); err != nil || now.State != catalog.JobRunning {
			t.Errorf("the job is %q, %v", now.State, err)
		}
	})
}
