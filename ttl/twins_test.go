package ttl

import (
	"log/slog"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestCensus: one look at all tables tells who was created alone in its second. Who came later is asked about at once where nothing
// else tells twins apart, and otherwise when it is time again.
func TestCensus(t *testing.T) {
	eachServer(t, func(t *testing.T, cfg *mysql.Config) {
		t.Parallel()
		f := newFixture(t, cfg, 0)
		e, err := New(Config{Backend: cfg}, f.store, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.db.Close()
		w := &worker{Engine: e, session: e.newSession()}
		defer w.session.close()
		created := func(name string) string {
			return f.text("SELECT DATE_FORMAT(CREATE_TIME, '%Y-%m-%d %H:%i:%s') FROM information_schema.TABLES WHERE TABLE_SCHEMA = '" + f.schema + "' AND TABLE_NAME = '" + name + "'")
		}
		others := func(name string) string { // other tests make tables here, too
			return f.text("SELECT COUNT(*) - 1 FROM information_schema.TABLES WHERE CREATE_TIME = '" + created(name) + "'")
		}
		settled := func(name string) func() bool {
			return func() bool { return f.text("SELECT '"+created(name)+"' < UTC_TIMESTAMP() - INTERVAL 2 SECOND") == "1" }
		}
		alone := func(name string, patient bool) bool {
			t.Helper()
			if err := w.session.ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			yes, err := w.twins.alone(t.Context(), w.session, "here", catalog.Table{Schema: f.schema, Name: name}, created(name), patient)
			if err != nil {
				t.Fatal(err)
			}
			return yes
		}
		single := func(name string) {
			f.wait("a table alone in its second", func() bool {
				f.exec("DROP TABLE IF EXISTS "+f.schema+"."+name, "CREATE TABLE "+f.schema+"."+name+" (id INT PRIMARY KEY)")
				f.wait("its second to be over", settled(name))
				return others(name) == "0"
			})
		}
		f.wait("two tables of one second", func() bool {
			f.exec("DROP TABLE IF EXISTS "+f.schema+".a, "+f.schema+".b", "CREATE TABLE "+f.schema+".a (id INT PRIMARY KEY)", "CREATE TABLE "+f.schema+".b (id INT PRIMARY KEY)")
			return created("a") == created("b")
		})
		single("early")
		if !alone("early", true) || alone("a", true) || alone("b", false) {
			t.Errorf("got %v, %v, %v of one that is alone and two that are not", alone("early", true), alone("a", true), alone("b", false))
		}
		single("late")
		w.twins.at, w.twins.took = time.Now(), time.Hour
		if alone("late", true) {
			t.Error("a table that came after the census is told to be alone, although it is not yet time for another one")
		}
		if !alone("late", false) {
			t.Error("a table that came after the census is not told to be alone to who cannot do without")
		}
		f.exec("RENAME TABLE " + f.schema + ".early TO " + f.schema + ".other")
		w.twins.took = time.Hour
		if f.text("SELECT '"+created("other")+"' = '"+created("late")+"'") == "0" && alone("other", true) {
			t.Error("another name is told to be alone, although nobody has counted it")
		}
	})
}
