package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestRightsAreTheServers compares the rights that the model demands with what the server demands
// for the statements that one of ours stands for: each set of rights is given to an account, on a
// schema and on tables, and each statement is tried.
func TestRightsAreTheServers(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		db, schema := s.Open(t, ""), s.Database(t)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+schema+".t (created DATETIME)"); err != nil {
			t.Fatal(err)
		}

		for n, scope := range []string{".*", ".t"} {
			for set := range 1 << len(deciding) {
				g := grants{}
				if set > 0 {
					g[schema+scope] = subset(set)
				}
				checkRights(t, s, fmt.Sprintf("r%d_%d", n, set), schema, g)
			}
		}
	})
}

// deciding are the rights on which the answer to a statement of ours may depend.
var deciding = []string{"SELECT", "DELETE", "ALTER", "CREATE"}

func subset(set int) []string {
	var rights []string
	for i, right := range deciding {
		if set&(1<<i) != 0 {
			rights = append(rights, right)
		}
	}
	return rights
}

// checkRights asks the server what an account may do, and the model.
func checkRights(t *testing.T, s *mysqltest.Server, user, schema string, g grants) {
	t.Helper()
	db := mysqltest.Open(t, s.AccountNamed(t, user, g.list()...))
	may := func(statement string) bool {
		_, err := db.ExecContext(t.Context(), strings.ReplaceAll(statement, "db.", schema+"."))
		return err == nil
	}
	alters := may("ALTER TABLE db.t COMMENT ''")
	deletes := may("DELETE FROM db.t WHERE created < '1970-01-02'")
	empties := may("DELETE FROM db.t")

	creates := may("CREATE TABLE db.born (created DATETIME)")
	if creates {
		root := s.Open(t, "")
		if _, err := root.ExecContext(t.Context(), "DROP TABLE "+schema+".born"); err != nil {
			t.Fatal(err)
		}
	}

	there, made := name{schema, "t"}, name{schema, "born"}
	for _, c := range []struct {
		verb   verb
		table  name
		server bool
	}{
		{declare, there, alters && deletes},
		{enable, there, alters && deletes},
		{pace, there, alters && deletes},
		{remove, there, alters},
		{disable, there, alters},
		{approve, there, deletes},
		{resume, there, deletes},
		{run, there, deletes},
		{born, made, creates && empties},
	} {
		if got := g.has(c.table, needed(c.verb)...); got != c.server {
			t.Errorf("%s with %v: the model says %v, the server %v", c.verb, g.list(), got, c.server)
		}
	}
}
