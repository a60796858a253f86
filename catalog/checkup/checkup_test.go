package checkup

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// patient is a server with a catalog, a table that has a policy, and an account with the rights
// that Grants gives.
type patient struct {
	root    *sql.DB
	store   *catalog.Store
	cfg     catalog.Config
	user    string // schema of the table
	account string
	login   *mysql.Config // of the account

	declare func(interval, table string) // how often a table has jobs
}

// quoted is the account as the server knows it.
func (p *patient) quoted() string { return "'" + p.account + "'@'%'" }

// onOwnServers runs a test on servers that it may change for everybody.
func onOwnServers(t *testing.T, test func(t *testing.T, p *patient)) {
	t.Helper()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			test(t, newPatient(t, mysqltest.Start(t, flavour)))
		})
	}
}

func newPatient(t *testing.T, s *mysqltest.Server) *patient {
	t.Helper()
	p := &patient{user: s.Database(t), cfg: catalog.Config{Schema: s.Database(t), Version: "test"}}
	p.root = connect(t, s.Config(""))
	p.account = "chk_" + p.user[max(0, len(p.user)-20):]

	var err error
	if p.store, err = catalog.Open(t.Context(), p.root, p.cfg); err != nil {
		t.Fatal(err)
	}

	p.exec(t, "CREATE TABLE "+p.user+".a (id BIGINT PRIMARY KEY, at DATETIME)")
	rule := catalog.Rule{
		Column: "at", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h",
		TimeZone: "UTC", ZoneSource: catalog.ZoneFromServer,
	}

	client := catalog.Client{
		Account: "ann@%", Server: p.store.Server().Key(), Boot: p.store.Server().Boot,
		Connection: 1 << 60,
	}
	p.declare = func(interval, name string) {
		t.Helper()
		table := catalog.Table{Schema: p.user, Name: name}
		rule.JobInterval = interval
		if _, err := p.store.Declare(t.Context(), client, catalog.Declaration{Table: table, Rule: rule}); err != nil {
			t.Fatal(err)
		}
	}
	p.declare("1h", "a")

	service := catalog.ServiceAccount{
		User: p.account, Password: "s3cret", Catalog: p.cfg.Schema,
		Schemas: []string{p.user},
	}
	for _, g := range service.Grants(s.MariaDB()) {
		p.exec(t, g.SQL)
	}

	t.Cleanup(func() {
		if _, err := p.root.Exec("DROP USER " + p.account); err != nil {
			t.Error(err)
		}
	})

	p.login = s.Config("")
	p.login.User, p.login.Passwd = p.account, "s3cret"
	return p
}

func connect(t *testing.T, cfg *mysql.Config) *sql.DB {
	t.Helper()
	c, err := catalog.Connector(cfg)
	if err != nil {
		t.Fatal(err)
	}

	db := sql.OpenDB(c)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})

	return db
}

func (p *patient) exec(t *testing.T, query string) {
	t.Helper()
	if _, err := p.root.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// look is a checkup through the account.
func (p *patient) look(t *testing.T) []Finding {
	t.Helper()
	findings, err := Run(t.Context(), connect(t, p.login), p.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// wants fails the test unless there is such a finding.
func wants(t *testing.T, findings []Finding, level Level, name, text string) {
	t.Helper()
	if !slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Level == level && f.Name == name && strings.Contains(f.Text+f.Advice, text)
	}) {
		t.Errorf("got %+v, want %s %s with %q among them", findings, level, name, text)
	}
}

// probes counts what checkups have left in the catalog's schema.
func (p *patient) probes(t *testing.T) (n int) {
	t.Helper()
	if err := p.root.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.TABLES "+
		"WHERE TABLE_SCHEMA = ? AND TABLE_NAME LIKE 'check\\_probe%'", p.cfg.Schema).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// schema is a schema in a GRANT, where _ stands for any character.
func schema(name string) string { return ddl.Quote(strings.ReplaceAll(name, "_", `\_`)) + ".*" }

func TestServiceAccountLacksNothing(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := newPatient(t, s)
		for _, f := range p.look(t) {
			if f.Level == Error || f.Name == "excess rights" && f.Level != OK {
				t.Errorf("got %s %s: %s (%s)", f.Level, f.Name, f.Text, f.Advice)
			}
		}

		// Where commits may stand still is said, on the server that has a remedy.
		warned := func() bool {
			return slices.ContainsFunc(p.look(t), func(f Finding) bool { return f.Name == "commits" && f.Level == Warning })
		}
		for _, value := range []string{"OFF", "ON"} {
			if !s.MariaDB() { // which has no such variable
				p.exec(t, "SET GLOBAL innodb_log_writer_threads = "+value)
			}
			if got := warned(); got != (value == "OFF" && !s.MariaDB()) {
				t.Errorf("with innodb_log_writer_threads = %s a warning: %v", value, got)
			}
		}

		// Jobs every second want an index.
		add := "ALTER TABLE `" + p.user + "`.`a` ADD INDEX (`at`)"
		offered := func() bool {
			return slices.ContainsFunc(p.look(t), func(f Finding) bool { return f.Level == Warning && f.Advice == add })
		}
		if offered() {
			t.Error("an index is offered for jobs every hour")
		}
		p.declare("1s", "a")
		if !offered() {
			t.Errorf("no index is offered for jobs every second: got %+v", p.look(t))
		}
		p.exec(t, add)
		if offered() {
			t.Error("the index that is there is offered")
		}
	})
}

