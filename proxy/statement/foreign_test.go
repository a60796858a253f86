package statement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
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
		t.fails(1064, "ALTER TABLE parent TTL_FK = 'ORPHANS'")
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

// TestCirclesNeedUpdate: rows that point at themselves are deleted by an UPDATE before the DELETE only if
// whoever declares the policy may do that himself. Without the right the policy is declared all the same.
func TestCirclesNeedUpdate(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE tree (id INT PRIMARY KEY, up INT, created DATETIME, FOREIGN KEY (up) REFERENCES tree (id))")
		const declare = "ALTER TABLE tree TTL = created + INTERVAL 10 HOUR TTL_FK = 'CHILDREN'"
		c := t.client("grower", t.schema, "SELECT, INSERT, ALTER, CREATE, DELETE ON $.tree")
		user, _, _ := strings.Cut(accountOf(c), "@")
		c.run("USE " + t.schema)
		agreed := func(want string) {
			t.Helper()
			c.run(declare)
			p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "tree"})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.Terms.Options.Dependents, ", "); got != strings.ReplaceAll(want, "$", t.schema) {
				t.Errorf("agreed to %s, want %s", got, want)
			}
		}
		agreed("`$`.`tree`")
		t.exec("GRANT UPDATE ON " + t.schema + ".tree TO '" + user + "'@'%'")
		agreed("`$`.`tree`, `$`.`tree` CIRCLES")
	})
}

