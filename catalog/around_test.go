package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// TestApprovalIsForWhatWasShown: a table that takes the name waits under a version of its own, so
// that a yes to what was there before lets nothing go, and each further table asks again.
func TestApprovalIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		b.exec(t, "INSERT INTO user.a VALUES (1, '2020-01-01')")
		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}

		job := b.job(t, p, 1)

		for _, name := range []string{"b", "c"} {
			before, err := b.PolicyByID(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}

			b.table(t, name)
			b.exec(t, "INSERT INTO user."+name+" VALUES (1, '2020-01-01')")
			b.exec(t, "RENAME TABLE user.a TO user.before_"+name+", user."+name+" TO user.a")

			known, why, err := b.Recognize(t.Context(), "node", before)
			if err != nil || len(known) != 1 || !strings.Contains(why, "rebuilt or replaced outside ttlproxy") {
				t.Fatalf("got %+v, %q, %v, want the table to be doubted", known, why, err)
			}

			got, err := b.PolicyByID(t.Context(), p.ID)
			if err != nil || !got.Armed() || got.Approved() || got.Approval.Reason != why ||
				got.Version != before.Version+1 {
				t.Errorf("got %+v, %v, want it to wait for approval in the next version", got, err)
			}
			if _, err := b.Consent(t.Context(), "dba", p.ID, before.Version, Consent{}); !errors.Is(err, ErrPolicyChanged) {
				t.Errorf("got %v for a yes to what was shown before, want it refused", err)
			}
			if _, err := b.Consent(t.Context(), "dba", p.ID, got.Version, Consent{}); err != nil {
				t.Errorf("a yes to what is shown: %v", err)
			}
		}

		if _, err := b.Job(t.Context(), job.ID); !errors.Is(err, ErrNoJob) {
			t.Errorf("got %v, want the job of the table that was approved to have ended", err)
		}
	})
}

// TestEachPartitionSpeaksForItself: a partitioned table that may be another one goes on only if
// none of its partitions has rows.
func TestEachPartitionSpeaksForItself(t *testing.T) {
	t.Parallel()
	places := tables.Incarnation{
		{TableID: 5},
		{Partition: "p0", TableID: 6},
		{Partition: "p1", TableID: 7},
		{Partition: "p2", TableID: 8},
	}
	for _, c := range []struct {
		empty []int
		want  tables.Resemblance
	}{
		{nil, tables.Unsure},
		{[]int{1}, tables.Unsure},
		{[]int{0, 1, 2}, tables.Unsure},
		{[]int{0, 1, 2, 3}, tables.Grown},
	} {
		doubt := tables.Comparison{How: tables.Unsure, Now: places}
		if got := doubt.LookedInto(places, c.empty); got.How != c.want {
			t.Errorf("empty are %v: got %v, want %v", c.empty, got.How, c.want)
		}
	}
}

// TestEmptyIsTheVeryTable: whether a table has rows is asked of the one that was seen, not of
// another that has taken its name since.
func TestEmptyIsTheVeryTable(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		a := b.table(t, "a")
		seen, err := b.Look(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}

		ask := func() (bool, error) {
			conn, err := b.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			return b.isEmpty(t.Context(), conn, a, seen.Incarnation.Table(), seen.Incarnation.Table())
		}
		if empty, err := ask(); err != nil || !empty {
			t.Errorf("got %v, %v of an empty table", empty, err)
		}

		b.exec(t, "INSERT INTO user.a VALUES (1, NOW())")
		if empty, err := ask(); err != nil || empty {
			t.Errorf("got %v, %v of a table with a row", empty, err)
		}

		b.exec(t, "CREATE TABLE user.other LIKE user.a")
		b.exec(t, "RENAME TABLE user.a TO user.gone, user.other TO user.a")
		if empty, err := ask(); !errors.Is(err, errRestless) {
			t.Errorf("got %v, %v of a table in its place, want no answer", empty, err)
		}
	})
}