func TestEachRightIsMissed(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := newPatient(t, s)
		own := schema(p.cfg.Schema)
		cases := []struct{ right, on, finding string }{
			{"DELETE", schema(p.user), "table `" + p.user + "`.`a`"},
			{"PROCESS", "*.*", "PROCESS"},
			{"CREATE", own, "own schema"},
			{"ALTER", own, "own schema"},
			{"CREATE VIEW", own, "own schema"},
			{"DROP", own, "own schema"},
		}

		last := []struct{ right, on, finding string }{{"REPLICA MONITOR", "*.*", "replication"}}
		if !s.MariaDB() {
			last = []struct{ right, on, finding string }{
				{"REPLICATION CLIENT", "*.*", "replication"},
				{"SESSION_VARIABLES_ADMIN", "*.*", "audit comment"},
			}
		}

		for _, right := range catalog.Watched(s.MariaDB()) {
			_, table, _ := strings.Cut(right.SQL, " ON ")
			last = append(last, struct{ right, on, finding string }{"SELECT", table, "performance_schema"})
		}

		for _, c := range slices.Concat(cases, last) {
			p.exec(t, "REVOKE "+c.right+" ON "+c.on+" FROM "+p.account)
			findings := p.look(t)
			if !slices.ContainsFunc(findings, func(f Finding) bool {
				return f.Name == c.finding && f.Level != OK && (c.finding == "own schema" ||
					strings.HasPrefix(f.Advice, "GRANT ") && strings.HasSuffix(f.Advice, " TO "+p.quoted()+";"))
			}) {
				t.Errorf("without %s: got %+v, want %q among what is wrong", c.right, findings, c.finding)
			}

			p.exec(t, "GRANT "+c.right+" ON "+c.on+" TO "+p.account)
		}
	})
}

// TestGrantsCanBePasted: what a checkup advises gives the right that lacks, once for a schema of which every
// table lacks it.
func TestGrantsCanBePasted(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := newPatient(t, s)
		p.exec(t, "CREATE TABLE "+ddl.QuoteTable(p.user, "b")+" (id INT PRIMARY KEY, at DATETIME)")
		p.declare("1h", "b")
		p.exec(t, "REVOKE PROCESS ON *.* FROM "+p.account)
		p.exec(t, "REVOKE DELETE ON "+schema(p.user)+" FROM "+p.account)

		var grants []string
		for _, f := range p.look(t) {
			if f.Level == Error && f.Advice != "" {
				grants = append(grants, f.Advice)
			}
		}
		want := []string{
			"GRANT PROCESS ON *.* TO " + p.quoted() + ";",
			"GRANT SELECT, DELETE ON " + schema(p.user) + " TO " + p.quoted() + ";",
		}
		if !slices.Equal(grants, want) {
			t.Fatalf("got %q, want %q", grants, want)
		}
		for _, grant := range grants {
			p.exec(t, grant)
		}
		for _, f := range p.look(t) {
			if f.Level == Error {
				t.Errorf("after the grants: %s: %s", f.Name, f.Text)
			}
		}
	})
}

// TestCatalogThatIsNone: a damaged catalog, and a schema in which somebody keeps something else,
// are said to be so.
func TestCatalogThatIsNone(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := newPatient(t, s)
		complains := func(cfg catalog.Config, about string) {
			t.Helper()
			findings, err := Run(t.Context(), p.root, cfg)
			if err != nil {
				t.Fatal(err)
			}

			if !slices.ContainsFunc(findings, func(f Finding) bool {
				return f.Level == Error && f.Name == "catalog" && strings.Contains(f.Text, about)
			}) {
				t.Errorf("schema %s: got %+v, want an error about %s", cfg.Schema, findings, about)
			}
		}

		complains(catalog.Config{Schema: p.user}, "`a`")
		p.exec(t, "CREATE TABLE "+p.cfg.Schema+".important (id INT PRIMARY KEY)")
		complains(p.cfg, "`important`")
		p.exec(t, "DROP TABLE "+p.cfg.Schema+".important")
		p.exec(t, "DROP TABLE "+p.cfg.Schema+".lineage")
		complains(p.cfg, "lineage")
	})
}

