package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// innodbName returns, as SQL, what InnoDB calls a table or one of its partitions: on MySQL as people do, on MariaDB as it
// calls files.
func (s *Store) innodbName(t Table, partition string) string {
	if !s.Server().MariaDB {
		name := t.Schema + "/" + t.Name
		if partition != "" {
			name += "#p#" + strings.ToLower(partition)
		}
		return literal(name)
	}
	file := func(name string) string { return fmt.Sprintf(fileNameMariaDB, literal(name)) }
	name := "CONCAT(" + file(t.Schema) + ", '/', " + file(t.Name)
	if partition != "" {
		name += ", '#P#', " + file(partition)
	}
	return name + ")"
}

// innodbIDs returns InnoDB's ids by what it calls the partition, in lower case; "" is a table without partitions. Of
// subpartitions the highest counts. Without PROCESS there are none, nor in a tablespace that tables share on MySQL.
func (s *Store) innodbIDs(ctx context.Context, conn *sql.Conn, t Table) (map[string]uint64, error) {
	name := s.innodbName(t, "")
	query := fmt.Sprintf(selectIDsMySQL, name, "CONCAT("+name+", '#p#')", "CONCAT("+name+", '#p$')")
	if s.Server().MariaDB {
		query = fmt.Sprintf(selectIDsMariaDB, name)
	}
	rows, err := conn.QueryContext(ctx, query)
	if isServerError(err, errSpecificAccess) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids := map[string]uint64{}
	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var id uint64
		var part string
		err := r.Scan(&id, &part)
		part, _, _ = strings.Cut(strings.ToLower(part), "#sp#")
		ids[part] = max(ids[part], id)
		return struct{}{}, err
	})
	if isServerError(err, errSpecificAccess) {
		return nil, nil
	}
	return ids, err
}

// partitions returns the partitions of a table, with their ids.
func (s *Store) partitions(ctx context.Context, conn *sql.Conn, t Table, ids map[string]uint64) ([]Identity, error) {
	file := "partition_name"
	if s.Server().MariaDB {
		file = fmt.Sprintf(fileNameMariaDB, file)
	}
	rows, err := conn.QueryContext(ctx, fmt.Sprintf(selectPartitions, file), t.Schema, t.Name)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(r *sql.Rows) (i Identity, err error) {
		var created sql.Null[time.Time]
		var name string
		err = r.Scan(&i.Partition, &name, &created)
		i.CreateTime, i.TableID = created.V, ids[strings.ToLower(name)]
		return i, err
	})
}

// TableIDCondition returns the condition that the table, or partition, still has InnoDB's id. It costs more than
// IdentityCondition, and tells apart what was created within one second. ok is false where the id is not known.
func (s *Store) TableIDCondition(t Table, i Identity) (condition string, ok bool) {
	if i.TableID == 0 {
		return "", false
	}
	name := s.innodbName(t, i.Partition)
	if s.Server().MariaDB {
		return fmt.Sprintf(idConditionMariaDB, i.TableID, name, "CONCAT("+name+", '#SP#')"), true
	}
	return fmt.Sprintf(idConditionMySQL, i.TableID, name, "CONCAT("+name+", '#sp#')", "CONCAT("+name+", '#sp$')"), true
}
