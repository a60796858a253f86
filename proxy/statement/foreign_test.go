package statement

import (
	"strings"
	"testing"
)

// TestForeignKeysKept declares policies on parents of foreign keys that say what becomes of rows with
// children.
func TestForeignKeysKept(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE parent (id INT PRIMARY KEY, u INT UNIQUE, created DATETIME)",
			"CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)")
		t.fails(8152, "ALTER TABLE parent TTL = created + INTERVAL 10 HOUR")
		t.exec("ALTER TABLE parent TTL = created + INTERVAL 10 HOUR TTL_FK = 'SKIP'")
		t.wantPolicy("parent", hourly)
		if got := t.created("parent"); !strings.Contains(got, "TTL_FK='SKIP'") {
			t.Errorf("the option is not shown: %s", got)
		}

		t.fails(8152, "ALTER TABLE parent TTL_FK = ''")
		t.fails(1064, "ALTER TABLE parent TTL_FK = 'CHILDREN'")
		t.exec("CREATE TABLE later (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
			"CREATE TABLE other (id INT PRIMARY KEY, p INT)",
			"ALTER TABLE other ADD FOREIGN KEY (p) REFERENCES parent (id)",
			"ALTER TABLE parent TTL_ENABLE = 'OFF'", "ALTER TABLE parent TTL_ENABLE = 'ON'", "EXPLAIN TTL parent")
		t.wantPolicy("parent", hourly)

		// What the engine cannot promise is not accepted.
		t.fails(8152, "ALTER TABLE parent ADD q INT, ADD FOREIGN KEY (q) REFERENCES parent (id)")
		t.exec("CREATE TABLE self (id INT PRIMARY KEY, p INT, created DATETIME, FOREIGN KEY (p) REFERENCES self (id))",
			"CREATE TABLE unique_parent (id INT PRIMARY KEY, u INT UNIQUE, created DATETIME)",
			"CREATE TABLE u (u INT, FOREIGN KEY (u) REFERENCES unique_parent (u) ON DELETE SET NULL)")
		for _, table := range []string{"self", "unique_parent"} {
			t.fails(1105, "ALTER TABLE "+table+" TTL = created + INTERVAL 10 HOUR TTL_FK = 'SKIP'")
			t.wantPolicy(table, "")
		}

		// Without the children, nothing needs to be said of them.
		t.exec("DROP TABLE child, later, other", "ALTER TABLE parent TTL_FK = ''")
		t.wantPolicy("parent", hourly)
	})
}

// TestRightsOnChildren: which rows are left of the parent tells which children there are. Only those
// declare that who may read the key themselves, and no temporary table answers for it.
func TestRightsOnChildren(t *testing.T) {
	onStage(t, func(t *theatre) {
		far := t.server.Database(t.T)
		t.exec("CREATE TABLE parent (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE "+far+".child (id INT PRIMARY KEY, p INT, pad INT, FOREIGN KEY (p) REFERENCES "+t.schema+
				".parent (id))")
		const declare = "ALTER TABLE parent TTL = created + INTERVAL 10 HOUR TTL_FK = 'SKIP'"
		const name = "child"

		c := t.client("owner", far, "ALL ON $.*")
		refused := func(what string, named bool) {
			t.Helper()
			err := c.try(declare)
			t.want(1105, what, err)
			if err != nil && (strings.Contains(err.Error(), name) != named ||
				!strings.Contains(err.Error(), "GRANT SELECT")) {
				t.Errorf("%s: the child is named in %q: want %v", what, err, named)
			}
			t.wantPolicy("parent", "")
		}

		c.run("USE " + t.schema)
		refused("without a right on the child", false)
		user, _, _ := strings.Cut(accountOf(c), "@")
		grant := func(right string) { t.exec("GRANT " + right + " ON " + far + ".child TO '" + user + "'@'%'") }
		grant("INSERT")
		refused("with INSERT", true)
		grant("SELECT (id)")
		refused("with SELECT on another column", true)

		t.exec("GRANT CREATE TEMPORARY TABLES ON " + far + ".* TO '" + user + "'@'%'")
		c = t.session(t.server.Config(t.schema))
		c.run("CREATE TEMPORARY TABLE " + far + ".child (p INT)")
		if err := c.try(declare); err == nil || !strings.Contains(err.Error(), "temporary table hides") {
			t.Errorf("behind a temporary table: got %v, want a refusal", err)
		}
		t.wantPolicy("parent", "")

		cfg := t.server.Config(t.schema)
		cfg.User, cfg.Passwd = user, user
		c = t.session(cfg)
		grant("SELECT (p)")
		c.run(declare)
		t.wantPolicy("parent", hourly)
	})
}

func accountOf(c *client) (account string) {
	c.Helper()
	if err := c.conn.QueryRowContext(c.Context(), "SELECT CURRENT_USER()").Scan(&account); err != nil {
		c.Fatal(err)
	}
	return account
}
