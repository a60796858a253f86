package statement

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestAccountsAndStatements gives one account each right that the server knows, at each level at
// which it can be had, and asks with each statement of ours, and each that a policy follows: our
// answer is the server's own to what the statement stands for, asked directly by the same account
// of a table without a policy. What is refused has changed nothing in the catalog, and written
// nothing there.
func TestAccountsAndStatements(t *testing.T) {
	onStage(t, func(t *theatre) {
		a := &trial{theatre: t, twin: t.server.Database(t.T)}
		a.config = t.server.Account(t.T, "account")
		t.db.SetMaxOpenConns(1)
		a.makeAnew("DROP DATABASE $")
		for _, grants := range a.grants() {
			a.try(grants)
		}
	})
}

// trial is the account under test and the two places at which it tries: a schema whose table has a
// policy, through the proxy, and a twin of it, directly.
type trial struct {
	*theatre
	twin   string
	config *mysql.Config
}

// deed is a statement, and what it stands for. $ is the schema, # the catalog's table of settings.
type deed struct {
	ours  string
	stand []string // nil for the statement itself
	or    string   // also allows it
}

const (
	alterIt  = "ALTER TABLE $.t"
	deleteIt = "DELETE FROM $.t WHERE created < '1970-01-02'"
	setIt    = "SET GLOBAL default_week_format = @@GLOBAL.default_week_format"
	byHand   = "UPDATE # SET value = '' WHERE name = ''"
	newTable = "CREATE TABLE $.n (id INT PRIMARY KEY, created DATETIME)"
)

// general are the deeds for which rights on everything may matter.
var general = []deed{
	{"SET GLOBAL ttl_brake_percent = 50", []string{setIt}, byHand},
	{"PAUSE TTL", []string{setIt}, byHand},
	{"RESUME TTL", []string{setIt}, byHand},
	{"TRUST TTL SERVER", []string{setIt}, byHand},
	{"PAUSE TTL FOR $.t", []string{deleteIt}, setIt},
	{"CANCEL TTL JOB FOR $.t", []string{deleteIt}, setIt},
	{"RESUME TTL FOR $.t", []string{deleteIt}, ""},
	{"RUN TTL JOB FOR $.t", []string{deleteIt}, ""},
	{"ALTER TABLE $.t TTL = created + INTERVAL 1 DAY", []string{alterIt, deleteIt}, ""},
	{"TRUNCATE TABLE $.t", nil, ""},
	{"DROP DATABASE $", nil, ""},
}

// deeds are the others.
var deeds = []deed{
	{"ALTER TABLE $.t TTL_JOB_INTERVAL = '2h'", []string{alterIt, deleteIt}, ""},
	{"ALTER TABLE $.t TTL_PARTITION = 'DROP'", []string{alterIt, deleteIt, "TRUNCATE TABLE $.t"}, ""},
	{"ALTER TABLE $.t TTL_ENABLE = 'OFF'", []string{alterIt}, ""},
	{"ALTER TABLE $.t TTL_ENABLE = 'ON'", []string{alterIt, deleteIt}, ""},
	{"ALTER TABLE $.t TTL = created + INTERVAL 1 DAY, COMMENT = 'x'", []string{alterIt, deleteIt}, ""},
	{"APPROVE TTL JOB FOR $.t", []string{deleteIt}, ""},
	{"EXPLAIN TTL $.t", []string{deleteIt}, ""},
	{"ALTER TABLE $.t COMMENT = 'y'", nil, ""},
	{"ALTER TABLE $.t REMOVE TTL", []string{alterIt}, ""},
	{newTable + " TTL = created + INTERVAL 1 DAY", []string{newTable, "DELETE FROM $.n"}, ""},
	{"OPTIMIZE TABLE $.t", nil, ""},
	{"REPAIR TABLE $.t", nil, ""},
	{"CREATE INDEX i ON $.t (created)", nil, ""},
	{"DROP INDEX k ON $.t", nil, ""},
	{"ALTER TABLE $.p OPTIMIZE PARTITION p0", nil, ""},
	{"ALTER TABLE $.p TRUNCATE PARTITION p0", nil, ""},
	{"ALTER TABLE $.p DROP PARTITION p0", nil, ""},
	{"ALTER TABLE $.p EXCHANGE PARTITION p0 WITH TABLE $.t", nil, ""},
	{"ALTER TABLE $.t RENAME TO $.n", nil, ""},
	{"RENAME TABLE $.t TO $.n", nil, ""},
	{"DROP TABLE $.t", nil, ""},
}

