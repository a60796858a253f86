package proxy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// What a server is asked. SHOW is answered even by a member that is not in its cluster; variables
// that a server does not have are missing from the answer.
const (
	askVariables = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'innodb_read_only', " +
		"'connect_timeout', 'wsrep_on', 'wsrep_reject_queries', 'group_replication_group_name')"
	askGalera = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status', " +
		"'wsrep_local_state', 'wsrep_local_state_comment')"
	askGroup = "SELECT member_state, COUNT(*), COALESCE(SUM(member_id = @@server_uuid), 0) " +
		"FROM performance_schema.replication_group_members GROUP BY member_state"
)

// facts are what a server says about itself.
type facts struct {
	variables map[string]string
	galera    map[string]string // nil outside a cluster
	group     group
}

// group is Group Replication as one member sees it.
type group struct {
	own     string // its own state, or nothing outside a group
	members int
	lost    int // members that it cannot reach
}

// ask logs in and asks the backend whether it should have sessions.
func (b *Backends) ask(ctx context.Context, k *backend, config BackendsConfig) (Health, error) {
	c := mysql.NewConfig()
	c.User = config.CheckUser
	b.toward(c, config.CheckPassword, k.address)

	connector, err := mysql.NewConnector(c)
	if err != nil {
		return Health{}, err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	f, err := readFacts(ctx, db)
	switch {
	case err == nil:
		k.timeout.Store(int64(f.connectTimeout()))
		return f.health(), nil
	case wellDespite(err):
		return Health{State: Unknown, Reason: "cannot ask: " + err.Error()}, nil
	default:
		return Health{}, err
	}
}

// readFacts asks only what a server of that kind can answer.
func readFacts(ctx context.Context, db *sql.DB) (f facts, err error) {
	if f.variables, err = readPairs(ctx, db, askVariables); err != nil {
		return f, err
	}
	if isOn(f.variables["wsrep_on"]) {
		if f.galera, err = readPairs(ctx, db, askGalera); err != nil {
			return f, err
		}
	}
	if f.variables["group_replication_group_name"] != "" {
		f.group, err = readGroup(ctx, db)
	}
	return f, err
}

// readPairs reads names and values.
func readPairs(ctx context.Context, db *sql.DB, query string) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	pairs := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		pairs[name] = value
	}
	return pairs, rows.Err()
}

// readGroup reads how the group is. An account that may not see it learns nothing, as if there were
// none.
func readGroup(ctx context.Context, db *sql.DB) (g group, err error) {
	rows, err := db.QueryContext(ctx, askGroup)
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && e.Number == ddl.CodeTableDenied {
		return group{}, nil
	}
	if err != nil {
		return group{}, err
	}
	defer rows.Close()

	for rows.Next() {
		var state string
		var members, own int
		if err := rows.Scan(&state, &members, &own); err != nil {
			return group{}, err
		}

		g.members += members
		if own > 0 {
			g.own = state
		}
		if state == "UNREACHABLE" {
			g.lost += members
		}
	}
	return g, rows.Err()
}

// isOn reports whether a variable is on, in whichever words.
func isOn(value string) bool { return value != "" && value != "OFF" && value != "0" }

// connectTimeout is how long the server waits for a client that logs in.
func (f facts) connectTimeout() time.Duration {
	seconds, _ := strconv.Atoi(f.variables["connect_timeout"])
	return time.Duration(seconds) * time.Second
}

// health is what follows from the facts.
func (f facts) health() Health {
	reject := f.variables["wsrep_reject_queries"]
	in := f.galera != nil
	switch g := f.group; {
	case in && reject != "" && reject != "NONE":
		return Health{State: Down, Reason: "@@wsrep_reject_queries is " + reject}
	case in && f.galera["wsrep_cluster_status"] != "Primary":
		return Health{State: Down, Reason: "wsrep_cluster_status is " + f.galera["wsrep_cluster_status"]}
	case in && f.galera["wsrep_ready"] != "ON":
		return Health{State: Down, Reason: "wsrep_ready is " + f.galera["wsrep_ready"]}
	case isOn(f.variables["innodb_read_only"]):
		return Health{State: ReadOnly, Reason: "@@innodb_read_only is on"}
	case isOn(f.variables["read_only"]):
		return Health{State: ReadOnly, Reason: "@@read_only is on"}
	case g.members > 1 && g.own != "ONLINE":
		return Health{State: ReadOnly, Reason: "its state in the group is " + g.own}
	case g.lost > 0 && 2*g.lost >= g.members:
		return Health{State: ReadOnly, Reason: fmt.Sprintf("%d of %d members of the group cannot be reached, which "+
			"leaves no majority: whatever writes waits", g.lost, g.members)}
	case in && f.galera["wsrep_local_state"] != galeraSynced:
		return Health{State: Desynced, Reason: "wsrep_local_state is " + f.galera["wsrep_local_state_comment"]}
	default:
		return Health{State: Writable}
	}
}

// galeraSynced is wsrep_local_state of a member that is in step with the others.
const galeraSynced = "4"

// wellDespite reports whether an error says more about the account that asks than about the server:
// one without a right, or for which there is no room, must not make a healthy server look dead. But
// a node that is not in its cluster, is shutting down or does not let us in is of no use.
func wellDespite(err error) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return false
	}
	switch e.Number {
	case ddl.CodeNotInCluster, ddl.CodeShutdown, ddl.CodeHostBlocked, ddl.CodeHostRefused:
		return false
	default:
		return true
	}
}
