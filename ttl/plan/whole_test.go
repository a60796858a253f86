package plan

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestFatesOfWholePartitions tells of each partition whether it goes whole, and why not.
func TestFatesOfWholePartitions(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		const parts = " (PARTITION a VALUES LESS THAN ('1969-01-01'), PARTITION b VALUES LESS THAN ('1970-01-03'), " +
			"PARTITION c VALUES LESS THAN ('2026-01-01'), PARTITION d VALUES LESS THAN ('2026-04-01'))"
		mustExec(t, db, "CREATE DATABASE whole",
			"CREATE TABLE whole.t (id INT, made DATETIME) PARTITION BY RANGE COLUMNS (made)"+parts,
			"CREATE TABLE whole.fired LIKE whole.t",
			"CREATE TRIGGER whole.fires AFTER DELETE ON whole.fired FOR EACH ROW DO 1",
			"CREATE TABLE whole.sub (id INT, made DATE) PARTITION BY RANGE (TO_DAYS(made)) "+
				"SUBPARTITION BY HASH (YEAR(made)) SUBPARTITIONS 2 (PARTITION a VALUES LESS THAN (719529), "+
				"PARTITION b VALUES LESS THAN (739617), PARTITION c VALUES LESS THAN MAXVALUE)")
		// At the cutoff, of which a second column decides what is below the bound of c.
		mustExec(t, db, "CREATE TABLE whole.two (id INT, made DATETIME) PARTITION BY RANGE COLUMNS (made, id) ("+
			"PARTITION a VALUES LESS THAN ('1971-01-01', 1), PARTITION b VALUES LESS THAN ('2026-11-30 23:59:59', 1), "+
			"PARTITION c VALUES LESS THAN ('2026-12-01', 1), PARTITION d VALUES LESS THAN (MAXVALUE, MAXVALUE))")
		base := fateSource{now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), server: catalog.Server{
			MariaDB: strings.Contains(textOf(t, db, "SELECT VERSION()"), "MariaDB"),
		}}

		for _, c := range []struct {
			name, table string
			change      func(*fateSource)
			want        []string // of each partition, what its fate says
		}{
			{
				"all is well", "t", nil,
				[]string{"but it is the lowest one", "ttl_date_floor", "whole (DROP)", "but it is the last one"},
			},
			{
				"refused", "t", func(s *fateSource) { s.refuses(refusedFor - time.Second) },
				[]string{"lowest", "floor", "but the disk was full", "last"},
			},
			{
				"refused long ago", "t", func(s *fateSource) { s.refuses(refusedFor) },
				[]string{"lowest", "floor", "whole (DROP)", "last"},
			},
			{"held", "t", func(s *fateSource) {
				held := tables.Hold{Code: tables.Replaced, Text: "it was exchanged"}
				s.known = tables.Incarnation{{}, {Partition: "c", Held: held}}
			}, []string{"lowest", "floor", "held: it was exchanged", "last"}},
			{"kept", "t", func(s *fateSource) {
				s.departures = []catalog.Departure{
					{
						Partition: "c", State: catalog.DepartureKept, Side: catalog.Table{Schema: "whole", Name: "side"},
						Until: base.now,
					},
					{
						Partition: "x", State: catalog.DepartureEnding, Side: catalog.Table{Schema: "whole", Name: "dropped"},
						Until: base.now,
					},
					{Partition: "y", State: catalog.DepartureKept, Side: catalog.Table{Schema: "whole", Name: "late"}},
				}
			}, []string{
				"lowest", "floor", "another partition of that name is kept", "last", "gone: kept as `whole`.`side` until 2027",
				"gone: it had become `whole`.`dropped`, which is not there any more", "what came in meanwhile is in `whole`.`late`",
			}},
			{"kept and held back", "t", func(s *fateSource) {
				s.departures = []catalog.Departure{
					{
						Partition: "c", State: catalog.DepartureKept, Side: catalog.Table{Schema: "whole", Name: "side"},
						Until: base.now,
					},
					{
						Partition: "x", State: catalog.DepartureKept, Side: catalog.Table{Schema: "whole", Name: "later"},
						Until: base.now.Add(time.Second),
					},
				}
				s.throttle = catalog.Throttle{Decides: true, Share: 0.02, HeldBy: "a load"}
			}, []string{
				"lowest", "floor", "another partition of that name is kept", "last", ", held back by a load; RESTORE",
				"00:00:01+00:00; RESTORE",
			}},
			{"kept and held back by a check", "t", func(s *fateSource) {
				s.departures = []catalog.Departure{{
					Partition: "c", State: catalog.DepartureKept, Side: catalog.Table{Schema: "whole", Name: "side"},
					Until: base.now,
				}}
				s.throttle = catalog.Throttle{
					Decides: true, Share: 0.02, HeldBy: "a load", Own: catalog.Own{HeldBy: "a check"},
				}
			}, []string{
				"lowest", "floor", "another partition of that name is kept", "last", ", held back by a check; RESTORE",
			}},
			{
				"a cluster", "t", func(s *fateSource) { s.server.Cluster = "galera" },
				slices.Repeat([]string{"cluster"}, 4),
			},
			{"two columns", "two", nil, []string{"lowest", "whole (DROP)", "something in it has not expired", "none"}},
			{"a trigger", "fired", nil, slices.Repeat([]string{"a trigger would not fire: fires"}, 4)},
			{"subpartitions", "sub", nil, []string{"subpartitions", "subpartitions", "some of it may"}},
		} {
			p := catalog.Policy{
				State: catalog.PolicyArmed, Table: catalog.Table{Schema: "whole", Name: c.table}, Rule: catalog.Rule{
					Column: "made", Literal: "1", Unit: "MONTH", Enabled: true, JobInterval: "24h", TimeZone: "UTC",
					Options: map[string]string{ddl.OptionPartition: ddl.PartitionDrop},
				},
			}
			var err error
			if p.Terms, err = p.Rule.Terms(); err != nil {
				t.Fatal(err)
			}

			from := base
			if c.change != nil {
				c.change(&from)
			}
			fates, err := Fates(t.Context(), db, from, p)
			if err != nil {
				t.Fatal(err)
			}
			if len(fates) != len(c.want) {
				t.Fatalf("%s: got %d partitions, want %d", c.name, len(fates), len(c.want))
			}
			for i, f := range fates {
				if !strings.Contains(f.Text, c.want[i]) {
					t.Errorf("%s: the fate of %s is %q, want %q in it", c.name, f.Name, f.Text, c.want[i])
				}
			}
		}
	})
}

