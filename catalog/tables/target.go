package tables

import (
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Target names what a job works on: a table, or one partition of it.
type Target struct {
	Schema, Table, Partition string

	among string // partitions, as a list
}

// Target names the table, or one of its partitions.
func (l *Layout) Target(partition string) Target {
	return Target{Schema: l.Schema, Table: l.Table, Partition: partition}
}

// Among narrows a table to some of its partitions.
func (t Target) Among(partitions []Partition) Target {
	names := make([]string, len(partitions))
	for i, p := range partitions {
		names[i] = ddl.Quote(p.Name)
	}
	t.among = strings.Join(names, ", ")
	return t
}

// Name is the quoted name without the partition.
func (t Target) Name() string { return ddl.QuoteTable(t.Schema, t.Table) }

// Source is the quoted name as FROM takes it.
func (t Target) Source() string {
	switch {
	case t.Partition != "":
		return t.Name() + " PARTITION (" + ddl.Quote(t.Partition) + ")"
	case t.among != "":
		return t.Name() + " PARTITION (" + t.among + ")"
	default:
		return t.Name()
	}
}