// TestChildrenGoAlong declares policies that take rows of other tables along. It takes the rights to
// delete from all of them, and what was declared holds for no table that comes later.
func TestChildrenGoAlong(t *testing.T) {
	onStage(t, func(t *theatre) {
		far := t.server.Database(t.T)
		t.exec("CREATE TABLE parent (id INT PRIMARY KEY, u INT UNIQUE, created DATETIME)",
			"CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
			"CREATE TABLE "+far+".grandchild (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES "+t.schema+
				".child (id))",
			"CREATE TABLE loses (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (u) ON DELETE SET NULL)")
		const declare = "ALTER TABLE parent TTL = created + INTERVAL 10 HOUR TTL_FK = 'CHILDREN'"
		c := t.client("taker", t.schema, "SELECT, INSERT, ALTER, CREATE, DELETE ON $.parent",
			"SELECT, DELETE ON $.child")
		user, _, _ := strings.Cut(accountOf(c), "@")
		c.run("USE " + t.schema)

		refused := func(what, grant string) {
			t.Helper()
			err := c.try(declare)
			t.want(1105, what, err)
			if err != nil && !strings.Contains(err.Error(), grant) {
				t.Errorf("%s: got %q, want %s in it", what, err, grant)
			}
			t.wantPolicy("parent", "")
		}
		grant := func(right, table string) { t.exec("GRANT " + right + " ON " + table + " TO '" + user + "'@'%'") }
		refused("without a right on a child", "another table")
		grant("SELECT", t.schema+".loses")
		refused("without UPDATE on the child whose rows stay", "GRANT SELECT, UPDATE ON `"+t.schema+"`.`loses` to")
		grant("UPDATE", t.schema+".loses")
		refused("without a right on the grandchild", "another table")
		grant("SELECT", far+".grandchild")
		refused("without DELETE on the grandchild", "GRANT SELECT, DELETE ON `"+far+"`.`grandchild` to")
		grant("DELETE", far+".grandchild")
		c.run(declare)
		t.wantPolicy("parent", hourly)
		if got := t.created("parent"); !strings.Contains(got, "TTL_FK='CHILDREN'") ||
			strings.Contains(got, "grandchild") {
			t.Errorf("the option is shown as %s", got)
		}

		dependents := func(table string) int {
			t.Helper()
			p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: table})
			if err != nil {
				t.Fatal(err)
			}
			return len(p.Terms.Options.Dependents)
		}
		if n := dependents("parent"); n != 3 {
			t.Errorf("%d tables are noted of which rows may go along, want 3", n)
		}

		t.exec("INSERT INTO parent VALUES (1, 1, '2020-01-01')", "INSERT INTO child VALUES (1, 1), (2, 1)",
			"INSERT INTO "+far+".grandchild VALUES (1, 2)", "INSERT INTO loses VALUES (1, 1)",
			"CREATE TRIGGER mourns AFTER DELETE ON child FOR EACH ROW SET @died = OLD.id",
			"CREATE TRIGGER notes BEFORE UPDATE ON loses FOR EACH ROW SET @lost = OLD.id",
			"CREATE TRIGGER greets BEFORE INSERT ON loses FOR EACH ROW SET @came = NEW.id")
		all := strings.Join(rows(t.T, t.db, "EXPLAIN TTL parent"), "\n")
		for _, want := range []string{
			"rows that depend on these go with them", "`child` (1 below)", "`grandchild` (2 below)",
			"lose their parent (ON DELETE SET NULL): about", "the largest takes 4 others along, of 1 that were looked at",
			"for every row of `" + t.schema + "`.`child` that is concerned: mourns",
			"for every row of `" + t.schema + "`.`loses` that is concerned: notes",
		} {
			if !strings.Contains(all, want) {
				t.Errorf("the preview says %s, want %s in it", all, want)
			}
		}

		if strings.Contains(all, "greets") {
			t.Errorf("the preview names a trigger that nothing fires: %s", all)
		}

		// The largest family is not among the first rows.
		for id := 2; id < 20; id++ {
			t.exec(fmt.Sprintf("INSERT INTO parent VALUES (%d, %d, '2020-01-01')", id, id))
		}
		t.exec("INSERT INTO parent VALUES (20, 20, '2037-01-01')",
			"INSERT INTO child SELECT 100 + id, 19 FROM parent WHERE id < 8",
			"INSERT INTO child SELECT 200 + id, 20 FROM parent")
		all = strings.Join(rows(t.T, t.db, "EXPLAIN TTL parent"), "\n")
		if want := "the largest takes 7 others along, of 11 that were looked at"; !strings.Contains(all, want) {
			t.Errorf("the preview says %s, want %s in it", all, want)
		}

		t.exec("CREATE TABLE copy LIKE parent")
		if n := dependents("copy"); n != 0 {
			t.Errorf("of a copy, %d tables are noted, want none", n)
		}
		t.exec("CREATE TABLE later (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
			"ALTER TABLE parent TTL_JOB_INTERVAL = '2h'")
		if n := dependents("parent"); n != 3 {
			t.Errorf("after another table came, %d are noted, want 3", n)
		}
		t.exec("ALTER TABLE parent TTL_FK = 'CHILDREN'")
		if n := dependents("parent"); n != 4 {
			t.Errorf("once it was declared again, %d are noted, want 4", n)
		}

		// A table may point at itself, and takes its own rows along.
		t.exec("CREATE TABLE tree (id INT PRIMARY KEY, p INT, created DATETIME, FOREIGN KEY (p) REFERENCES tree (id)) "+
			"TTL = created + INTERVAL 10 HOUR TTL_FK = 'CHILDREN'",
			"ALTER TABLE parent ADD q INT, ADD FOREIGN KEY (q) REFERENCES parent (id)")
		t.fails(8152, "ALTER TABLE tree TTL_FK = ''")
		t.exec("ALTER TABLE parent DROP FOREIGN KEY parent_ibfk_1, DROP q")

		t.exec("CREATE TABLE named (e ENUM ('a') PRIMARY KEY, created DATETIME)",
			"CREATE TABLE words (id INT PRIMARY KEY, e ENUM ('a'), FOREIGN KEY (e) REFERENCES named (e))",
			"CREATE TABLE unnamed (p INT, FOREIGN KEY (p) REFERENCES copy (id))")
		for _, table := range []string{"named", "copy"} {
			t.fails(1105, "ALTER TABLE "+table+" TTL = created + INTERVAL 10 HOUR TTL_FK = 'CHILDREN'")
		}
	})
}

