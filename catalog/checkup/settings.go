package checkup

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

func (c *check) binlogFormat(ctx context.Context) error {
	on, err := c.variable(ctx, "log_bin")
	if err != nil {
		return err
	}

	format, err := c.variable(ctx, "binlog_format")
	switch {
	case err != nil:
		return err
	case on != "ON":
		c.ok("binlog", "off")
	case strings.EqualFold(format, "STATEMENT"):
		c.bad(Error, "binlog", "binlog_format is STATEMENT, which cannot carry deletes at READ COMMITTED",
			"SET GLOBAL binlog_format = 'ROW'")
	default:
		c.ok("binlog", "binlog_format is %s", cmp.Or(format, "ROW"))
	}

	return nil
}

// logWriters warns where those who commit write the redo log themselves: beside deletion, all of them may
// have to wait for one that was interrupted (docs/explanation/throttle.md). Other servers have no such
// variable.
func (c *check) logWriters(ctx context.Context) error {
	value, err := c.variable(ctx, "innodb_log_writer_threads")
	switch {
	case err != nil || value == "":
		return err
	case value == "OFF":
		c.bad(Warning, "commits", "innodb_log_writer_threads is OFF: beside deletion, commits may stand still for a "+
			"tenth of a second", "SET PERSIST innodb_log_writer_threads = ON makes that rare, at once")
	default:
		c.ok("commits", "innodb_log_writer_threads is %s", value)
	}
	return nil
}

func (c *check) readOnly(ctx context.Context) error {
	for _, name := range []string{"super_read_only", "read_only"} {
		value, err := c.variable(ctx, name)
		if err != nil {
			return err
		}
		if value != "" && value != "OFF" && value != "0" {
			c.still = name + " is " + value
			c.bad(Error, "read only", c.still,
				"rows are deleted as soon as it is OFF; point --backend at the primary if this server is a replica")
			return nil
		}
	}
	c.ok("read only", "off")
	return nil
}

func (c *check) cluster(ctx context.Context) error {
	status, err := c.variables(ctx,
		`SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', 'wsrep_cluster_size')`)
	if err != nil || status["wsrep_cluster_size"] == "" || status["wsrep_cluster_size"] == "0" {
		return err
	}
	if status["wsrep_cluster_status"] != "Primary" {
		c.still = "this member is " + status["wsrep_cluster_status"]
		c.bad(Error, "cluster", c.still, "the cluster has lost its quorum")
		return nil
	}
	c.ok("cluster", "%s members, primary component", status["wsrep_cluster_size"])
	return nil
}

func (c *check) names(ctx context.Context) error {
	value, err := c.variable(ctx, "lower_case_table_names")
	if err != nil {
		return err
	}
	if value == "2" {
		c.bad(Warning, "table names", "lower_case_table_names is 2: names keep their case and are compared without",
			"write table names in one case")
		return nil
	}
	c.ok("table names", "lower_case_table_names is %s", value)
	return nil
}

// zone checks what the server's time zone says about DATETIME values. Cutoffs are computed here,
// not there, so the server's zone tables matter only to its own functions.
func (c *check) zone(ctx context.Context) error {
	zone, err := c.variable(ctx, "time_zone")
	if err != nil {
		return err
	}

	system, err := c.variable(ctx, "system_time_zone")
	if err != nil {
		return err
	}

	switch {
	case zone == "SYSTEM" && system != "UTC":
		c.bad(Warning, "time zone",
			fmt.Sprintf("time_zone is SYSTEM, which is %q here; an abbreviation may stand for several zones", system),
			"SET GLOBAL ttl_default_time_zone = 'Europe/Berlin', or TTL_TIME_ZONE='…' on each table with DATETIME "+
				"or DATE")
	case zone == "SYSTEM":
		c.ok("time zone", "SYSTEM, which is UTC")
	default:
		c.ok("time zone", "%s", zone)
	}

	var loaded bool
	if err := c.db.QueryRowContext(ctx, probeZoneTables).Scan(&loaded); err != nil {
		return fmt.Errorf("probe time zone tables: %w", err)
	}
	if !loaded {
		c.ok("time zone tables", "not loaded; ttlproxy does not need them, only the server's own CONVERT_TZ does")
		return nil
	}

	c.ok("time zone tables", "loaded")
	return nil
}

