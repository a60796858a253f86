package tables

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestChildren looks for foreign keys in a schema in which the service account has no rights.
func TestChildren(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		admin := mysqltest.Open(t, s.Config(""))
		for _, user := range []string{"plan_seer", "plan_blind"} {
			mustExec(t, admin, "DROP USER IF EXISTS "+user, "CREATE USER "+user+" IDENTIFIED BY 'x'")
		}

		for _, schema := range []string{"plan_shop", "`plan-other`"} {
			mustExec(t, admin, "DROP DATABASE IF EXISTS "+schema, "CREATE DATABASE "+schema)
		}

		t.Cleanup(func() {
			_, _ = admin.Exec("DROP DATABASE `plan-other`")
			_, _ = admin.Exec("DROP DATABASE plan_shop")
		})
		mustExec(t, admin,
			"GRANT PROCESS ON *.* TO plan_seer", "GRANT SELECT, DELETE ON plan_shop.* TO plan_seer",
			"GRANT SELECT, DELETE ON plan_shop.* TO plan_blind",
			"CREATE TABLE plan_shop.`café` (id INT PRIMARY KEY)", "CREATE TABLE plan_shop.`CAFÉ` (id INT PRIMARY KEY)",
			"CREATE TABLE plan_shop.near (id INT, CONSTRAINT one FOREIGN KEY (id) REFERENCES `café` (id))",
			"CREATE TABLE `plan-other`.far (id INT, CONSTRAINT two FOREIGN KEY (id) REFERENCES plan_shop.`café` (id) "+
				"ON DELETE CASCADE, CONSTRAINT three FOREIGN KEY (id) REFERENCES plan_shop.`café` (id) ON DELETE "+
				"SET NULL)")

		far := []string{"`plan-other`.`far` (three, ON DELETE SET NULL)", "`plan-other`.`far` (two, ON DELETE CASCADE)"}
		for _, test := range []struct {
			user, table string
			want        []string
		}{
			{"plan_seer", "café", append(far, "`plan_shop`.`near` (one, ON DELETE ")},
			{"plan_seer", "CAFÉ", nil},
			{"plan_seer", "near", nil},
			{"plan_blind", "café", []string{"`plan_shop`.`near` (one, ON DELETE "}},
		} {
			cfg := s.Config("")
			cfg.User, cfg.Passwd = test.user, "x"
			got, err := Children(t.Context(), mysqltest.Open(t, cfg), "plan_shop", test.table)
			slices.Sort(got)
			if err != nil || !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("%s sees the children %q of %s, want %q; %v", test.user, got, test.table, test.want, err)
			}
		}
	})
}

func mustExec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
