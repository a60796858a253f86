package checkup

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
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
	findings []Finding
}

// Run checks everything that has to be right for rows to be deleted: the server, its settings, the
// account's rights, each of them tried, and the catalog. It changes nothing except for a table that
// it creates and drops in the catalog's schema.
func Run(ctx context.Context, db *sql.DB, cfg catalog.Config) ([]Finding, error) {
	if cfg.Schema == "" {
		cfg.Schema = catalog.DefaultSchema
	}

	server, err := catalog.ReadServer(ctx, db)
	if err != nil {
		return nil, err
	}

	c := &check{db: db, cfg: cfg, server: server}
	for _, look := range []func(context.Context) error{
		c.version, c.catalog, c.ownSchema, c.process, c.replication, c.binlogComment, c.watched, c.excess,
		c.tableRights, c.binlogFormat, c.logWriters, c.readOnly, c.cluster, c.names, c.zone, c.clock,
		c.boundAccounts, c.lineage, c.policies,
	} {
		if err := look(ctx); err != nil {
			return c.findings, err
		}
	}

	return c.findings, nil
}

func (c *check) ok(name, format string, args ...any) {
	c.findings = append(c.findings, Finding{Level: OK, Name: name, Text: fmt.Sprintf(format, args...)})
}

func (c *check) bad(level Level, name, text, advice string) {
	c.findings = append(c.findings, Finding{Level: level, Name: name, Text: text, Advice: advice})
}

// tried reports a right by what the server said when it was used. An answer that is not about
// rights is an error.
func (c *check) tried(err error, level Level, name, can, cannot, grant string) error {
	switch {
	case err == nil:
		c.ok(name, "%s", can)
	case refused(err, ddl.CodeSchemaDenied, ddl.CodeTableDenied, ddl.CodeColumnDenied, ddl.CodeRightNeeded):
		c.bad(level, name, cannot, grant)
	default:
		return fmt.Errorf("check %s: %w", name, err)
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

// ownSchema tries what a migration and the engine do, on a table whose name nobody else can have.
func (c *check) ownSchema(ctx context.Context) error {
	name := catalog.ProbePrefix + strings.ToLower(rand.Text())
	probe := ddl.QuoteTable(c.cfg.Schema, name)
	view := ddl.QuoteTable(c.cfg.Schema, name+"_view")

	var err error
	steps := append([]string{}, probeSchema...)

	if c.store == nil {
		steps = nil // the schema may not exist, and this is not the time to create it
		_, err = c.db.ExecContext(ctx, probeTable+probe)
		if refused(err, ddl.CodeNoTable, ddl.CodeNoDatabase, ddl.CodeBadTable) {
			err = nil
		}
	}

	for _, q := range steps {
		if _, err = c.db.ExecContext(ctx,
			strings.NewReplacer("{probe}", probe, "{view}", view).Replace(q)); err != nil {
			break
		}
	}

	return c.tried(err, Error, "own schema", "the account has the rights it needs in it",
		fmt.Sprintf("the account lacks a right in schema %s: %v", c.cfg.Schema, err), "ttlproxy init prints the GRANT")
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
		"GRANT PROCESS ON *.*")
	return nil
}

func (c *check) replication(ctx context.Context) error {
	grant, query := "GRANT REPLICATION CLIENT ON *.*", probeReplicaMySQL
	if c.server.MariaDB {
		grant, query = "GRANT REPLICA MONITOR ON *.*", probeReplicaMariaDB
	}
	running, err := c.answers(ctx, query)
	if err == nil && running {
		c.bad(Warning, "replica", "this server applies another server's changes",
			"point --backend at the primary; ttl_allow_replica = ON is for circular pairs and migrations")
	}
	return c.tried(err, Error, "replication", "replication state is visible",
		"the account may not see whether this server is a replica", grant)
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
		"the binary log will not show which policy deleted a row", "GRANT SESSION_VARIABLES_ADMIN ON *.*")
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
			c.bad(Warning, name, "the account may not see "+right.Why, right.SQL)
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
	if c.store == nil {
		return nil
	}

	all, err := c.store.Policies(ctx)
	if err != nil {
		return err
	}

	allowed := 0
	for _, p := range all {
		_, err := c.answers(ctx, fmt.Sprintf(probeDelete, p.Table, ddl.Quote(p.Rule.Column)))
		switch {
		case err == nil:
			allowed++
		case refused(err, ddl.CodeTableDenied, ddl.CodeColumnDenied):
			c.bad(Error, "table "+p.Table.String(), "the account may not delete from it",
				fmt.Sprintf("GRANT SELECT, DELETE ON %s", p.Table))
		default:
			c.bad(Warning, "table "+p.Table.String(), err.Error(), "")
		}
	}

	if allowed == len(all) {
		c.ok("tables", "those with a policy may be deleted from: %d", allowed)
	}

	return nil
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
