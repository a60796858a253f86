package chaos

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestOnlyExpiredRowsAreDeletedOnGalera is the same property where each proxy has a member of its
// own, and members lag behind each other. TTLPROXY_TEST_GALERA names the members, as data source
// names with a blank between them; they need binlog_row_metadata=FULL, log_slave_updates and a
// clock in UTC, and lose their schemas app and ttlproxy.
func TestOnlyExpiredRowsAreDeletedOnGalera(t *testing.T) {
	names := os.Getenv("TTLPROXY_TEST_GALERA")
	if testing.Short() || names == "" {
		t.Skip("needs a Galera cluster, named by TTLPROXY_TEST_GALERA: see scripts/galera.sh")
	}

	var members []*mysqltest.Server
	for name := range strings.FieldsSeq(names) {
		members = append(members, mysqltest.Named(t, sandbox.MariaDB, name))
	}

	direct := members[0].Open(t, "")
	for _, q := range []string{"DROP DATABASE IF EXISTS app", "DROP DATABASE IF EXISTS ttlproxy"} {
		exec1(t, direct, q)
	}

	length := lengthOf(t)
	prove(t, seedOf(t), length, members, func(ctx context.Context, proxies []*node, random *rand.Rand) {
		for ctx.Err() == nil {
			pause(ctx, time.Duration(300+random.IntN(2000))*time.Millisecond)
			p := proxies[random.IntN(len(proxies))]
			switch random.IntN(3) {
			case 0:
				p.Kill()
				p.start(t)
			case 1:
				p.freeze(ctx, t, time.Duration(random.IntN(4000))*time.Millisecond)
			case 2:
				lag(ctx, t, members[random.IntN(len(members))], time.Duration(random.IntN(2000))*time.Millisecond)
			}
		}
	})
}

// lag keeps a member from applying what the others do.
func lag(ctx context.Context, t *testing.T, member *mysqltest.Server, d time.Duration) {
	t.Helper()
	db := member.Open(t, "")
	db.SetMaxOpenConns(1)
	for _, q := range []string{"SET SESSION lock_wait_timeout = 1", "FLUSH TABLES WITH READ LOCK"} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			return // the member was too busy to be stopped; there will be other times
		}
	}
	pause(ctx, d)
	exec1(t, db, "UNLOCK TABLES")
}