// TestNewPartitionsWithRowsAreHeld: whatever else has become of the table, and whoever looks first, a partition that
// was made around the proxy and has rows waits for a person, and one without rows does not.
func TestNewPartitionsWithRowsAreHeld(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		lookers := map[string]func(*testing.T, Policy){
			"recognize": func(t *testing.T, p Policy) {
				t.Helper()
				if _, _, err := b.Recognize(t.Context(), "node", p); err != nil {
					t.Fatal(err)
				}
			},
			"declare": func(t *testing.T, p Policy) { t.Helper(); b.declare(t, p.Table) },
			"stage": func(t *testing.T, p Policy) {
				t.Helper()
				if err := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table}).Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
		}
		for around, befores := range map[string][]string{
			setting.AroundFollow: {"COMMENT 'of last year'", "ADD COLUMN x INT", "ADD COLUMN was DATETIME"},
			"disarm":             {"COMMENT 'of last year'"},
		} {
			if err := b.Set(t.Context(), "dba", map[string]string{setting.Around: around}); err != nil {
				t.Fatal(err)
			}
			for n, before := range befores {
				for looker, look := range lookers {
					name := fmt.Sprint(around, n, looker)
					b.exec(t, "CREATE TABLE user."+name+" (id INT PRIMARY KEY, at DATETIME)"+
						" PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))")
					b.exec(t, "INSERT INTO user."+name+" VALUES (1, NOW())")
					p := b.declare(t, b.named(name))

					b.exec(t, "ALTER TABLE user."+name+" "+before)
					b.exec(t, "ALTER TABLE user."+name+" ADD PARTITION (PARTITION p2 VALUES LESS THAN (30), "+
						"PARTITION p3 VALUES LESS THAN (40))")
					b.exec(t, "INSERT INTO user."+name+" (id, at) VALUES (25, '2019-01-01')")
					look(t, p)
					t.Run(name, func(t *testing.T) { b.wantHeld(t, p, "p2") })
				}
			}
		}
	})
}

// TestColumnsBehindTheTTLColumnAreReplaced: a younger column that takes the name of one from which the TTL column is
// computed gives each row another date, and no look at the table shows it: the column that is new beside it does.
func TestColumnsBehindTheTTLColumnAreReplaced(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for name, c := range map[string]struct {
			base, young, middle, at string
		}{
			"seconds": {
				base: "INT", young: "INT DEFAULT 1000000000",
				at: "DATETIME AS ('1970-01-01' + INTERVAL base SECOND) VIRTUAL",
			},
			"days": {base: "DATE", young: "DATE DEFAULT '2001-01-01'", at: "DATETIME AS (base + INTERVAL 1 DAY) VIRTUAL"},
			"chain": {
				base: "INT", young: "INT DEFAULT 1000", middle: "DATE AS ('2020-01-01' + INTERVAL base DAY) VIRTUAL",
				at: "DATETIME AS (middle + INTERVAL 1 DAY) VIRTUAL",
			},
		} {
			middle, dropped, again := "", "DROP COLUMN at", "ADD COLUMN at "+c.at+" AFTER was"
			if c.middle != "" {
				middle, dropped = ", middle "+c.middle, dropped+", DROP COLUMN middle"
				again += ", ADD COLUMN middle " + c.middle + " AFTER was"
			}
			table := b.named(name)
			b.exec(t, "CREATE TABLE user."+name+" (id INT PRIMARY KEY, base "+c.base+middle+", at "+c.at+")")
			b.exec(t, "INSERT INTO user."+name+" (id, base) VALUES (1, NULL)")
			p := b.declare(t, table)

			b.exec(t, "ALTER TABLE user."+name+" ADD COLUMN note VARCHAR(9)")
			if _, why, err := b.Recognize(t.Context(), "node", p); err != nil || why == "" {
				t.Fatalf("%s: got %q, %v of a column that is none of them", name, why, err)
			}
			p, err := b.Policy(t.Context(), table)
			if err != nil || p.Approval.Required {
				t.Errorf("%s: got %v, %+v, want no wait for a column that is none of them", name, err, p.Approval)
			}

			b.exec(t, "ALTER TABLE user."+name+" "+dropped)
			b.exec(t, "ALTER TABLE user."+name+" RENAME COLUMN base TO was, ADD COLUMN base "+c.young+" AFTER id")
			b.exec(t, "ALTER TABLE user."+name+" "+again)
			known, why, err := b.Recognize(t.Context(), "node", p)
			if err != nil || len(known) != 1 {
				t.Errorf("%s: got %+v, %q, %v, want the table", name, known, why, err)
			}
			if p, err = b.Policy(t.Context(), table); err != nil || !p.Armed() || !p.Approval.Required {
				t.Errorf("%s: got %+v, %v, want it to wait for approval", name, p, err)
			}
		}
	})
}
