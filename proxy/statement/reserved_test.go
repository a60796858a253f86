package statement

import (
	"errors"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestReservedTables: what belongs to the server or to the catalog gets no policy, by no statement.
func TestReservedTables(t *testing.T) {
	onStage(t, func(t *theatre) {
		const columns = " (id INT PRIMARY KEY, created DATETIME)"
		own := t.store.Schema() + "."
		t.exec("CREATE TABLE t"+columns+" TTL = created + INTERVAL 10 HOUR", "CREATE TABLE "+own+"other"+columns)
		t.fails(8200, "ALTER TABLE "+own+"event TTL = at + INTERVAL 1 DAY")
		t.fails(8200, "ALTER TABLE "+own+"other COMMENT 'x', TTL = created + INTERVAL 1 DAY")
		t.fails(8200, "CREATE TABLE "+own+"another"+columns+" TTL = created + INTERVAL 10 HOUR")

		for _, schema := range []string{"mysql", "sys"} {
			t.fails(8200, "CREATE TABLE "+schema+".ttl_"+t.schema+columns+" TTL = created + INTERVAL 10 HOUR")
		}

		t.exec("CREATE TABLE " + own + "copy LIKE t")
		for _, name := range []string{"event", "other", "another", "copy"} {
			table := catalog.Table{Schema: t.store.Schema(), Name: name}
			if _, err := t.store.Policy(t.Context(), table); !errors.Is(err, catalog.ErrNoPolicy) {
				t.Errorf("%s: got %v, want no policy", table, err)
			}
		}

		rule := catalog.Rule{Column: "at", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "24h"}
		if _, err := t.store.Declare(t.Context(), catalog.Client{},
			catalog.Declaration{
				Table: catalog.Table{Schema: t.store.Schema(), Name: "event"},
				Rule:  rule,
			}); !errors.Is(err, catalog.ErrReserved) {
			t.Errorf("the catalog itself: got %v", err)
		}
	})
}

// TestSelfReferenceInAnotherCase: where the server folds names, a table can refer to itself by
// another spelling.
func TestSelfReferenceInAnotherCase(t *testing.T) {
	t.Parallel()
	th := newTheatre(t, mysqltest.Start(t, sandbox.MariaDB, "--lower-case-table-names=1"))
	const self = "CREATE TABLE Par (id INT PRIMARY KEY, up INT, created DATETIME, FOREIGN KEY (up) REFERENCES PAR " +
		"(id) ON DELETE CASCADE)"
	th.fails(8152, self+" TTL = created + INTERVAL 1 DAY")
	th.exec(self)
	th.fails(8152, "ALTER TABLE pAR TTL = created + INTERVAL 1 DAY")
	th.exec("CREATE TABLE Two (id INT PRIMARY KEY, up INT, created DATETIME) TTL = created + INTERVAL 1 DAY")
	th.fails(8152, "ALTER TABLE TWO ADD FOREIGN KEY (up) REFERENCES two (id)")
}