// onMariaDB are those that only MariaDB knows.
var onMariaDB = []deed{
	{"CREATE OR REPLACE TABLE $.t (id INT PRIMARY KEY)", nil, ""},
	{"ALTER TABLE $.p CONVERT PARTITION p0 TO TABLE $.n", nil, ""},
	{"ALTER TABLE $.p CONVERT TABLE $.t TO PARTITION p2 VALUES LESS THAN (30)", nil, ""},
}

// oversight are the rights about the server as a whole that allow some deed. The others are tried
// several at once: whatever one of them allowed through us alone would show all the same.
var oversight = []string{
	"SUPER", "SYSTEM_VARIABLES_ADMIN", "TABLE_ENCRYPTION_ADMIN", "READ_ONLY ADMIN", "CONNECTION ADMIN", "PROCESS",
	"RELOAD", "CREATE USER", "USAGE",
}

// grants are those to try, each as what follows GRANT; $ is the schema.
func (a *trial) grants() (list [][]string) {
	a.Helper()
	rows, err := a.direct.QueryContext(a.Context(), "SHOW PRIVILEGES")
	if err != nil {
		a.Fatal(err)
	}
	defer rows.Close()

	list = append(list, nil)
	var others []string
	for rows.Next() {
		var name, context, comment string
		if err := rows.Scan(&name, &context, &comment); err != nil {
			a.Fatal(err)
		}

		name = strings.ToUpper(name)
		if strings.HasPrefix(context, "Server") && !slices.Contains(oversight, name) {
			others = append(others, name)
			continue
		}

		for _, level := range []string{"$.t", "$.*", "*.*"} {
			list = append(list, []string{name + " ON " + level})
		}
	}

	if err := rows.Err(); err != nil {
		a.Fatal(err)
	}

	for together := range slices.Chunk(others, 6) {
		var grants []string
		for _, name := range together {
			grants = append(grants, name+" ON *.*")
		}
		list = append(list, grants)
	}

	for _, rights := range []string{
		"ALTER, DROP", "ALTER, INSERT, CREATE", "ALTER, DROP, INSERT, CREATE", "SELECT, INSERT", "CREATE, DROP",
		"CREATE, DELETE", "SELECT, DELETE",
		"ALTER, DELETE", "ALTER, SELECT, DELETE", "ALTER, SELECT, DELETE, CREATE, DROP, INSERT, INDEX", "ALL",
	} {
		list = append(list, []string{rights + " ON $.*"})
	}

	return append(list,
		[]string{"DELETE, ALTER ON $.t", "SELECT (created) ON $.t"},
		[]string{"DELETE, ALTER ON $.t", "SELECT (id) ON $.t"},
		[]string{"SELECT (created), UPDATE (created), INSERT (created), REFERENCES (created) ON $.t"},
		[]string{"ALTER, DROP ON $.t", "CREATE, INSERT ON $.n"},
		[]string{"ALTER, DROP, CREATE, INSERT ON $.t", "ALTER, DROP, CREATE, INSERT ON $.p"},
		[]string{"ALTER, DROP, CREATE, INSERT ON $.p"},
		[]string{byRole, "ALTER, SELECT, DELETE ON $.t"},
		[]string{byRole, "ALTER, DROP, CREATE, INSERT, INDEX ON $.*"},
	)
}

// try asks everything with one set of rights, if the server has them.
func (a *trial) try(grants []string) {
	a.Helper()
	user := "'" + a.config.User + "'@'%'"
	a.must("DROP USER "+user, "CREATE USER "+user+" IDENTIFIED BY '"+a.config.Passwd+"'")
	grantee := user

	if len(grants) > 0 && grants[0] == byRole {
		grantee = a.role(user)
		grants = grants[1:]
	}

	had := len(grants) == 0
	for _, g := range grants {
		for _, schema := range []string{a.schema, a.twin} {
			_, err := a.direct.ExecContext(a.Context(), "GRANT "+strings.ReplaceAll(g, "$", schema)+" TO "+grantee)
			had = had || err == nil
		}
	}
	if !had {
		return // not at this level
	}

	through := a.config.Clone()
	through.Addr = a.addr
	proxied, direct := mysqltest.Open(a.T, through), mysqltest.Open(a.T, a.config)
	defer proxied.Close()
	defer direct.Close()

	for _, d := range a.deedsFor(grants) {
		before := a.traces()
		got, want := a.ask(proxied, d.ours, a.schema), a.standsFor(direct, d)
		if got != want {
			a.Errorf("%v: %s: got %d, want %d as the server answers itself", grants, d.ours, got, want)
		}
		if after := a.traces(); got != 0 && after != before {
			a.Errorf("%v: %s was refused, and the catalog is %s, want %s", grants, d.ours, after, before)
		}
		if changes := d.stand == nil || d.stand[0] == newTable ||
			strings.Contains(d.ours, "REMOVE"); changes && (got == 0 || want == 0) {
			a.makeAnew(d.ours)
		}
	}
}

