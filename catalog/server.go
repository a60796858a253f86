package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// Server is what we know about a backend server.
type Server struct {
	MariaDB bool
	Version string
	UUID    string // server_uuid, or server_uid on MariaDB
	Host    string
	Port    int
	Cluster string    // wsrep cluster or replication group; empty for none
	Boot    time.Time // when it started, to the second
	// LowerNames says that table names are compared without case and stored in lower case.
	LowerNames bool
	// letters are those that it then stores as others.
	letters map[rune]rune
}

// ConvertsPartitions reports whether the server can make a table of a partition under a lock.
func (s Server) ConvertsPartitions() bool {
	var major, minor int
	_, err := fmt.Sscanf(s.Version, "%d.%d", &major, &minor)
	return !s.MariaDB || err == nil && (major > 10 || major == 10 && minor >= 7)
}

// Key names the server in per-server facts: a copy on another host or port gets another key.
func (s Server) Key() string {
	return fmt.Sprintf("%s@%s:%d", s.UUID, s.Host, s.Port)
}

// is reports whether key names this server. A server that was known only as the one in front of a
// client has no UUID in its key.
func (s Server) is(key string) bool {
	return key == s.Key() || key == Server{Host: s.Host, Port: s.Port}.Key()
}

// keySQL returns the SQL that gives Key on the server it runs on, so that a connection which has
// failed over names the right one.
func (s Server) keySQL() string {
	uuid := "@@server_uuid"
	if s.MariaDB {
		uuid = "@@server_uid"
	}
	if s.UUID == "" { // MariaDB before 10.10
		uuid = "''"
	}
	return "CONCAT(" + uuid + ", '@', @@hostname, ':', @@port)"
}

// ServerKey returns the expression that is Server.Key on whichever server it runs.
func (s *Store) ServerKey() string { return s.sql("{server-key}") }

// ReadServer finds out which server this is. What a server does not know stays empty.
func ReadServer(ctx context.Context, db execer) (Server, error) {
	var v Server
	var lower int
	if err := db.QueryRowContext(ctx, selectServer).Scan(&v.Version, &v.Host, &v.Port, &lower); err != nil {
		return v, fmt.Errorf("read server: %w", err)
	}

	v.MariaDB = strings.Contains(v.Version, "MariaDB")
	if v.LowerNames = lower != 0; v.LowerNames {
		var err error
		if v.letters, err = readLetters(ctx, db); err != nil {
			return v, err
		}
	}

	vars, err := readVariables(ctx, db, selectServerVariables)
	if err != nil {
		return v, err
	}

	v.UUID = vars["server_uuid"]
	if v.MariaDB {
		v.UUID = vars["server_uid"]
	}

	v.Cluster = vars["group_replication_group_name"]
	status, err := readVariables(ctx, db, selectServerStatus)
	if err != nil {
		return v, err
	}
	if id := status["wsrep_cluster_state_uuid"]; id != "" && !strings.HasPrefix(id, "00000000-") {
		v.Cluster = id
	}
	if err := db.QueryRowContext(ctx, selectBoot, status["uptime"]).Scan(&v.Boot); err != nil {
		return v, fmt.Errorf("read server start: %w", err)
	}

	return v, nil
}

// ReadOnly reports whether the server is read-only for all who are not exempt, as our account may
// be.
func (s *Store) ReadOnly(ctx context.Context) (on bool, err error) {
	if err := s.db.QueryRowContext(ctx, selectReadOnly).Scan(&on); err != nil {
		return false, fmt.Errorf("ask whether the server is read-only: %w", err)
	}
	return on, nil
}

// readVariables returns the rows of a SHOW statement by lower-case name.
func readVariables(ctx context.Context, db execer, query string) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("read variables: %w", err)
	}
	out := map[string]string{}
	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var name, value string
		err := r.Scan(&name, &value)
		out[strings.ToLower(name)] = value
		return struct{}{}, err
	})
	return out, err
}
