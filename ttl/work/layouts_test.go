package work

import (
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestLayoutsAreRemembered: a table that stays as it is, is asked for its columns and indexes once;
// one that was just altered, each time.
func TestLayoutsAreRemembered(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 10)
		f.Declare("t")

		f.engine.Key = f.Store.ServerKey()
		r := NewRecognizer(f.Store, slog.New(slog.DiscardHandler), func() string { return "test" })
		s := f.engine.Session()
		defer s.Close()

		look := func(wantRemembered bool) {
			t.Helper()
			first, second := f.layoutBy(r, s), f.layoutBy(r, s)
			if remembered := first == second; remembered != wantRemembered {
				t.Errorf("remembered: %v, want %v", remembered, wantRemembered)
			}

			fresh, err := tables.ReadLayout(t.Context(), f.Admin, f.Schema, "t")
			if err != nil || !reflect.DeepEqual(first, fresh) {
				t.Errorf("got %+v, the table has %+v, %v", first, fresh, err)
			}
		}

		old := func() bool {
			return f.Text("SELECT CREATE_TIME < NOW() - INTERVAL 4 SECOND FROM information_schema.TABLES WHERE "+
				"TABLE_SCHEMA = '"+f.Schema+"' AND TABLE_NAME = 't'") == "1"
		}
		f.Wait("the table to be old enough", old)
		look(true)
		f.Exec("ALTER TABLE " + f.Schema + ".t ADD INDEX a (made)")
		look(false)
		f.Wait("the altered table to be old enough", old)
		look(true)
	})
}

// layoutBy asks as a worker does.
func (f *fixture) layoutBy(r *Recognizer, s *Session) *tables.Layout {
	f.T.Helper()
	ctx := f.T.Context()
	if err := s.Ready(ctx); err != nil {
		f.T.Fatal(err)
	}

	now, err := f.Store.Clock(ctx)
	if err != nil {
		f.T.Fatal(err)
	}

	policies, err := f.Store.Policies(ctx)
	if err != nil {
		f.T.Fatal(err)
	}

	known, err := r.Recognize(ctx, policies[0])
	if err != nil || known == nil {
		f.T.Fatal(known, err)
	}

	l, err := r.layouts.layout(ctx, s, now, policies[0].Table, known)
	if err != nil {
		f.T.Fatal(err)
	}

	return l
}

// TestEveryAlterMovesTheCreateTime is what remembering layouts, and the barrier, rely on.
func TestEveryAlterMovesTheCreateTime(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 10)
		hide := "ALTER INDEX b INVISIBLE"
		if f.Store.Server().MariaDB {
			hide = "ALTER INDEX b IGNORED"
		}

		alters := []string{
			"ADD INDEX a (made)", "RENAME INDEX a TO b", hide, "DROP INDEX b", "ADD UNIQUE INDEX u (id, pad)",
			"ADD COLUMN c INT", "RENAME COLUMN c TO d",
			"MODIFY d BIGINT", "ALTER COLUMN d SET DEFAULT 7", "MODIFY pad VARCHAR(250)", "DROP COLUMN d",
			"COMMENT 'x'", "DROP PRIMARY KEY, ADD PRIMARY KEY (id, made)", "ENGINE = InnoDB",
		}

		// A copy of the table waits for each of them, so that one new second is enough for all.
		table := func(i int) string { return fmt.Sprintf("%s.t%d", f.Schema, i) }
		created := func(i int) string {
			return f.Text(fmt.Sprintf("SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '%s'"+
				" AND TABLE_NAME = 't%d'", f.Schema, i))
		}
		before := make([]string, len(alters))
		for i, alter := range alters {
			f.Exec("CREATE TABLE "+table(i)+" LIKE "+f.Schema+".t", "INSERT INTO "+table(i)+" SELECT * FROM "+f.Schema+".t",
				"ALTER TABLE "+f.Schema+".t "+alter)
			before[i] = created(i)
		}

		f.Wait("the next second", f.NextSecond())
		for i, alter := range alters {
			f.Exec("ALTER TABLE " + table(i) + " " + alter)
			if after := created(i); after == before[i] {
				t.Errorf("%s: CREATE_TIME is still %s", alter, after)
			}
		}
	})
}

// TestLayoutKeys: what a layout may be kept under.
func TestLayoutKeys(t *testing.T) {
	t.Parallel()
	created := ttltest.Noon.Add(-time.Hour)
	table := catalog.Table{Schema: "s", Name: "t"}
	for name, c := range map[string]struct {
		known tables.Incarnation
		want  bool
	}{
		"a table": {tables.Incarnation{{TableID: 7, CreateTime: created}}, true},
		"just altered": {
			tables.Incarnation{{TableID: 7, CreateTime: ttltest.Noon.Add(-LayoutAge + time.Second)}}, false,
		},
		"created to-morrow": {tables.Incarnation{{TableID: 7, CreateTime: ttltest.Noon.Add(24 * time.Hour)}}, false},
		"without its id":    {tables.Incarnation{{CreateTime: created}}, false},
		"without its time":  {tables.Incarnation{{TableID: 7}}, false},
		"with partitions": {tables.Incarnation{
			{CreateTime: created},
			{Partition: "p", TableID: 8, CreateTime: created},
		}, false},
		"that nobody knows": {nil, false},
	} {
		if _, ok := layoutKeyOf("server", ttltest.Noon, table, c.known); ok != c.want {
			t.Errorf("%s: got %v, want %v", name, ok, c.want)
		}
	}
}
