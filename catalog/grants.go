package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Grant is a statement that gives the service account one right, and what it is for.
type Grant struct {
	SQL string
	Why string
}

// ServiceAccount is the account that maintains the catalog and deletes rows.
type ServiceAccount struct {
	User     string
	Host     string // '%' when empty
	Password string // a reminder to choose one when empty
	Catalog  string // schema of the catalog; DefaultSchema when empty
	// Schemas are those whose tables may have a TTL; none for all.
	Schemas []string
}

// Grants returns the statements that create the account with the fewest rights that suffice: never
// SUPER, never CONNECTION_ADMIN.
func (a ServiceAccount) Grants(mariadb bool) []Grant {
	account := a.quoted()
	to := " TO " + account
	out := []Grant{
		{
			"CREATE USER IF NOT EXISTS " + account + " IDENTIFIED BY " +
				tables.Literal(cmp.Or(a.Password, "choose a password")),
			"the account; its password goes into --engine-password-file",
		},
		{
			"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, REFERENCES, CREATE VIEW, SHOW VIEW, " +
				"LOCK TABLES, EXECUTE, EVENT ON " +
				Pattern(cmp.Or(a.Catalog, DefaultSchema)) + ".*" + to,
			"its own schema: policies, jobs and history; EXECUTE and EVENT show whether somebody else keeps " +
				"something in it",
		},
	}

	for _, on := range scopes(a.Schemas) {
		out = append(out, Grant{"GRANT SELECT, DELETE ON " + on + to, "to find and delete expired rows"})
	}

	out = append(out, Grant{
		"GRANT PROCESS ON *.*" + to,
		"InnoDB's table ids, which tell a table from its replacement and without which nothing is deleted, foreign " +
			"keys from any schema, and connections that ended in the middle of a statement",
	})
	if mariadb {
		out = append(out, Grant{
			"GRANT REPLICA MONITOR ON *.*" + to,
			"whether this server is a replica, which must not delete by itself",
		})
	} else {
		out = append(out, Grant{
			"GRANT REPLICATION CLIENT ON *.*" + to,
			"whether this server is a replica, which must not delete by itself",
		}, Grant{
			"GRANT SESSION_VARIABLES_ADMIN ON *.*" + to,
			"binlog_rows_query_log_events, so that the binary log shows which policy deleted a row",
		})
	}

	for _, r := range Watched(mariadb) {
		out = append(out, Grant{r.SQL + to, r.Why})
	}
	return out
}

// Watched are the rights to read what the server counts, without an account: where one is missing, less is seen.
func Watched(mariadb bool) []Grant {
	const read = "GRANT SELECT ON performance_schema."
	all := []Grant{{
		read + "events_statements_summary_by_account_by_event_name",
		"how long other accounts' writes take, so that deletion slows down before they suffer",
	}}
	if mariadb {
		return all
	}
	return append(all,
		Grant{
			read + "events_transactions_summary_by_account_by_event_name",
			"how much other accounts do, so that deletion leaves room for them",
		},
		Grant{
			read + "data_locks",
			"by which number InnoDB knows a table, which shows that an IMPORT TABLESPACE put other rows into it",
		},
		Grant{
			read + "replication_group_members",
			"whether a member of Group Replication still sees the majority, which backend-check asks",
		},
		Grant{
			read + "replication_group_member_stats",
			"how far members of Group Replication are behind, so that deletion slows down before all writers wait",
		},
	)
}

// PartitionGrants returns those by which partitions go whole (TTL_PARTITION), besides Grants.
func (a ServiceAccount) PartitionGrants(mariadb bool) (out []Grant) {
	for _, on := range scopes(a.Schemas) {
		out = append(out, Grant{
			"GRANT ALTER, CREATE, DROP, INSERT, LOCK TABLES, TRIGGER ON " + on + " TO " + a.quoted(),
			"only where partitions go whole (TTL_PARTITION); CREATE and INSERT for 'EXCHANGE', and TRIGGER shows " +
				"whether a trigger would have to fire",
		})
	}
	if !mariadb {
		out = append(out, Grant{
			"GRANT SELECT ON performance_schema.metadata_locks TO " + a.quoted(),
			"the same: who uses a table, so that nobody has to wait behind a partition that would wait in vain",
		})
	}
	return out
}

func (a ServiceAccount) quoted() string {
	return tables.Literal(a.User) + "@" + tables.Literal(cmp.Or(a.Host, "%"))
}

func scopes(schemas []string) []string {
	if len(schemas) == 0 {
		return []string{"*.*"}
	}
	var out []string
	for _, s := range schemas {
		out = append(out, Pattern(s)+".*")
	}
	return out
}

// Pattern quotes a schema for GRANT, where % and _ are wildcards.
func Pattern(schema string) string {
	return ddl.Quote(strings.NewReplacer("_", `\_`, "%", `\%`).Replace(schema))
}

// GrantScript returns the statements with their reasons, ready to be pasted into a client.
func GrantScript(grants []Grant) string {
	var b strings.Builder
	for _, g := range grants {
		fmt.Fprintf(&b, "-- %s\n%s;\n", g.Why, g.SQL)
	}
	return b.String()
}
