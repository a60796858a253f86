package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// innodbName returns, as SQL, what InnoDB calls a table or one of its partitions: the ordinary name
// on MySQL, a file name on MariaDB.
func (s *Store) innodbName(t Table, partition string) string {
	if !s.Server().MariaDB {
		name := t.Schema + "/" + t.Name
		if partition != "" {
			name += "#p#" + strings.ToLower(partition)
		}
		return tables.Literal(name)
	}

	file := func(name string) string { return fmt.Sprintf(fileNameMariaDB, tables.Literal(name)) }
	name := "CONCAT(" + file(t.Schema) + ", '/', " + file(t.Name)
	if partition != "" {
		name += ", '#P#', " + file(partition)
	}

	return name + ")"
}

// SizeOf returns, as SQL, how many bytes of files a partition has; 0 if that cannot be seen.
func (s *Store) SizeOf(t Table, partition string) string {
	size := sizeNowMySQL
	if s.Server().MariaDB {
		size = sizeNowMariaDB
	}
	return fmt.Sprintf(size, s.innodbName(t, partition))
}

// innodbIDs returns InnoDB's ids by what it calls the partition, in lower case; "" is a table
// without partitions. There are several where it has subpartitions; none in a tablespace that tables
// share on MySQL. Without PROCESS it returns nil.
func (s *Store) innodbIDs(ctx context.Context, conn *sql.Conn, t Table) (map[string][]uint64, error) {
	name := s.innodbName(t, "")
	query := fmt.Sprintf(selectIDsMySQL, name, "CONCAT("+name+", '#p#')", "CONCAT("+name+", '#p$')")
	if s.Server().MariaDB {
		query = fmt.Sprintf(selectIDsMariaDB, name)
	}

	rows, err := conn.QueryContext(ctx, query)
	if isServerError(err, ddl.CodeRightNeeded) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	ids := map[string][]uint64{}
	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var id uint64
		var part string
		err := r.Scan(&id, &part)
		part, _, _ = strings.Cut(strings.ToLower(part), "#sp#")
		ids[part] = append(ids[part], id)
		return struct{}{}, err
	})
	if isServerError(err, ddl.CodeRightNeeded) {
		return nil, nil
	}

	return ids, err
}

// addPartitions adds the partitions of a table to what is seen of it. One that InnoDB has under its
// bare name has none, and is not asked for them.
func (s *Store) addPartitions(
	ctx context.Context, conn *sql.Conn, t Table, ids map[string][]uint64, seen *tables.Seen,
) error {
	if len(ids[""]) > 0 {
		return nil
	}

	file := "partition_name"
	if s.Server().MariaDB {
		file = fmt.Sprintf(fileNameMariaDB, file)
	}

	rows, err := conn.QueryContext(ctx, fmt.Sprintf(selectPartitions, file), t.Schema, t.Name)
	if err != nil {
		return err
	}

	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var name, file string
		var created sql.Null[time.Time]
		err := r.Scan(&name, &file, &created)
		seen.Add(name, created.V, ids[strings.ToLower(file)])
		return struct{}{}, err
	})

	return err
}

// IdentityCondition returns the condition that a table, or a partition of it, still is the one that
// was remembered: it has InnoDB's id, and the table was not altered since. It belongs inside the
// DELETE: there the metadata lock is held already, and nothing can come between check and deletion.
//
// The id tells it from whatever takes its name; nobody can forge it, and it is never given twice.
// The time reveals changes that keep the id, such as columns that trade their names. ok is false if
// the id is not known: the time alone proves nothing, since EXCHANGE PARTITION keeps it, tables of
// one second share it, and SET timestamp forges it.
func (s *Store) IdentityCondition(t Table, created time.Time, i tables.Identity) (condition string, ok bool) {
	if i.TableID == 0 {
		return "", false
	}
	unaltered := fmt.Sprintf(unalteredCondition, tables.Literal(t.Schema), tables.Literal(t.Name),
		created.UTC().Format(time.DateTime))
	return unaltered + " AND " + s.idCondition(s.innodbName(t, i.Partition), i), true
}

func (s *Store) idCondition(name string, i tables.Identity) string {
	mariadb := s.Server().MariaDB
	switch {
	case mariadb && i.Partition == "":
		return fmt.Sprintf(tableIDMariaDB, i.TableID, name)
	case mariadb:
		return fmt.Sprintf(partitionIDMariaDB, i.TableID, name, "CONCAT("+name+", '#SP#')")
	case i.Partition == "":
		return fmt.Sprintf(tableIDMySQL, i.TableID, name)
	default:
		return fmt.Sprintf(partitionIDMySQL, i.TableID, name, "CONCAT("+name+", '#sp#')", "CONCAT("+name+", '#sp$')")
	}
}
