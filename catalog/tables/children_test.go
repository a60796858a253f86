package tables

import (
	"database/sql"
	"fmt"
	"maps"
	"reflect"
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
			found, err := ReadChildren(t.Context(), mysqltest.Open(t, cfg), "plan_shop", test.table)
			got := found.Names()
			if err != nil || !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("%s sees the children %q of %s, want %q; %v", test.user, got, test.table, test.want, err)
			}
			if want := test.user == "plan_blind"; found.Unsure != "" != want {
				t.Errorf("%s is unsure of the children of %s (%q), want %v", test.user, test.table, found.Unsure, want)
			}
		}
	})
}

// TestFactsOfSeveral: read with others, the facts of a table are those that are read alone, by an account that sees all
// foreign keys and by one that does not.
func TestFactsOfSeveral(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		schema := s.Database(t)
		admin := mysqltest.Open(t, s.Config(schema))
		mustExec(t, admin,
			"CREATE TABLE `café` (id INT PRIMARY KEY)", "CREATE TABLE `CAFÉ` (id INT PRIMARY KEY)",
			"CREATE TABLE `a-b` (id INT PRIMARY KEY, x INT UNIQUE)", "CREATE TABLE `a/b` (id INT PRIMARY KEY)",
			"CREATE TABLE child (id INT, CONSTRAINT one FOREIGN KEY (id) REFERENCES `café` (id),"+
				" CONSTRAINT two FOREIGN KEY (id) REFERENCES `a-b` (x) ON DELETE CASCADE,"+
				" CONSTRAINT three FOREIGN KEY (id) REFERENCES `a/b` (id) ON DELETE SET NULL)",
			"CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2")
		var targets []Target
		for _, name := range []string{"café", "CAFÉ", "a-b", "a/b", "child", "none", "parted"} {
			targets = append(targets, Target{Schema: schema, Table: name})
		}

		for account, grants := range map[string][]string{
			"seer": {"PROCESS ON *.*", "SELECT, DELETE ON " + schema + ".*"}, "blind": {"SELECT, DELETE ON " + schema + ".*"},
		} {
			db := mysqltest.Open(t, s.Account(t, account, grants...))
			for i, got := range ReadFactsOf(t.Context(), db, targets) {
				want, _ := ReadFacts(t.Context(), db, schema, targets[i].Table)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: with others, %s is\n%+v, alone\n%+v", account, targets[i].Table, got, want)
				}
			}
			if alone := ReadFactsOf(t.Context(), db, targets[:1]); len(alone) != 1 || len(alone[0].Children.Keys) != 1 {
				t.Errorf("%s: got %+v of one table", account, alone)
			}
		}
		if are, _, err := parents(t.Context(), admin, targets); err != nil ||
			!maps.Equal(are, map[int]bool{0: true, 2: true, 3: true}) {
			t.Errorf("foreign keys point at %v (%v)", are, err)
		}
	})
}

// TestChildrenWithSlashes: a table whose name has a / in it is not taken for one that only has what is
// behind that, nor are the columns of two keys with such names taken for those of one. Where MySQL's InnoDB
// cannot tell them apart, the server does, unless the account does not see them all.
func TestChildrenWithSlashes(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		admin := mysqltest.Open(t, s.Config(""))
		shop, hidden := s.Database(t), s.Database(t)
		some := s.Account(t, "some", "PROCESS ON *.*", "SELECT ON "+shop+".*")
		in := func(text string) string {
			return strings.NewReplacer("{shop}", shop, "{hidden}", hidden).Replace(text)
		}
		for _, statement := range []string{
			"CREATE TABLE {shop}.t (id INT PRIMARY KEY)", "CREATE TABLE {shop}.`t/u` (id INT PRIMARY KEY)",
			"CREATE TABLE {shop}.v (id INT PRIMARY KEY)", "CREATE TABLE {shop}.far (id INT)",
			"CREATE TABLE {shop}.`near/far` (id INT, CONSTRAINT far FOREIGN KEY (id) REFERENCES {shop}.t (id))",
			"CREATE TABLE {shop}.two (id INT, other INT, CONSTRAINT b FOREIGN KEY (id) REFERENCES {shop}.`t/u` (id), " +
				"CONSTRAINT `a/b` FOREIGN KEY (other) REFERENCES {shop}.`t/u` (id))",
			"CREATE TABLE {hidden}.`near/far` (id INT, CONSTRAINT c FOREIGN KEY (id) REFERENCES {shop}.v (id))",
		} {
			mustExec(t, admin, in(statement))
		}

		for table, want := range map[string]string{
			"t":   "[{shop}.near/far far [id]]",
			"t/u": "[{shop}.two a/b [other]] [{shop}.two b [id]]",
			"v":   "[{hidden}.near/far c [id]]",
		} {
			c := children(t, mysqltest.Open(t, some), shop, table)
			got := make([]string, len(c.Keys))
			for i, k := range c.Keys {
				got[i] = fmt.Sprintf("[%s.%s %s %s]", k.Schema, k.Table, k.Name, k.Columns)
			}
			unsure := table == "v" && !s.MariaDB()
			if strings.Join(got, " ") != in(want) || c.Unsure != "" != unsure {
				t.Errorf("the children of %s are %s, want %s; unsure %q, want %v", table, got, in(want), c.Unsure,
					unsure)
			}
			var unchanged bool
			query := "SELECT " + c.Unchanged(shop, table)
			if err := admin.QueryRowContext(t.Context(), query).Scan(&unchanged); err != nil || !unchanged {
				t.Errorf("the children of %s have not changed, and it says so: %v (%v)", table, unchanged, err)
			}
		}
	})
}

