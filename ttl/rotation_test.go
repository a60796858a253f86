package ttl

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// rotating is a table whose partitions of a day each go whole two days later, and what is known of its rows.
type rotating struct {
	*fixture
	random *rand.Rand
	last   int                  // the last partition that was added, as a day after the first one
	made   map[string]time.Time // of each row that may be there, by its id
	odd    map[string]bool      // rows whose dates are mistakes
	ids    int
	ahead  bool // the engine makes the coming partitions
	drops  bool // somebody drops what has been emptied for long
	cuts   bool // connections of killed nodes end, too, and not only the nodes
}

var firstDay = utc("03-01 12:00:00")

const (
	rotatingDays  = 2 // after which a row expires
	rotatingAhead = 3
	emptyFor      = 20 // days, after which nothing comes any more
)

func newRotating(t *testing.T, cfg *mysql.Config, seed uint64) *rotating {
	t.Helper()
	r := &rotating{
		fixture: newFixture(t, cfg, 0), random: rand.New(rand.NewPCG(seed, seed)), made: map[string]time.Time{},
		odd: map[string]bool{},
	}
	r.Exec(r.In("CREATE TABLE {t}.t (id INT NOT NULL, made DATETIME NOT NULL, PRIMARY KEY (id, made), KEY (made)) " +
		"PARTITION BY RANGE COLUMNS (made) (PARTITION d0 VALUES LESS THAN ('" + dayOf(0) + "'))"))
	return r
}

func dayOf(n int) string { return firstDay.AddDate(0, 0, n).Format(time.DateOnly) }

// live adds what an application adds in a day: the coming partitions, and rows of all ages.
func (r *rotating) live(day int) {
	for ; r.last < day+rotatingAhead && (!r.ahead || day == 0); r.last++ {
		r.Exec(fmt.Sprintf("ALTER TABLE %s.t ADD PARTITION (PARTITION d%d VALUES LESS THAN ('%s'))", r.Schema, r.last+1,
			dayOf(r.last+1)))
	}

	if r.drops && day > emptyFor {
		r.Exec(fmt.Sprintf("ALTER TABLE %s.t DROP PARTITION d%d", r.Schema, day-emptyFor))
	}

	var rows []string
	for range 30 {
		r.ids++
		id, age := fmt.Sprint(r.ids), time.Duration(r.random.Int64N(int64(5*24*time.Hour)))
		made := firstDay.AddDate(0, 0, day+1).Add(-age).Truncate(time.Second)
		text := made.Format(time.DateTime)
		if r.ids%30 == 0 {
			r.odd[id], text = true, "1969-05-05"
		} else {
			r.made[id] = made
		}
		rows = append(rows, "("+id+", '"+text+"')")
	}
	r.Exec(r.In("INSERT INTO {t}.t VALUES ") + strings.Join(rows, ", "))
}

// die lets a node work that is killed somewhere in between, perhaps with its connections in the middle of
// what they do.
func (r *rotating) die(at time.Time) {
	ctx, die := context.WithCancel(r.T.Context())
	defer die()
	m, after, cut := r.at(at), 1+r.random.IntN(14), r.cuts && r.random.IntN(2) == 0
	wait := time.Duration(r.random.Int64N(int64(15 * time.Millisecond)))
	killed, ended := false, make(chan struct{})
	m.engine.crew.BeforePacket = func() {
		if after--; after != 0 {
			return
		}
		killed = true
		_ = m.db.Close()
		die()
		go func() {
			defer close(ended)
			if cut {
				<-time.After(wait)
				r.cut()
			}
		}()
	}

	for range 3 {
		if err := m.tick(ctx); err != nil && ctx.Err() == nil {
			r.T.Error(err)
		}
		m.engine.crew.Work(ctx)
	}
	if killed {
		<-ended
	}
	m.close()
}

// cut ends connections that change something of the table.
func (r *rotating) cut() {
	var id uint64
	err := r.Admin.QueryRowContext(r.T.Context(), "SELECT id FROM information_schema.processlist WHERE info LIKE '%"+
		r.Schema+"%' AND command = 'Query' AND info NOT LIKE '%processlist%' LIMIT 1").Scan(&id)
	if err == nil {
		_, _ = r.Admin.ExecContext(r.T.Context(), fmt.Sprintf("KILL %d", id))
	}
}

// judge compares what is there with what should be, when a job that began at one time has ended at another.
func (r *rotating) judge(began, ended time.Time) {
	r.T.Helper()
	there := map[string]bool{}
	err := tables.EachRow(r.T.Context(), r.Admin, r.In("SELECT id FROM {t}.t"), nil, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		there[id] = true
		return err
	})
	if err != nil {
		r.T.Fatal(err)
	}
	for id := range r.odd {
		if !there[id] {
			r.T.Errorf("at %v: row %s of 1969 is gone", ended, id)
		}
	}
	for id, made := range r.made {
		expires := made.AddDate(0, 0, rotatingDays)
		switch {
		case there[id] && expires.Before(began):
			r.T.Errorf("at %v: row %s of %v is there", ended, id, made)
		case !there[id] && expires.After(ended):
			r.T.Errorf("at %v: row %s of %v is gone", ended, id, made)
		case !there[id]:
			delete(r.made, id)
		}
	}

	listed := r.Text(r.In("SELECT COALESCE(GROUP_CONCAT(side_name ORDER BY side_name), '') FROM {t}_c.departure " +
		"WHERE state = 'kept' AND keep_until > '" + ended.Format(time.DateTime) + "'"))
	if sides := r.sides(); sides != listed {
		r.T.Errorf("at %v: tables %s are there, those to keep are %s", ended, sides, listed)
	}
}

// TestPartitionsOverAYear lets a table rotate, day by day, while nodes are killed at random, some with their
// connections, and perhaps makes the coming partitions: every evening no row is gone that should stay, none is left
// that should have gone, and of the partitions that went nothing is kept for longer than the grace. It is a year in
// make chaos, and some days otherwise.
func TestPartitionsOverAYear(t *testing.T) {
	t.Parallel()
	type way struct {
		how   string
		ahead bool
	}
	days, ways := 8, []way{{ddl.PartitionExchange, true}}
	if os.Getenv("TTLPROXY_CHAOS_TIME") != "" {
		days, ways = 365, []way{
			{ddl.PartitionExchange, false},
			{ddl.PartitionDrop, false},
			{ddl.PartitionTruncate, false},
			{ddl.PartitionExchange, true},
			{ddl.PartitionDrop, true},
		}
	}

	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, w := range ways {
			name, options := w.how, map[string]string{ddl.OptionPartition: w.how, ddl.OptionGrace: "36h"}
			if w.ahead {
				name += " ahead"
				options[ddl.OptionAhead] = fmt.Sprintf("%dd", rotatingAhead)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				r := newRotating(t, cfg, seed)
				r.ahead, r.cuts, r.drops = w.ahead, true, w.how == ddl.PartitionTruncate
				r.live(0)
				m := r.at(firstDay)
				m.declareDays(rotatingDays, "UTC", "1h", options)

				for day := range days {
					began := firstDay.AddDate(0, 0, day)
					r.live(day)
					at := began
					for range r.random.IntN(3) {
						r.die(at)
						at = at.Add(2 * time.Minute)
					}
					for open := true; open && at.Before(began.Add(50*time.Minute)); at = at.Add(2 * time.Minute) {
						m := r.at(at)
						m.pass()
						m.close()
						open = r.Text(r.In("SELECT COUNT(*) FROM {t}_c.job")) != "0"
					}
					if r.judge(began, at); t.Failed() {
						return
					}
				}
			})
		}
	})
}
