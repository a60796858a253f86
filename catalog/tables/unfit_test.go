package tables

import (
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestUnfit: what is not an ordinary table is called what it is.
func TestUnfit(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		admin := mysqltest.Open(t, s.Config(""))
		mustExec(t, admin, "DROP DATABASE IF EXISTS unfit", "CREATE DATABASE unfit", "CREATE TABLE unfit.t (id INT)",
			"CREATE VIEW unfit.v AS SELECT id FROM unfit.t", "CREATE TABLE unfit.m (id INT) ENGINE = MEMORY")
		t.Cleanup(func() { _, _ = admin.Exec("DROP DATABASE unfit") })

		want := map[string]string{
			"t": "", "v": "it is a view, not a table with rows of its own",
			"m": "the table's engine is MEMORY, not InnoDB: a batch could not be rolled back",
		}
		if s.MariaDB() {
			mustExec(t, admin, "CREATE TABLE unfit.h (id INT) WITH SYSTEM VERSIONING", "CREATE SEQUENCE unfit.s")
			want["h"] = "the table is a system versioned one: deleted rows would stay as history"
			want["s"] = "it is a sequence, not a table with rows of its own"
		}
		for name, want := range want {
			if got, err := Unfit(t.Context(), admin, "unfit", name); err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
			}
		}
	})
}