// TestChildrenAreUnchanged judges the keys that were read again after each kind of change.
func TestChildrenAreUnchanged(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		db := s.DB(t)
		var schema string
		if err := db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&schema); err != nil {
			t.Fatal(err)
		}

		mustExec(t, db, "CREATE TABLE `café` (id INT, u INT, PRIMARY KEY (id, u), UNIQUE (u, id))",
			"CREATE TABLE child (a INT, b INT, c INT, KEY (a, b), KEY (b, a), KEY (c, b))",
			"ALTER TABLE child ADD CONSTRAINT k FOREIGN KEY (a, b) REFERENCES `café` (id, u) ON DELETE CASCADE")
		known := children(t, db, schema, "café")
		want := ForeignKey{
			Schema: schema, Table: "child", Name: "k", OnDelete: "CASCADE",
			Columns: []string{"a", "b"}, References: []string{"id", "u"},
		}
		if !reflect.DeepEqual(known.Keys, []ForeignKey{want}) || known.Unsure != "" {
			t.Fatalf("got %+v, want the key %+v", known, want)
		}

		for _, test := range []struct {
			change    []string
			unchanged bool
		}{
			{nil, true},
			{[]string{"ALTER TABLE child ADD d INT"}, true},
			{[]string{"ALTER TABLE child DROP FOREIGN KEY k"}, false},
			{[]string{"ALTER TABLE child ADD CONSTRAINT k FOREIGN KEY (a, b) REFERENCES `café` (id, u)"}, false},
			{[]string{
				"ALTER TABLE child DROP FOREIGN KEY k",
				"ALTER TABLE child ADD CONSTRAINT k FOREIGN KEY (c, b) REFERENCES `café` (id, u) ON DELETE CASCADE",
			}, false},
			{[]string{
				"ALTER TABLE child DROP FOREIGN KEY k",
				"ALTER TABLE child ADD CONSTRAINT k FOREIGN KEY (a, b) REFERENCES `café` (u, id) ON DELETE CASCADE",
			}, false},
			{[]string{
				"ALTER TABLE child DROP FOREIGN KEY k",
				"ALTER TABLE child ADD CONSTRAINT k FOREIGN KEY (a, b) REFERENCES `café` (id, u) ON DELETE CASCADE",
			}, true},
			{[]string{"CREATE TABLE other (a INT, b INT, FOREIGN KEY (a, b) REFERENCES `café` (id, u))"}, false},
		} {
			mustExec(t, db, test.change...)
			var got bool
			query := "SELECT " + known.Unchanged(schema, "café")
			if strings.Contains(query, "@") {
				t.Errorf("MariaDB would execute this for each row: %s", query)
			}
			if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != test.unchanged {
				t.Errorf("after %q the keys are unchanged: %v, want %v; %v", test.change, got, test.unchanged, err)
			}
		}
	})
}

func children(t *testing.T, q Querier, schema, table string) Children {
	t.Helper()
	c, err := ReadChildren(t.Context(), q, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustExec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