// byRole, in front of grants, says that the account has them by a role.
const byRole = "by role"

// role gives the account a role, and returns its name.
func (a *trial) role(user string) string {
	a.Helper()
	const role = "ttl_account_role"
	to := " TO "
	if a.server.MariaDB() {
		to = " FOR "
	}
	a.must("DROP ROLE IF EXISTS "+role, "CREATE ROLE "+role, "GRANT "+role+" TO "+user,
		"SET DEFAULT ROLE "+role+to+user)
	return role
}

// deedsFor are those that may depend on the rights: all of them on those that are about this table,
// and of those that hold for more, or are about something else, a selection.
func (a *trial) deedsFor(grants []string) []deed {
	list := slices.Concat(deeds, general)
	if a.server.MariaDB() {
		list = slices.Concat(onMariaDB, list)
	}
	if len(grants) == 0 || !single(grants[0]) {
		return list
	}
	name, level, _ := strings.Cut(grants[0], " ON ")
	if level == "$.t" &&
		slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX"}, name) {
		return list
	}
	return general
}

func single(grant string) bool { return !strings.ContainsAny(grant, ",(") }

// standsFor is the server's answer to what a deed stands for.
func (a *trial) standsFor(direct *sql.DB, d deed) uint16 {
	a.Helper()
	stand, want := d.stand, uint16(0)
	if stand == nil {
		stand = []string{d.ours}
	}

	for _, s := range stand {
		if want == 0 {
			want = a.ask(direct, s, a.twin)
		}
	}

	if want != 0 && d.or != "" && a.ask(direct, d.or, a.twin) == 0 {
		return 0
	}

	return want
}

// ask returns the number with which a statement was denied, 0 when it was not.
func (a *trial) ask(db *sql.DB, statement, schema string) uint16 {
	a.Helper()
	statement = strings.NewReplacer("$", schema, "#", a.store.Name("setting")).Replace(statement)
	_, err := db.ExecContext(a.Context(), statement)
	e, refused := errors.AsType[*mysql.MySQLError](err)
	if err != nil && !refused {
		a.Fatalf("%s: %v", statement, err)
	}
	if refused && slices.Contains([]uint16{1044, 1142, 1143, 1227, 1370}, e.Number) {
		return e.Number
	}
	return 0
}

// traces is what a statement could leave behind in the catalog.
func (a *trial) traces() (s string) {
	a.Helper()
	err := a.direct.QueryRowContext(a.Context(),
		"SELECT CONCAT((SELECT COALESCE(GROUP_CONCAT(table_name, ' ', version, ' ', state ORDER BY table_name), "+
			"'empty') FROM "+
			a.store.Name("policy")+"), ', events up to ', (SELECT MAX(id) FROM "+a.store.Name("event")+"))").Scan(&s)
	if err != nil {
		a.Fatal(err)
	}
	return s
}

// makeAnew makes what a statement may have changed: t and the partitioned p have a policy on our
// side.
func (a *trial) makeAnew(after string) {
	a.Helper()
	const columns = " (id INT PRIMARY KEY, created DATETIME, KEY k (created))"
	const table, partitioned = "CREATE TABLE $.t" + columns, "CREATE TABLE $.p" + columns
	const partitions = " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS " +
		"THAN (20))"
	const ttl = " TTL = created + INTERVAL 10 HOUR"

	ours, twin := []string{"DROP TABLE IF EXISTS $.t, $.n"}, []string{"DROP TABLE IF EXISTS $.t, $.n"}
	switch {
	case strings.Contains(after, "DATABASE"):
		ours = []string{"DROP DATABASE IF EXISTS $", "CREATE DATABASE $", partitioned + ttl + partitions}
		twin = []string{"DROP DATABASE IF EXISTS $", "CREATE DATABASE $", partitioned + partitions}
	case strings.Contains(after, "$.p"):
		ours = append(ours, "DROP TABLE IF EXISTS $.p", partitioned+ttl+partitions)
		twin = append(twin, "DROP TABLE IF EXISTS $.p", partitioned+partitions)
	}

	for _, s := range append(ours, table+ttl) {
		a.exec(strings.ReplaceAll(s, "$", a.schema))
	}
	for _, s := range append(twin, table) {
		a.must(strings.ReplaceAll(s, "$", a.twin))
	}
}

// must runs statements directly.
func (a *trial) must(statements ...string) {
	a.Helper()
	for _, s := range statements {
		if _, err := a.direct.ExecContext(a.Context(), s); err != nil {
			a.Fatalf("%s: %v", s, err)
		}
	}
}
