package statement

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestPolicyIsSettledWhenTheCatalogIsBack: a policy that could not be written when a statement had ended is as soon as it
// can be, although the client stays: pools keep their connections for days.
func TestPolicyIsSettledWhenTheCatalogIsBack(t *testing.T) {
	for name, c := range map[string]struct {
		before, statement string
		behind            step
		code              uint16
		policy            string
	}{
		"carried out": {
			"DO 0", "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY", carried,
			1105, "armed at 1 DAY 24h",
		},
		"carried out, without a promise": {
			"CREATE TABLE t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY",
			"ALTER TABLE t CHANGE at seen DATETIME", carried, 0, "armed seen 1 DAY 24h",
		},
		"refused by the server": {
			"CREATE TABLE t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY",
			"ALTER TABLE t ADD COLUMN at DATETIME", stopped, 1060, "armed at 1 DAY 24h",
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *theatre) {
				t.db.SetMaxOpenConns(1)
				t.exec(c.before)
				unlock := func() {}
				once := sync.OnceFunc(func() { unlock = t.lockCatalog("policy") })
				behind := func(s step) error {
					if s == c.behind {
						once()
					}
					return nil
				}
				t.after.Store(&behind)

				_, err := t.db.ExecContext(t.Context(), c.statement)
				my, refused := errors.AsType[*mysql.MySQLError](err)
				switch {
				case c.code == 0 && err != nil, c.code != 0 && (!refused || my.Number != c.code):
					t.Fatalf("it is answered with %v, want %d", err, c.code)
				case c.code == 1105 && !strings.Contains(my.Message, "was carried out, but its TTL policy is not in force yet: "+
					"end stage: "), err != nil && strings.Contains(err.Error(), "deadline"):
					t.Errorf("it is answered with %v", err)
				}
				unlock()
				t.awaitState("t", catalog.PolicyArmed)
				t.wantPolicy("t", c.policy)
				t.exec("ALTER TABLE t ADD COLUMN n INT") // on the same connection
			})
		})
	}
}
