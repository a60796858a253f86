package statement

import (
	"strings"
	"testing"
)

// A policy comes by no RENAME to a name at which its owner could not have declared it: whoever may
// create tables and insert, but not delete, cannot have the service account delete what others
// insert there.
func TestPolicyMovesOnlyWhereItsOwnerMayDelete(t *testing.T) {
	onStage(t, func(t *theatre) {
		log := t.server.Database(t.T)
		from := t.server.Database(t.T)
		made := "CREATE TABLE " + from + ".t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"
		policies := func() string {
			all, err := t.store.Policies(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			var names []string
			for _, p := range all {
				names = append(names, p.Table.Schema+"."+p.Table.Name)
			}

			return strings.Join(names, " ")
		}

		c := t.client("mover", log, "ALL ON "+from+".*", "SELECT, CREATE, INSERT, CREATE TEMPORARY TABLES ON #.*")
		c.run(made)

		for _, statement := range []string{
			"RENAME TABLE $.t TO #.inbox",
			"RENAME TABLE $.t TO $.u, $.u TO #.inbox",
			"RENAME TABLE $.t TO #._inbox_gho",
			"ALTER TABLE $.t RENAME TO #.inbox",
			"ALTER TABLE $.t RENAME TO #.inbox, TTL = created + INTERVAL 1 DAY",
		} {
			c.refused(1142, strings.NewReplacer("$", from, "#", log).Replace(statement))
			if got, want := policies(), from+".t"; got != want {
				t.Errorf("%s: policies are %q, want %q", statement, got, want)
			}
		}

		c.run("CREATE TEMPORARY TABLE " + log + ".inbox (id INT)")
		c.refused(8151, "RENAME TABLE "+from+".t TO "+log+".inbox")
		c.run("DROP TEMPORARY TABLE "+log+".inbox",
			"RENAME TABLE "+from+".t TO "+from+".u",
			"ALTER TABLE "+from+".u REMOVE TTL, RENAME TO "+log+".inbox")
		if got := policies(); got != "" {
			t.Errorf("policies are %q, want none", got)
		}
	})
}

// Within a schema, rights on single tables decide alike. Whoever may delete from none moves what
// others have declared, as do those who keep the tables of a schema without touching their rows.
func TestPolicyMovesWithinItsSchema(t *testing.T) {
	onStage(t, func(t *theatre) {
		const table = " (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"
		t.exec("CREATE TABLE own"+table, "CREATE TABLE x"+table)

		single := t.client("single", "", "ALL ON $.own", "CREATE, INSERT ON $.*")
		single.run("USE " + t.schema)
		single.refused(1142, "RENAME TABLE own TO inbox")
		t.wantPolicy("own", hourly)
		single.run("RENAME TABLE own TO _own_old")
		t.wantPolicy("_own_old", strings.Replace(hourly, "armed", "dormant", 1))

		keeper := t.client("keeper", "", "ALTER, DROP, CREATE, INSERT ON $.*")
		keeper.run("USE "+t.schema, "RENAME TABLE x TO y", "RENAME TABLE _own_old TO inbox")
		t.wantPolicy("y", hourly)
		t.wantPolicy("inbox", strings.Replace(hourly, "armed", "dormant", 1))
	})
}
