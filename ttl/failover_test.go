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
	f.Fill("seed", 5000)
	other.Fill("seed", 5000)

	const created = "SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA LIKE 'ttl%' AND " +
		"TABLE_NAME = 't'"
	for same := false; !same; same = f.Text(created) == other.Text(created) {
		for _, on := range []*fixture{f, other} {
			on.Exec("DROP TABLE IF EXISTS "+on.Schema+".t", "CREATE TABLE "+on.Schema+".t LIKE "+on.Schema+".seed")
		}
	}

	for _, on := range []*fixture{f, other} {
		on.Exec("INSERT INTO " + on.Schema + ".t SELECT * FROM " + on.Schema + ".seed")
	}

	f.Declare("t")
	other.Open()

	var target atomic.Pointer[string]
	target.Store(&here.Addr)
	backend := here.Clone()
	backend.DBName = engines
	backend.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *target.Load())
	}
	var once sync.Once
	defer f.run(func(c *Config) {
		c.Backend = backend
		c.beforePacket = func() {
			once.Do(func() {
				task := f.Text("SELECT CONCAT('fence = ', fence, ', batch = ', batch) FROM " + f.Schema + "_c.task")
				other.Exec("UPDATE " + other.Schema + "_c.task SET " + task)
				target.Store(&there.Addr)
				f.cut()
			})
		}
	})()

	f.Wait("the job to be held", func() bool {
		return f.Text("SELECT COALESCE(MAX(reason), '') LIKE 'connections lead to server%' FROM "+f.Schema+
			"_c.job") == "1"
	})
	if left := other.Rows("t"); left != "5000" {
		t.Errorf("%s rows are left on the other server, want all 5000", left)
	}

	target.Store(&here.Addr)
	f.cutFrom(there)
	f.Wait("the expired rows to go when connections lead back", func() bool { return f.Rows("t") == "2500" })
}

// engines is the schema that the engine's connections are in, and those of the test are not.
const engines = "mysql"

// cut ends the engine's connections as a fail-over does.
func (f *fixture) cut() { f.cutFrom(f.Config) }

func (f *fixture) cutFrom(server *mysql.Config) {
	f.T.Helper()
	db := mysqltest.Open(f.T, server)
	rows, err := db.QueryContext(f.T.Context(),
		"SELECT id FROM information_schema.PROCESSLIST WHERE info IS NULL AND command = 'Sleep' AND db = '"+engines+"'")
	if err != nil {
		f.T.Fatal(err)
	}
	defer rows.Close()

	var ids []uint64
	for rows.Next() {
		var id uint64
		if err := rows.Scan(&id); err != nil {
			f.T.Fatal(err)
		}
		ids = append(ids, id)
	}

	if err := rows.Err(); err != nil {
		f.T.Fatal(err)
	}

	for _, id := range ids {
		_, _ = db.ExecContext(f.T.Context(), fmt.Sprintf("KILL %d", id)) // it may have gone already
	}
}
