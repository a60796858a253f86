package work

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestCountThatRested: a server that has closed a table does not remember that somebody has written to it, and a table
// to which nobody has written looks the same. So a count that has rested for long begins anew, as does one of a table of
// which the server does remember, and nothing is dropped by either.
func TestCountThatRested(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Exec(f.In("CREATE TABLE {t}.side (id INT)"))
		s := f.engine.Session()
		defer s.Close()
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}

		d := catalog.Departure{Side: catalog.Table{Schema: f.Schema, Name: "side"}, SideID: 7}
		a := aside{session: s, statements: &plan.Statements{}, mariadb: f.Store.Server().MariaDB}
		a.Counted = map[uint64]*Counting{}
		ago := func(rest time.Duration) string { return time.Now().UTC().Add(-rest).Format(time.DateTime) }
		goesOn := func(what string, want bool) {
			t.Helper()
			before := a.Counted[d.SideID]
			var unwritten bool
			query := "SELECT " + before.unwritten(placeOf(d.Side), restsFor)
			if err := s.QueryRowContext(t.Context(), query).Scan(&unwritten); err != nil {
				t.Fatal(err)
			}
			now, err := a.goOn(t.Context(), catalog.Policy{}, d)
			if err != nil || (now == before) != want || unwritten != want {
				t.Errorf("%s: it goes on: %t, and may be dropped: %t, %v; want %t", what, now == before, unwritten, err, want)
			}
		}

		begin := func(since, last string) {
			a.Counted[d.SideID] = &Counting{conn: s.conn, stillness: stillness{since: since, last: last}}
		}
		begin(ago(time.Hour), ago(0))
		goesOn("a moment ago", true)
		begin(ago(time.Hour), ago(2*restsFor*time.Second))
		goesOn("long ago", false)
		begin(ago(time.Hour), ago(-time.Hour))
		goesOn("before the clock was set back", false)
		begin(ago(time.Hour), ago(0))
		f.Exec(f.In("INSERT INTO {t}.side VALUES (1)"))
		goesOn("written to since", false)
		begin(ago(-time.Minute), ago(0))
		goesOn("written to since, and the clock was set back before", false)
	})
}