// TestCascades declares policies under which the server lets rows of other tables go. It asks nobody for
// rights on those: so we do, as if we deleted them ourselves.
func TestCascades(t *testing.T) {
	onStage(t, func(t *theatre) {
		far := t.server.Database(t.T)
		t.exec("CREATE TABLE parent (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE "+far+".child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES "+t.schema+
				".parent (id) ON DELETE CASCADE)")
		const declare = "ALTER TABLE parent TTL = created + INTERVAL 10 HOUR TTL_FK = 'CASCADE'"
		c := t.client("taker", t.schema, "SELECT, INSERT, ALTER, CREATE, DELETE ON $.parent")
		user, _, _ := strings.Cut(accountOf(c), "@")
		c.run("USE " + t.schema)
		t.exec("GRANT SELECT ON " + far + ".child TO '" + user + "'@'%'")
		err := c.try(declare)
		t.want(1105, "without DELETE on the child", err)
		if err != nil && !strings.Contains(err.Error(), "GRANT SELECT, DELETE ON `"+far+"`.`child` to") {
			t.Errorf("without DELETE on the child, got %v, want what helps", err)
		}
		t.wantPolicy("parent", "")

		t.exec("GRANT DELETE ON " + far + ".child TO '" + user + "'@'%'")
		c.run(declare)
		t.wantPolicy("parent", hourly)
		p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "parent"})
		if got := strings.Join(p.Terms.Options.Dependents, ", "); err != nil || got != "`"+far+"`.`child`" {
			t.Errorf("the tables noted are %s (%v), want the child", got, err)
		}

		t.exec("INSERT INTO parent VALUES (1, '2020-01-01')", "INSERT INTO "+far+".child VALUES (1, 1), (2, 1)")
		all := strings.Join(rows(t.T, t.db, "EXPLAIN TTL parent"), "\n")
		for _, want := range []string{
			"no trigger of those tables runs", "`child` (1 below)", "the largest takes 2 others along",
			"the row stays, and SHOW TTL ERRORS lists it",
		} {
			if !strings.Contains(all, want) {
				t.Errorf("the preview says %s, want %s in it", all, want)
			}
		}

		// What the server would refuse, or do in ways of its own, is not accepted.
		root := t.session(t.server.Config(t.schema))
		t.exec("CREATE TABLE above (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE middle (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES above (id) ON DELETE CASCADE)",
			"CREATE TABLE refuses (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES middle (id))",
			"CREATE TABLE self (id INT PRIMARY KEY, p INT, created DATETIME, FOREIGN KEY (p) REFERENCES self (id) "+
				"ON DELETE CASCADE)",
			"CREATE TABLE round (id INT PRIMARY KEY, p INT, created DATETIME)",
			"CREATE TABLE back (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES round (id) ON DELETE CASCADE)",
			"ALTER TABLE round ADD FOREIGN KEY (p) REFERENCES back (id) ON DELETE CASCADE")
		for table, want := range map[string]string{
			"above": "only refuses: 'CHILDREN' deletes its rows", "self": "point at themselves", "round": "in a circle",
		} {
			err := root.try("ALTER TABLE " + table + " TTL = created + INTERVAL 10 HOUR TTL_FK = 'CASCADE'")
			t.want(1105, table, err)
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", table, err, want)
			}
			t.wantPolicy(table, "")
		}
		t.fails(8152, "CREATE TABLE tree (id INT PRIMARY KEY, p INT, created DATETIME, FOREIGN KEY (p) REFERENCES tree "+
			"(id) ON DELETE CASCADE) TTL = created + INTERVAL 10 HOUR TTL_FK = 'CASCADE'")
	})
}

// TestForeignKeysInOtherCharacterSets: a session in latin1 declares what becomes of the children of a
// table, by statements that were prepared in another schema. The rights on a child whose name it cannot
// spell cannot be asked for, so nothing is declared.
func TestForeignKeysInOtherCharacterSets(t *testing.T) {
	onStage(t, func(t *theatre) {
		other := t.server.Database(t)
		t.exec("CREATE TABLE `größe` (`ä` INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE `straße` (id INT PRIMARY KEY, `ö` INT, FOREIGN KEY (`ö`) REFERENCES `größe` (`ä`) "+
				"ON DELETE CASCADE)",
			"CREATE TABLE "+other+".`größe` (`ä` INT PRIMARY KEY, created DATETIME)")
		c := t.session(t.server.Config(t.schema))
		c.run("SET NAMES latin1")
		const table = "gr\xf6\xdfe"
		declare := func(value string) error {
			c.run("USE " + t.schema)
			execute := c.held("ALTER TABLE `" + table + "` TTL = created + INTERVAL 10 HOUR TTL_FK = '" + value + "'")
			c.run("USE " + other)
			return execute()
		}

		for value, want := range map[string]string{"SKIP": "", "CHILDREN": "`" + t.schema + "`.`straße`"} {
			if err := declare(value); err != nil {
				t.Errorf("%s: %v", value, err)
			}
			t.wantPolicy("größe", hourly)
			if p := t.policyIn(other, "größe"); p != nil {
				t.Errorf("%s: the table of that name in the other schema has a policy: %+v", value, p)
			}
			p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "größe"})
			if got := strings.Join(p.Terms.Options.Dependents, ", "); err != nil || got != want {
				t.Errorf("%s: the tables noted are %q (%v), want %q", value, got, err, want)
			}
			c.run("USE "+t.schema, "ALTER TABLE `"+table+"` REMOVE TTL")
		}

		t.exec("CREATE TABLE `表` (id INT PRIMARY KEY, g INT, FOREIGN KEY (g) REFERENCES `größe` (`ä`))")
		for _, value := range []string{"SKIP", "CHILDREN"} {
			err := declare(value)
			t.want(1105, value+" with a child that cannot be spelled", err)
			if err != nil && !strings.Contains(err.Error(), "SET NAMES utf8mb4") {
				t.Errorf("%s: got %v, want what helps", value, err)
			}
			t.wantPolicy("größe", "")
		}
	})
}
