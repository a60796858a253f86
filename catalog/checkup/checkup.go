package checkup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Level says how much a finding matters.
type Level string

// The levels of a finding.
const (
	OK      Level = "ok"
	Warning Level = "warning" // works, with something missing
	Error   Level = "error"   // rows will not be deleted
)

// Finding is one thing that was checked.
type Finding struct {
	Level  Level
	Name   string
	Text   string // what was found
	Advice string // what to do about it; empty when all is well
}

// check collects findings about a server, seen through the service account.
type check struct {
	db       *sql.DB
	cfg      catalog.Config
	server   catalog.Server
	store    *catalog.Store
	account  string // as the server knows it, quoted
	still    string // why nothing can be written here; empty if it can
	findings []Finding
}

// look finds something out; its name is that of its findings.
type look struct {
	name string
	take func(context.Context) error
}

// Run checks everything that has to be right for rows to be deleted: the server, its settings, the
// account's rights, each of them tried, and the catalog. It changes nothing except for a table that
// it creates and drops in the catalog's schema. An error is that of a server out of reach.
func Run(ctx context.Context, db *sql.DB, cfg catalog.Config) ([]Finding, error) {
	if cfg.Schema == "" {
		cfg.Schema = catalog.DefaultSchema
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, err
	}

	c := &check{db: db, cfg: cfg}
	err := c.take(ctx, []look{{"read only", c.readOnly}, {"cluster", c.cluster}, {"server", c.read}})
	if err != nil || c.server.Version == "" { // which all others go by
		return c.findings, err
	}

	err = c.take(ctx, []look{
		{"version", c.version},
		{"catalog", c.catalog},
		{"own schema", c.ownSchema},
		{"PROCESS", c.process},
		{"replication", c.replication},
		{"audit comment", c.binlogComment},
		{"performance_schema", c.watched},
		{"excess rights", c.excess},
		{"tables", c.tableRights},
		{"binlog", c.binlogFormat},
		{"commits", c.logWriters},
		{"table names", c.names},
		{"time zone", c.zone},
		{"clock", c.clock},
		{"client hosts", c.boundAccounts},
		{"lineage", c.lineage},
		{"policies", c.policies},
	})
	return c.findings, err
}

// take takes one look after the other. One that fails is a finding, too: the trouble that keeps it from seeing anything
// may be what a later one explains. Only a server that is out of reach ends it.
func (c *check) take(ctx context.Context, looks []look) error {
	for _, l := range looks {
		err := l.take(ctx)
		if err == nil {
			continue
		}
		if c.db.PingContext(ctx) != nil {
			return err
		}
		c.bad(Error, l.name, "this could not be examined: "+err.Error(), "")
	}
	return nil
}

// read reads what the server is, and whom it takes us for.
func (c *check) read(ctx context.Context) (err error) {
	if c.account, err = catalog.Account(ctx, c.db); err != nil {
		return err
	}
	server, err := catalog.ReadServer(ctx, c.db)
	if err == nil {
		c.server = server
	}
	return err
}

func (c *check) ok(name, format string, args ...any) {
	c.findings = append(c.findings, Finding{Level: OK, Name: name, Text: fmt.Sprintf(format, args...)})
}

func (c *check) bad(level Level, name, text, advice string) {
	c.findings = append(c.findings, Finding{Level: level, Name: name, Text: text, Advice: advice})
}

// grant is the statement that gives the account a right on something.
func (c *check) grant(rightOn string) string { return c.toAccount("GRANT " + rightOn) }

// toAccount completes a GRANT.
func (c *check) toAccount(grant string) string { return grant + " TO " + c.account + ";" }

// tried reports a right by what the server said when it was used. An answer that is not about
// rights is an error.
func (c *check) tried(err error, level Level, name, can, cannot, grant string) error {
	switch {
	case err == nil:
		c.ok(name, "%s", can)
	case refused(err, ddl.CodeSchemaDenied, ddl.CodeTableDenied, ddl.CodeColumnDenied, ddl.CodeRightNeeded):
		c.bad(level, name, cannot, grant)
	default:
		return err
	}
	return nil
}

func (c *check) version(context.Context) error {
	var major, minor int
	if _, err := fmt.Sscanf(c.server.Version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("read version %q: %w", c.server.Version, err)
	}

	oldest := [2]int{8, 0}
	if c.server.MariaDB {
		oldest = [2]int{10, 6}
	}
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		c.bad(Error, "version", c.server.Version+" is too old", "ttlproxy needs MariaDB 10.6 or MySQL 8.0")
		return nil
	}

	c.ok("version", "%s on %s:%d", c.server.Version, c.server.Host, c.server.Port)
	return nil
}

func (c *check) catalog(ctx context.Context) error {
	store, err := catalog.OpenExisting(ctx, c.db, c.cfg)
	switch {
	case err == nil:
		c.store = store
		c.ok("catalog", "schema %s is complete", c.cfg.Schema)
	case errors.Is(err, catalog.ErrNoCatalog):
		c.bad(Warning, "catalog", err.Error(), "ttlproxy serve or ttlproxy init creates it")
	case errors.Is(err, catalog.ErrNewerCatalog), errors.Is(err, catalog.ErrDamagedCatalog):
		c.bad(Error, "catalog", err.Error(), "")
		return nil // whatever else is in the schema may be a part of it
	default:
		return err
	}

	return c.schemaShared(ctx)
}

// schemaShared looks for what somebody else keeps in the catalog's schema.
func (c *check) schemaShared(ctx context.Context) error {
	err := catalog.RefuseShared(ctx, c.db, c.cfg)
	if errors.Is(err, catalog.ErrSharedSchema) {
		c.bad(Error, "catalog", err.Error(), "")
		return nil
	}
	return err
}