// TestFatesOfSystemVersioned: nothing goes of a table whose deleted rows would stay as history, neither whole nor by
// rows, and no partition is made of it. Only MariaDB has such tables.
func TestFatesOfSystemVersioned(t *testing.T) {
	t.Parallel()
	db := mysqltest.Shared(t, sandbox.MariaDB).Open(t, "")
	mustExec(t, db, "CREATE DATABASE versioned",
		"CREATE TABLE versioned.made (id INT, made DATETIME) WITH SYSTEM VERSIONING "+
			"PARTITION BY RANGE COLUMNS (made) (PARTITION a VALUES LESS THAN ('2020-01-01'), "+
			"PARTITION b VALUES LESS THAN ('2021-01-01'), PARTITION c VALUES LESS THAN (MAXVALUE))",
		"CREATE TABLE versioned.time (id INT, made DATETIME) WITH SYSTEM VERSIONING "+
			"PARTITION BY SYSTEM_TIME INTERVAL 1 DAY AUTO PARTITIONS 3")
	for _, table := range []string{"made", "time"} {
		rule := catalog.Rule{
			Column: "made", Literal: "1", Unit: "MONTH", Enabled: true, JobInterval: "24h", TimeZone: "UTC",
			Options: map[string]string{ddl.OptionPartition: ddl.PartitionDrop, ddl.OptionAhead: "7d"},
		}
		p := catalog.Policy{State: catalog.PolicyArmed, Table: catalog.Table{Schema: "versioned", Name: table}, Rule: rule}
		var err error
		if p.Terms, err = p.Rule.Terms(); err != nil {
			t.Fatal(err)
		}
		fates, err := Fates(t.Context(), db, fateSource{
			now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), server: catalog.Server{MariaDB: true, Version: "10.11.14-MariaDB"},
		}, p)
		if err != nil || len(fates) != 3 {
			t.Fatalf("%s: %d fates, %v", table, len(fates), err)
		}
		for _, f := range fates {
			if !strings.HasPrefix(f.Text, "none: the table is a system versioned one") {
				t.Errorf("%s: the fate of %s is %q", table, f.Name, f.Text)
			}
		}
		if last := fates[2].Text; !strings.Contains(last, "none are made ahead: the table is a system versioned one") {
			t.Errorf("%s: the fate of the last one is %q", table, last)
		}
	}
}

// refuses makes the server have refused a partition some time ago.
func (s *fateSource) refuses(ago time.Duration) {
	s.departures = []catalog.Departure{{
		Partition: "C", State: catalog.DepartureRefused, Reason: "the disk was full", StateAt: s.now.Add(-ago),
	}}
}

func textOf(t *testing.T, db *sql.DB, query string) (text string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}