// TestNewerCatalogHasNoStrangers: what a newer version has put into its schema is not to be moved elsewhere.
func TestNewerCatalogHasNoStrangers(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := newPatient(t, s)
		p.exec(t, "INSERT INTO "+p.cfg.Schema+".migration VALUES (99, 'later', '', UTC_TIMESTAMP(6), 'v99')")
		p.exec(t, "CREATE TABLE "+p.cfg.Schema+".ledger (id INT PRIMARY KEY)")
		var said []string
		for _, f := range p.look(t) {
			if f.Name == "catalog" {
				said = append(said, f.Text)
			}
		}
		if len(said) != 1 || !strings.Contains(said[0], "newer") {
			t.Errorf("got %q, want only that the catalog is newer", said)
		}
	})
}

// TestReadOnlyServerIsExamined: a server that cannot be written is examined to the end, and nothing is tried there that
// it has to refuse.
func TestReadOnlyServerIsExamined(t *testing.T) {
	t.Parallel()
	onOwnServers(t, func(t *testing.T, p *patient) {
		p.exec(t, "SET GLOBAL read_only = 1")
		findings := p.look(t)
		wants(t, findings, Error, "read only", "point --backend at the primary")
		wants(t, findings, Warning, "own schema", "were not tried: read_only is ON")
		wants(t, findings, Warning, "tables", "were not tried: read_only is ON")
		wants(t, findings, OK, "lineage", "generation")
		wants(t, findings, OK, "policies", "1 of 1")
		for _, f := range findings {
			if strings.Contains(f.Text, "1290") {
				t.Errorf("got %+v, want nothing to be tried that such a server refuses", f)
			}
		}
	})
}

// TestLookThatFails: what cannot be examined is a finding, and everything else is examined all the same.
func TestLookThatFails(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := newPatient(t, s)
		locker, err := p.root.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer locker.Close()
		if _, err := locker.ExecContext(t.Context(), "LOCK TABLES "+p.cfg.Schema+".policy WRITE"); err != nil {
			t.Fatal(err)
		}
		findings := p.look(t)
		wants(t, findings, Error, "catalog", "could not be examined")
		wants(t, findings, OK, "clock", "")
		if _, err := locker.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCheckupLeavesNothing: without a right, and when somebody ends it. What it could not drop is left to a later one.
func TestCheckupLeavesNothing(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := newPatient(t, s)
		own := schema(p.cfg.Schema)
		for _, right := range []string{"CREATE VIEW", "INSERT", "ALTER"} {
			p.exec(t, "REVOKE "+right+" ON "+own+" FROM "+p.account)
			p.look(t)
			if n := p.probes(t); n != 0 {
				t.Errorf("without %s: got %d tables left, want none", right, n)
			}
			p.exec(t, "GRANT "+right+" ON "+own+" TO "+p.account)
		}

		c := &check{db: connect(t, p.login), cfg: p.cfg}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.carryOut(ctx, []string{probeSchema[0], "DO SLEEP(60)"}) }()
		for p.probes(t) == 0 && ctx.Err() == nil {
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(5 * time.Millisecond):
			}
		}
		stop()
		if err := <-ended; err == nil || p.probes(t) != 0 {
			t.Errorf("a checkup that is ended: got %v and %d tables left, want an error and none", err, p.probes(t))
		}

		p.exec(t, "REVOKE DROP ON "+own+" FROM "+p.account)
		p.look(t)
		p.exec(t, "GRANT DROP ON "+own+" TO "+p.account)
		p.exec(t, "CREATE TABLE "+p.cfg.Schema+".check_probe_of_mine (id INT PRIMARY KEY)")
		if n := p.probes(t); n != 3 { // the table, its view, and one that no checkup has made
			t.Fatalf("got %d tables, want those that could not be dropped", n)
		}
		p.look(t)
		if n := p.probes(t); n != 3 {
			t.Errorf("got %d tables, want those left alone that another checkup may be using", n)
		}
		if err := c.sweep(t.Context(), 0); err != nil || p.probes(t) != 1 {
			t.Errorf("got %v and %d tables, want only the one that no checkup has made", err, p.probes(t))
		}
	})
}