// boundAccounts warns about accounts for which a proxy on another host cannot log in.
func (c *check) boundAccounts(ctx context.Context) error {
	const name, shown = "client hosts", 5
	accounts, err := c.texts(ctx, selectBoundAccounts)
	if refused(err, ddl.CodeSchemaDenied, ddl.CodeTableDenied, ddl.CodeColumnDenied) {
		c.ok(name,
			"accounts cannot be seen from here; an administrator can find those bound to clients' hosts, which do "+
				"not work through a proxy as they are, with: %s", selectBoundAccounts)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at accounts: %w", err)
	}
	if len(accounts) == 0 {
		c.ok(name, "no account is bound to a client's host")
		return nil
	}

	list := strings.Join(accounts[:min(len(accounts), shown)], ", ")
	if len(accounts) > shown {
		list += fmt.Sprintf(" and %d more", len(accounts)-shown)
	}

	c.bad(Warning, name, "these accounts may log in from certain hosts only, and the server sees the proxy's: "+list,
		"send PROXY headers (--backend HOST:PORT?proxy-protocol=v2, for MariaDB and Percona), or make the accounts "+
			"for the proxy's host, too")
	return nil
}

func (c *check) lineage(ctx context.Context) error {
	if c.store == nil {
		return nil
	}

	g, err := c.store.GlobalPause(ctx)
	if err != nil {
		return err
	}

	l, err := c.store.Lineage(ctx)
	switch {
	case err != nil:
		return err
	case g.Held:
		c.bad(Error, "lineage", "every policy is held: "+g.HeldReason, "look at SHOW TTL STATUS")
	case !l.Known:
		c.bad(Error, "lineage", "the catalog has not lived on "+l.Server.Key()+" before",
			"if this is the right server: TRUST TTL SERVER")
	case g.Paused:
		c.bad(Warning, "lineage", fmt.Sprintf("everything is paused by %s: %s", g.By, g.Reason), "RESUME TTL")
	default:
		c.ok("lineage", "generation %d, last at work %s ago", l.Generation, l.Age.Round(1e9))
	}

	return nil
}

func (c *check) policies(ctx context.Context) error {
	if c.store == nil {
		return nil
	}

	all, err := c.store.Policies(ctx)
	if err != nil {
		return err
	}

	armed := 0
	for _, p := range all {
		switch p.State {
		case catalog.PolicyArmed:
			armed++
			if err := c.index(ctx, p); err != nil {
				return err
			}
		case catalog.PolicyDisarmed:
			c.bad(Warning, "policy "+p.Table.String(), "disarmed: "+p.Reason,
				"look at the table, then ALTER TABLE … TTL_ENABLE='ON'")
		case catalog.PolicyStaged, catalog.PolicyStopped, catalog.PolicyDormant:
		}
	}

	c.ok("policies", "armed: %d of %d", armed, len(all))
	return nil
}

// seconds is up to which interval between jobs a table without an index on time is named.
const seconds = 10 * time.Second

// index finds out whether a table whose jobs begin every few seconds has an index to go by.
func (c *check) index(ctx context.Context, p catalog.Policy) error {
	if t := p.Terms.Timing; t.Cron != nil || t.Interval > seconds {
		return nil
	}

	var rows sql.Null[int64]
	var led bool
	if err := c.db.QueryRowContext(ctx, selectLedIndex, p.Table.Schema, p.Table.Name, p.Rule.Column, p.Table.Schema,
		p.Table.Name).Scan(&rows, &led); err != nil {
		return fmt.Errorf("look for an index of %s: %w", p.Table, err)
	}
	if rows.Valid && !led {
		c.bad(Warning, "policy "+p.Table.String(), fmt.Sprintf("a job every %s reads all of about %d rows: no index "+
			"begins with %s", ddl.FormatDuration(p.Terms.Timing.Interval), rows.V, p.Rule.Column),
			"ALTER TABLE "+p.Table.String()+" ADD INDEX ("+ddl.Quote(p.Rule.Column)+")")
	}

	return nil
}
