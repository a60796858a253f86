package statement

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
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

		// What a node last said of the switch is not asked: the setting is read.
		stop(catalog.StopSwitch, "ttl_job_enable is OFF")
		if got := rows(t, db, "RUN TTL JOB FOR orders"); len(got) != 1 || !strings.Contains(got[0], "|running|") {
			t.Errorf("just switched on: got %q", got)
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

		for deadline := time.Now().Add(time.Minute); len(mysqltest.Processes(t, b.db, "ID = ?", id)) > 0; {
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

// TestRunMeansWhatHasExpiredByThen: a run that began before somebody asked for one leaves the rows
// that have expired since. So the wait ends with the run after it, unless somebody cancels that.
func TestRunMeansWhatHasExpiredByThen(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		p := b.declare(t, "orders")
		node, err := b.store.Join(t.Context(), catalog.Node{Name: "busy", Engine: true})
		if err != nil {
			t.Fatal(err)
		}

		// ask runs the statement and returns when it has asked for a run, and later its answer.
		ask := func() (asked time.Time, answer chan []string) {
			t.Helper()
			before := b.requestedAt(t, p)
			answer = make(chan []string, 1)
			go func() {
				got, err := answerOf(t.Context(), db, "RUN TTL JOB FOR orders WAIT")
				if err != nil {
					got = []string{err.Error()}
				}
				answer <- got
			}()

			for deadline := time.Now().Add(time.Minute); ; {
				if asked = b.requestedAt(t, p); asked.After(before) {
					<-time.After(time.Second) // in which it looks for the first time, and sees the open job
					return asked, answer
				}
				if time.Now().After(deadline) {
					t.Fatal("RUN TTL JOB has not asked for a run")
				}
				<-time.After(20 * time.Millisecond)
			}
		}

		run := func(began time.Time) catalog.Job {
			t.Helper()
			job, err := b.store.CreateJob(t.Context(),
				catalog.NewJob{Policy: p, Owner: node, RunAt: began, Cutoff: began, Tasks: []catalog.TaskRange{{}}})
			if err != nil {
				t.Fatal(err)
			}
			return job
		}
		finish := func(job catalog.Job) {
			t.Helper()
			if err := b.store.FinishJob(t.Context(), job.ID, job.Fence, catalog.JobFinished, ""); err != nil {
				t.Fatal(err)
			}
		}

		open := b.openJob(t, node, p)
		asked, answer := ask()
		finish(open)
		finish(run(asked.Add(-time.Millisecond))) // which was being started when it was asked for
		last := run(asked)
		finish(last)
		if got := <-answer; len(got) < 2 || got[len(got)-1] != fmt.Sprint(last.ID, " finished") {
			t.Errorf("got %q, want job %d last, whose run began when it was asked for", got, last.ID)
		}

		open = b.openJob(t, node, p)
		_, answer = ask()
		if _, err := b.store.Cancel(t.Context(), "ann@%", p.ID); err != nil {
			t.Fatal(err)
		}
		if got := <-answer; len(got) != 1 || got[0] != fmt.Sprint(open.ID, " cancelled") {
			t.Errorf("cancelled meanwhile: got %q, want job %d", got, open.ID)
		}
		if at := b.requestedAt(t, p); !at.IsZero() {
			t.Errorf("a run is asked for, at %v, after CANCEL TTL JOB", at)
		}
	})
}

// requestedAt is when a run of a policy was asked for; zero when none is.
func (b *adminBed) requestedAt(t *testing.T, p catalog.Policy) time.Time {
	t.Helper()
	all, err := b.store.SchedulesOf(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Partition == "" {
			return s.RequestedAt
		}
	}
	return time.Time{}
}

// answerOf is what RUN TTL JOB answers: each job's number and state.
func answerOf(ctx context.Context, db *sql.DB, statement string) (jobs []string, err error) {
	r, err := db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer r.Close()

	for r.Next() {
		var id, state string
		var other [13]sql.NullString
		into := []any{&id, &other[0], &other[1], &other[2], &state}
		for i := range other[3:] {
			into = append(into, &other[3+i])
		}
		if err := r.Scan(into...); err != nil {
			return nil, err
		}
		jobs = append(jobs, id+" "+state)
	}

	return jobs, r.Err()
}
