package statement

import (
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestLostCatalogSaysHowToMakeAnother: a proxy that runs makes no catalog in place of one that was dropped, since that
// may be about to be restored, or was dropped for good. It says what does, and goes on with that.
func TestLostCatalogSaysHowToMakeAnother(t *testing.T) {
	onStage(t, func(t *theatre) {
		schema := strings.Trim(t.store.Schema(), "`")
		t.exec("CREATE TABLE t (at DATETIME)")
		t.directly("DROP DATABASE " + schema)
		for _, statement := range []string{"ALTER TABLE t TTL = at + INTERVAL 1 DAY", "SHOW TTL TABLES", "RESUME TTL"} {
			if _, err := t.db.ExecContext(t.Context(), statement); err == nil ||
				!strings.Contains(err.Error(), "`ttlproxy init`") {
				t.Errorf("%s: got %v, want it to say what makes a catalog", statement, err)
			}
		}
		if n := t.count("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '" + schema + "'"); n != 0 {
			t.Error("a catalog was made that nobody asked for")
		}

		if _, err := catalog.Open(t.Context(), t.handler.config.DB, catalog.Config{Schema: schema}); err != nil {
			t.Fatal(err)
		}
		t.exec("ALTER TABLE t TTL = at + INTERVAL 1 DAY")
		if t.policy("t") == "" {
			t.Error("with another catalog, the table has no policy")
		}
	})
}
