package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Half of these tables have a policy at any time; x and y are swapped with them behind the proxies'
// back.
var (
	policied = []string{"a", "b", "c"}
	plain    = []string{"x", "y"}
)

const createTable = `CREATE TABLE %s (k1 VARCHAR(20) NOT NULL, k2 INT UNSIGNED NOT NULL, at DATETIME(3) NULL, other
 DATETIME(3) NULL,` +
	` v VARCHAR(100), PRIMARY KEY (k1, k2), KEY by_at (at))`

// workload is the application. Its goroutines share nothing but the databases.
type workload struct {
	through []*sql.DB // one pool per proxy
	direct  *sql.DB   // for what happens behind their back
	seed    uint64

	mu      sync.Mutex
	done    map[string]int // statements that worked, by their first words
	refused map[string]int // and those that did not, by error
}

// run works until ctx ends. What it breaks it does not mend: settle does that.
func (w *workload) run(ctx context.Context) {
	var all sync.WaitGroup
	for i := range 4 {
		random := rand.New(rand.NewPCG(w.seed, uint64(i)))
		all.Go(func() {
			for ctx.Err() == nil {
				w.rows(ctx, random)
			}
		})
	}
	all.Go(func() { w.policies(ctx, rand.New(rand.NewPCG(w.seed, 100))) })
	all.Go(func() { w.behind(ctx, rand.New(rand.NewPCG(w.seed, 200))) })
	all.Wait()
}

// rows inserts, refreshes or deletes a few rows of one table. Times are around the edge of what is
// due.
func (w *workload) rows(ctx context.Context, random *rand.Rand) {
	all := slices.Concat(policied, plain)
	table := all[random.IntN(len(all))]
	key := fmt.Sprintf("k1 = 'key %d'", random.IntN(20))
	at := fmt.Sprintf("UTC_TIMESTAMP(3) - INTERVAL %d SECOND", random.IntN(12)-2)

	if random.IntN(20) == 0 {
		at = "NULL"
	}

	statement := ""
	switch random.IntN(4) {
	case 0, 1:
		var values []string
		for range 1 + random.IntN(50) {
			values = append(values,
				fmt.Sprintf("('key %d', %d, %s, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, REPEAT('v', %d))",
					random.IntN(20), random.IntN(1000), at, random.IntN(100)))
		}
		statement = fmt.Sprintf("REPLACE INTO %s (k1, k2, at, other, v) VALUES %s", table, strings.Join(values, ", "))
	case 2:
		statement = fmt.Sprintf("UPDATE %s SET at = %s WHERE %s AND k2 < %d", table, at, key, random.IntN(1000))
	case 3:
		statement = fmt.Sprintf("DELETE FROM %s WHERE %s AND k2 > %d", table, key, random.IntN(1000))
	}

	w.exec(ctx, w.proxy(random), statement)
	pause(ctx, time.Duration(random.IntN(20))*time.Millisecond)
}

// policies changes rules, switches, pauses and names, always through a proxy.
func (w *workload) policies(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		table := policied[random.IntN(len(policied))]
		db := w.proxy(random)
		switch random.IntN(10) {
		case 0, 1, 2:
			w.exec(ctx, db, fmt.Sprintf("ALTER TABLE %s TTL = at + INTERVAL %d SECOND TTL_JOB_INTERVAL = '1s'",
				table, 1+random.IntN(8)))
		case 3:
			w.exec(ctx, db, fmt.Sprintf("ALTER TABLE %s TTL_ENABLE = '%s'", table,
				[]string{"ON", "OFF"}[random.IntN(2)]))
		case 4:
			w.exec(ctx, db, fmt.Sprintf("ALTER TABLE %s REMOVE TTL", table))
		case 5:
			w.exec(ctx, db, "PAUSE TTL FOR "+table)
		case 6, 7:
			w.exec(ctx, db, "RESUME TTL FOR "+table)
		case 8:
			w.exec(ctx, db, fmt.Sprintf("RENAME TABLE %s TO %s_away", table, table))
			pause(ctx, time.Duration(random.IntN(500))*time.Millisecond)
			w.exec(ctx, db, fmt.Sprintf("RENAME TABLE %s_away TO %s", table, table))
		case 9:
			w.exec(ctx, db,
				fmt.Sprintf("ALTER TABLE %s TTL_ENABLE = 'ON' TTL_JOB_INTERVAL = '1s', MODIFY v VARCHAR(%d)",
					table, 100+random.IntN(100)))
		}

		pause(ctx, time.Duration(random.IntN(300))*time.Millisecond)
	}
}

// behind swaps a table that has a policy for one that has not, as a migration that bypasses the
// proxies does, and swaps its time column for one with other times. Some tables are dropped when
// another has taken their place, and some begin their lives in the same second, so that nothing but
// InnoDB's id tells them apart.
func (w *workload) behind(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(300+random.IntN(1500))*time.Millisecond)
		a, x := policied[random.IntN(len(policied))], plain[random.IntN(len(plain))]
		switch random.IntN(6) {
		case 0:
			w.exec(ctx, w.direct,
				fmt.Sprintf("ALTER TABLE %s CHANGE at other DATETIME(3) NULL, CHANGE other at DATETIME(3) NULL", a))
		case 1, 2:
			w.exec(ctx, w.direct, fmt.Sprintf("RENAME TABLE %s TO swap_tmp, %s TO %s, swap_tmp TO %s", a, x, a, x))
		case 3, 4:
			w.exec(ctx, w.direct, fmt.Sprintf("RENAME TABLE %s TO %s_gone, %s TO %s", a, a, x, a))
			w.exec(ctx, w.direct, fmt.Sprintf("DROP TABLE %s_gone", a))
			w.exec(ctx, w.direct, fmt.Sprintf(createTable, x))
		case 5:
			for _, twin := range []string{a, x} {
				// from a time that ended half way
				w.exec(ctx, w.direct, fmt.Sprintf("DROP TABLE IF EXISTS %s_twin", twin))
			}

			for _, twin := range []string{a, x} {
				w.exec(ctx, w.direct, fmt.Sprintf(createTable, twin+"_twin"))
			}

			w.exec(ctx, w.direct, fmt.Sprintf("RENAME TABLE %[1]s TO %[1]s_gone, %[1]s_twin TO %[1]s", a))
			w.exec(ctx, w.direct, fmt.Sprintf("RENAME TABLE %[1]s TO %[1]s_gone, %[1]s_twin TO %[1]s", x))
			w.exec(ctx, w.direct, fmt.Sprintf("DROP TABLE IF EXISTS %s_gone, %s_gone", a, x))
		}
	}
}

// exec runs one statement of the application. Errors are part of life with dying proxies; they are
// counted, not judged.
func (w *workload) exec(ctx context.Context, db *sql.DB, statement string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := db.ExecContext(ctx, mark+statement)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.refused[head(err.Error(), 60)]++
		return
	}
	w.done[strings.Join(strings.Fields(statement)[:2], " ")]++
}

func (w *workload) proxy(random *rand.Rand) *sql.DB { return w.through[random.IntN(len(w.through))] }

// report logs what the application did and heard, for whoever reads a failed run.
func (w *workload) report(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Logf("worked: %v", w.done)
	t.Logf("refused: %v", w.refused)
}

func head(s string, n int) string { return s[:min(len(s), n)] }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
