package tables

import "github.com/ttlproxy/ttlproxy/ddl"

// Target names what a job works on: a table, or one partition of it.
type Target struct{ Schema, Table, Partition string }

// Target names the table, or one of its partitions.
func (l *Layout) Target(partition string) Target { return Target{l.Schema, l.Table, partition} }

// Name is the quoted name without the partition.
func (t Target) Name() string { return ddl.QuoteTable(t.Schema, t.Table) }

// Source is the quoted name as FROM takes it.
func (t Target) Source() string {
	if t.Partition == "" {
		return t.Name()
	}
	return t.Name() + " PARTITION (" + ddl.Quote(t.Partition) + ")"
}
