package proxy

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// A client that is gone does not wait for its job: its session ends on the server as well, and the job goes on.
func TestRunEndsWithItsClient(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		p := b.declare(t, "orders")
		node, err := b.store.Join(t.Context(), catalog.Node{Name: "busy", Engine: true})
		if err != nil {
			t.Fatal(err)
		}
		job, err := b.store.CreateJob(t.Context(), catalog.NewJob{Policy: p, Owner: node, Cutoff: time.Now(), Tasks: []catalog.TaskRange{{}}})
		if err != nil {
			t.Fatal(err)
		}
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