func (c *check) process(ctx context.Context) error {
	sees, err := catalog.SeesProcesses(ctx, c.db)
	if err != nil {
		return err
	}
	if sees {
		c.ok("PROCESS", "table ids, connections and foreign keys from any schema are visible")
		return nil
	}
	c.bad(Error, "PROCESS",
		"table ids, connections and foreign keys from schemas without rights are not visible: nothing is deleted, "+
			"because a table would not be told from another that takes its name, and a statement whose client "+
			"vanished is not settled",
		c.grant("PROCESS ON *.*"))
	return nil
}

func (c *check) replication(ctx context.Context) error {
	right, query := "REPLICATION CLIENT", probeReplicaMySQL
	if c.server.MariaDB {
		right, query = "REPLICA MONITOR", probeReplicaMariaDB
	}
	running, err := c.answers(ctx, query)
	if err == nil && running {
		c.bad(Warning, "replica", "this server applies another server's changes",
			"point --backend at the primary; ttl_allow_replica = ON is for circular pairs and migrations")
	}
	return c.tried(err, Error, "replication", "replication state is visible",
		"the account may not see whether this server is a replica", c.grant(right+" ON *.*"))
}

func (c *check) binlogComment(ctx context.Context) error {
	if c.server.MariaDB {
		return nil
	}
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.ExecContext(ctx, probeRowsQuery)
	return c.tried(err, Warning, "audit comment", "the binary log will show which policy deleted a row",
		"the binary log will not show which policy deleted a row", c.grant("SESSION_VARIABLES_ADMIN ON *.*"))
}

// watched tries to read what the server counts.
func (c *check) watched(ctx context.Context) error {
	const name = "performance_schema"
	all := true
	for _, right := range catalog.Watched(c.server.MariaDB) {
		_, table, _ := strings.Cut(right.SQL, " ON ")
		_, err := c.answers(ctx, probeTable+table+" WHERE FALSE")
		switch {
		case err == nil:
		case refused(err, ddl.CodeTableDenied):
			all = false
			c.bad(Warning, name, "the account may not see "+right.Why, c.toAccount(right.SQL))
		default:
			return fmt.Errorf("check %s: %w", table, err)
		}
	}
	if all {
		c.ok(name, "what the server counts is visible")
	}
	return nil
}

// excess warns about rights the account should not have.
func (c *check) excess(ctx context.Context) error {
	grants, err := c.texts(ctx, `SHOW GRANTS`)
	if err != nil {
		return fmt.Errorf("read grants: %w", err)
	}

	var found []string
	for _, line := range grants {
		for _, right := range []string{"ALL PRIVILEGES ON *.*", "SUPER", "CONNECTION_ADMIN", "CONNECTION ADMIN"} {
			if strings.Contains(line, right) {
				found = append(found, right)
			}
		}
	}

	if len(found) > 0 {
		c.bad(Warning, "excess rights", "the account holds "+strings.Join(found, ", "),
			"a service account needs none of these: ttlproxy init prints what it needs")
		return nil
	}

	c.ok("excess rights", "none")
	return nil
}

// tableRights tries the DELETE of each policy, without running it.
func (c *check) tableRights(ctx context.Context) error {
	if c.store == nil || c.untried("tables") {
		return nil
	}

	all, err := c.store.Policies(ctx)
	if err != nil {
		return err
	}

	allowed := 0
	lacking := make(map[string][]catalog.Table) // by schema
	asked := make(map[string]int)
	for _, p := range all {
		asked[p.Table.Schema]++
		_, err := c.answers(ctx, fmt.Sprintf(probeDelete, p.Table, ddl.Quote(p.Rule.Column)))
		switch {
		case err == nil:
			allowed++
		case refused(err, ddl.CodeTableDenied, ddl.CodeColumnDenied):
			lacking[p.Table.Schema] = append(lacking[p.Table.Schema], p.Table)
		default:
			c.bad(Warning, "table "+p.Table.String(), err.Error(), "")
		}
	}

	for _, schema := range slices.Sorted(maps.Keys(lacking)) {
		c.mayNotDelete(schema, lacking[schema], asked[schema])
	}
	if allowed == len(all) {
		c.ok("tables", "those with a policy may be deleted from: %d", allowed)
	}

	return nil
}

// mayNotDelete reports tables of a schema, as one if they are all that have a policy there.
func (c *check) mayNotDelete(schema string, lacking []catalog.Table, asked int) {
	if n := len(lacking); n > 1 && n == asked {
		c.bad(Error, "schema "+ddl.Quote(schema),
			fmt.Sprintf("the account may not delete from any of its %d tables with a policy", n),
			c.grant("SELECT, DELETE ON "+catalog.Pattern(schema)+".*"))
		return
	}
	for _, t := range lacking {
		c.bad(Error, "table "+t.String(), "the account may not delete from it",
			c.grant("SELECT, DELETE ON "+t.String()))
	}
}

// clock compares the server's clock with ours. Only the server's decides, but a wrong one deletes
// too early or too late.
func (c *check) clock(ctx context.Context) error {
	var there time.Time
	before := time.Now()
	if err := c.db.QueryRowContext(ctx, selectClock).Scan(&there); err != nil {
		return fmt.Errorf("read clock: %w", err)
	}
	if off := there.Sub(before).Round(time.Second); off.Abs() > 10*time.Second {
		c.bad(Warning, "clock", fmt.Sprintf("the server's clock is %s off this machine's", ddl.FormatDuration(off)),
			"the server's clock decides what has expired: is it right?")
		return nil
	}
	c.ok("clock", "agrees with this machine's")
	return nil
}
