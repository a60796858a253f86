package plan

import (
	"database/sql"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestNoTrigger: a condition for which nothing is read as "there is none" needs the right to see them.
func TestNoTrigger(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		admin := mysqltest.Open(t, s.Config(""))
		mustExec(t, admin, "CREATE DATABASE `it's?`", "CREATE TABLE `it's?`.t (id INT)", "CREATE TABLE `it's?`.u (id INT)",
			"CREATE TRIGGER `it's?`.t BEFORE DELETE ON `it's?`.t FOR EACH ROW DO 0",
			"CREATE TRIGGER `it's?`.u BEFORE INSERT ON `it's?`.u FOR EACH ROW DO 0",
			"CREATE USER looker@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON `it's?`.* TO looker@'%'")
		t.Cleanup(func() {
			_, _ = admin.Exec("DROP DATABASE `it's?`")
			_, _ = admin.Exec("DROP USER looker@'%'")
		})
		cfg := s.Config("")
		cfg.User, cfg.Passwd = "looker", "x"
		db := mysqltest.Open(t, cfg)

		wantNoTrigger(t, db, s.MariaDB(), "t", false)
		wantNoTrigger(t, db, s.MariaDB(), "u", false)
		mustExec(t, admin, "GRANT TRIGGER ON `it's?`.* TO looker@'%'")
		wantNoTrigger(t, db, s.MariaDB(), "t", false)
		wantNoTrigger(t, db, s.MariaDB(), "u", true)
	})
}

func wantNoTrigger(t *testing.T, db *sql.DB, mariadb bool, table string, want bool) {
	t.Helper()
	var none bool
	query := "SELECT " + NoTrigger(tables.Target{Schema: "it's?", Table: table}, mariadb)
	if err := db.QueryRowContext(t.Context(), query).Scan(&none); err != nil || none != want {
		t.Errorf("%s: got %t, %v, want %t", table, none, err, want)
	}
}
