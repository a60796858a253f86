package ttl

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestTaskStaysOnItsServer: a connection that is lost in the middle of a task and comes back on
// another server, which has the same table from the same second and the same task, deletes nothing
// there: what the engine knows of the table is not about that one.
func TestTaskStaysOnItsServer(t *testing.T) {
	t.Parallel()
	here, there := mysqltest.Start(t, sandbox.MariaDB).Config(""), mysqltest.Start(t, sandbox.MariaDB).Config("")
	f, other := newFixture(t, here, 0), newFixture(t, there, 0)
	f.fill("seed", 5000)
	other.fill("seed", 5000)

	const created = "SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA LIKE 'ttl%' AND " +
		"TABLE_NAME = 't'"
	for same := false; !same; same = f.text(created) == other.text(created) {
		for _, on := range []*fixture{f, other} {
			on.exec("DROP TABLE IF EXISTS "+on.schema+".t", "CREATE TABLE "+on.schema+".t LIKE "+on.schema+".seed")
		}
	}

	for _, on := range []*fixture{f, other} {
		on.exec("INSERT INTO " + on.schema + ".t SELECT * FROM " + on.schema + ".seed")
	}

	f.declare("t")
	other.open()

	var target atomic.Pointer[string]
	target.Store(&here.Addr)
	backend := here.Clone()
	backend.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *target.Load())
	}
	var once sync.Once
	defer f.run(func(c *Config) {
		c.Backend = backend
		c.beforePacket = func() {
			once.Do(func() {
				task := f.text("SELECT CONCAT('fence = ', fence, ', batch = ', batch) FROM " + f.schema + "_c.task")
				other.exec("UPDATE " + other.schema + "_c.task SET " + task)
				target.Store(&there.Addr)
				f.cut()
			})
		}
	})()

	f.wait("the job to be held", func() bool {
		return f.text("SELECT COALESCE(MAX(reason), '') LIKE 'connections lead to server%' FROM "+f.schema+
			"_c.job") == "1"
	})
	if left := other.rows("t"); left != "5000" {
		t.Errorf("%s rows are left on the other server, want all 5000", left)
	}

	target.Store(&here.Addr)
	f.cutFrom(there)
	f.wait("the expired rows to go when connections lead back", func() bool { return f.rows("t") == "2500" })
}

// cut ends the engine's connections as a fail-over does.
func (f *fixture) cut() { f.cutFrom(f.cfg) }

func (f *fixture) cutFrom(server *mysql.Config) {
	f.t.Helper()
	db := mysqltest.Open(f.t, server)
	rows, err := db.QueryContext(f.t.Context(),
		"SELECT id FROM information_schema.PROCESSLIST WHERE info IS NULL AND id <> CONNECTION_ID() AND command = "+
			"'Sleep'")
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()

	var ids []uint64
	for rows.Next() {
		var id uint64
		if err := rows.Scan(&id); err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, id)
	}

	if err := rows.Err(); err != nil {
		f.t.Fatal(err)
	}

	for _, id := range ids {
		_, _ = db.ExecContext(f.t.Context(), fmt.Sprintf("KILL %d", id)) // it may have gone already
	}
}
