package report

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Partition is a partition of a table with a policy, and what becomes of it.
type Partition struct {
	Name  string
	Bound string // as the server writes it; empty if it has none
	Rows  int64  // as the server estimates
	Bytes uint64
	DueAt time.Time // zero if that cannot be said
	Fate  string
}

var partitionColumns = []Column{
	{Name: "Table_schema", Type: Name},
	{Name: "Table_name", Type: Name},
	{Name: "Partition_name", Type: Name},
	{Name: "Bound", Type: LongText},
	{Name: "Rows_estimated", Type: Integer},
	{Name: "Bytes", Type: Unsigned},
	{Name: "Due", Type: Time},
	{Name: "Fate", Type: LongText},
}

// Partitions is SHOW TTL PARTITIONS: those of one table.
func Partitions(of catalog.Table, partitions []Partition) List {
	l := List{Name: "ttl_partitions", Columns: partitionColumns, Like: "Partition_name"}
	for _, p := range partitions {
		l.add(of, of.Schema, of.Name, p.Name, orNull(p.Bound), p.Rows, p.Bytes, moment(p.DueAt), p.Fate)
	}
	return l
}
