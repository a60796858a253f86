package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestForestsWhateverDies lets applications, proxies that die and a server that dies loose on one
// random forest of tables after the other, and compares what is left with what the applications have
// committed: with a row all go that depend on it, or it stays.
func TestForestsWhateverDies(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers: left out under -short")
	}
	length := lengthOf(t)
	seed := seedOf(t)
	for _, flavour := range mysqltest.Flavours {
		if t.Failed() {
			return // it is said at once what failed
		}
		t.Run(string(flavour), func(t *testing.T) {
			s := mysqltest.Start(t, flavour, "--default-time-zone=+00:00")
			t.Cleanup(func() {
				if t.Failed() {
					describe(t, s)
				}
			})
			engine := s.Account(t, "engine", "ALL ON *.*")
			w := &woods{server: s, direct: s.Open(t, "")}
			for range 3 {
				p := newNode(t, s.Addr(), engine.User, engine.Passwd)
				p.start(t)
				w.proxies = append(w.proxies, p)
			}
			c := s.Config("")
			c.Addr, c.Timeout = w.proxies[0].addr, time.Second
			w.through = mysqltest.Open(t, c)

			for until := time.Now().Add(length); time.Now().Before(until); seed++ {
				if w.grow(t, seed); t.Failed() {
					return
				}
			}
		})
	}
}

// woods is where forests grow.
type woods struct {
	server  *mysqltest.Server
	proxies []*node
	through *sql.DB
	direct  *sql.DB
}

// grow makes a forest, has it live through faults, and judges what is left.
func (w *woods) grow(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 400))
	c := ttltest.ForestConfig{
		DB: w.server.Open(t, ""), Schema: w.server.Database(t), Seed: seed, Rows: 50 + random.IntN(1000),
		Most: []int{0, 100, 1500}[random.IntN(3)], Skip: random.IntN(3) == 0, Deaths: true,
	}
	children := 10_000
	if random.IntN(2) == 0 {
		c.Parts, c.Most, children = true, 5*c.Most, 50+random.IntN(1000)
		if random.IntN(3) == 0 { // the smallest parts, and as many of them
			children = 1 + random.IntN(10)
			c.Most = min(c.Most, 100*children)
		}
	}
	forest := ttltest.NewForest(t, c)
	for _, statement := range []string{
		"SET GLOBAL ttl_brake_percent = 100", "SET GLOBAL ttl_brake_factor = 0",
		fmt.Sprintf("SET GLOBAL ttl_fk_max_children = %d", children),
		"ALTER TABLE " + forest.Schema + ".w0 TTL = at + INTERVAL 1 DAY TTL_JOB_INTERVAL = '1s' " + forest.Policy(),
	} {
		exec1(t, w.through, statement)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(3+random.IntN(8))*time.Second)
	defer cancel()
	var apps sync.WaitGroup
	for app := range uint64(4) {
		apps.Go(func() { forest.Work(ctx, app, 0) })
	}
	faults(ctx, t, w.server, w.proxies, random)
	apps.Wait()

	w.goOn(t, forest)
	w.judge(t, forest)
}

func (w *woods) judge(t *testing.T, forest *ttltest.Forest) {
	t.Helper()
	var undeletable string
	exec1(t, w.through, "PAUSE TTL FOR "+forest.Schema+".w0")
	id := w.policy(t, forest)
	err := w.direct.QueryRowContext(t.Context(), "SELECT COALESCE(MAX(reason), '') FROM ttlproxy.row_error "+
		"WHERE policy_id = ?", id).Scan(&undeletable)
	if err != nil {
		t.Fatal(err)
	}

	gone, counted := forest.Check(), countedByEngine(t, w.direct, id)
	if gone >= 0 && gone != counted {
		t.Errorf("%d rows have gone, and the catalog counts %d", gone, counted)
	}
	if undeletable != "" {
		t.Errorf("a row counts as undeletable: %s", undeletable)
	}
	t.Logf("the engine counts %d rows", counted)
	exec1(t, w.through, "ALTER TABLE "+forest.Schema+".w0 REMOVE TTL")
}

// stillFor is how long nothing may go of what has to: a node that died is missed after seconds, and the
// slowest batch takes less than one.
const stillFor = time.Minute

// goOn waits until what has expired has gone. However much that is, some of it has to go all the time.
func (w *woods) goOn(t *testing.T, forest *ttltest.Forest) {
	t.Helper()
	most, at := -1, time.Now()
	for {
		n, err := forest.Expired(t.Context())
		if err == nil && n == 0 {
			return
		}
		if gone := countedByEngine(t, w.direct, w.policy(t, forest)); gone > most {
			most, at = gone, time.Now()
		}
		if time.Since(at) > stillFor {
			t.Fatalf("%d expired rows are still there (%v), and nothing has gone for %s", n, err, stillFor)
		}
		pause(t.Context(), 100*time.Millisecond)
	}
}

// policy is the number of the one on a forest.
func (w *woods) policy(t *testing.T, forest *ttltest.Forest) (id string) {
	t.Helper()
	err := w.direct.QueryRowContext(t.Context(), "SELECT id FROM ttlproxy.policy WHERE schema_name = '"+forest.Schema+
		"'").Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
