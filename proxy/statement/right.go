package statement

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// right is a probe for a right that a statement needs. A policy is stopped before its table
// changes, whereas the server checks rights only when it gets the statement: without a probe, an
// account could stop a policy by attempting what it may not do.
//
// No server says what a session may do in a way that takes account of roles, wildcards and partial
// revokes. So a probe is a statement that needs exactly the rights of the one at hand and cannot
// succeed, because it names a part of the table that cannot exist. Rights are checked before
// anything else: an error with an expected number says that they suffice, and that nothing was
// done.
type right struct {
	question string
	granted  []uint16
}

// noSuchPart is the name of an index or a partition that cannot exist: nobody has ever heard of it.
// That it ends in a blank, as no such name can, is not enough: MySQL finds a partition by its name
// with and without.
func noSuchPart() string { return ddl.Quote("ttlproxy " + rand.Text() + " ") }

// emptyAlter changes nothing. It ends the transaction, is written to the binary log, and takes a
// number there, like every ALTER TABLE.
func emptyAlter(table string) string { return "ALTER TABLE " + table }

// toAlter is the right of ALTER TABLE.
func (q *request) toAlter(table string) right {
	if q.session.number != "" {
		return right{"ALTER TABLE " + table + " DROP INDEX " + noSuchPart(), []uint16{ddl.CodeNoIndex}}
	}
	return right{emptyAlter(table), nil}
}

// toDrop is the right of DROP, TRUNCATE, and ALTER TABLE … TRUNCATE PARTITION.
func toDrop(table string) right {
	return right{
		"ALTER TABLE " + table + " TRUNCATE PARTITION " + noSuchPart(),
		[]uint16{ddl.CodeNotPartitioned, ddl.CodeNoPartition, ddl.CodeWrongObject, ddl.CodeNoTable, ddl.CodeNoDatabase},
	}
}

// toIndex is the right of CREATE INDEX and DROP INDEX.
func toIndex(table string) right {
	return right{
		"DROP INDEX " + noSuchPart() + " ON " + table,
		[]uint16{ddl.CodeNoIndex, ddl.CodeWrongObject, ddl.CodeNoTable},
	}
}

// toMaintain is the right of OPTIMIZE and REPAIR, also of partitions. MySQL answers with a list of
// what went wrong.
func toMaintain(table string) right {
	return right{
		"ALTER TABLE " + table + " OPTIMIZE PARTITION " + noSuchPart(),
		[]uint16{ddl.CodeNotPartitioned, ddl.CodeNoPartition, ddl.CodeWrongObject, ddl.CodeNoTable, ddl.CodeNoDatabase},
	}
}

// toChange is the right of a statement that may rebuild its tables.
func toChange(a *ddl.ChangeTables) func(table string) right {
	if strings.HasSuffix(a.Verb, "INDEX") {
		return toIndex
	}
	return toMaintain
}

// toCreate is the right of CREATE TABLE, for a table that is not there.
func toCreate(table string) right {
	return right{
		"CREATE TABLE " + table + " (a INT PRIMARY KEY, a INT) ENGINE=InnoDB",
		[]uint16{ddl.CodeDuplicateColumn},
	}
}

// toRename is the right of RENAME TABLE and ALTER TABLE … RENAME. A name in the middle of a chain
// may be there or not.
func (q *request) toRename(from, to ddl.Name) (right, error) {
	old, err := q.spelledName(from)
	if err != nil {
		return right{}, err
	}
	name, err := q.spelledName(to)
	return right{
		"ALTER TABLE " + old + " RENAME TO " + name + ", DROP INDEX " + noSuchPart(),
		[]uint16{ddl.CodeNoIndex, ddl.CodeTableExists, ddl.CodeWrongObject, ddl.CodeNoTable},
	}, err
}

// toDropDatabase is the right of DROP DATABASE: what holds for all tables of a schema, also for one
// that nobody has ever heard of.
func (q *request) toDropDatabase(schema string) (right, error) {
	name, err := q.spelledTable(catalog.Table{Schema: schema, Name: "ttlproxy " + rand.Text()})
	return toDrop(name), err
}

// needs probes rights. The first missing one is the client's answer, and so is every error that was
// not expected.
func (q *request) needs(rights ...right) error {
	return q.unnumbered(func() error {
		for _, r := range rights {
			if _, err := q.x.Ask(r.question); err != nil && !wire.RefusedWith(err, r.granted...) {
				return err
			}
		}
		return nil
	})
}

// unnumbered probes as if the client, which plays back a binary log, had given its next transaction
// no number, and then restores the number. The probe fails, so it takes no other number either.
func (q *request) unnumbered(ask func() error) error {
	if q.session.number == "" {
		return ask()
	}
	if q.x.Status().InTransaction() {
		return &wire.Error{
			Code: ddl.CodeNumberedTransaction, State: "HY000",
			Message: "Cannot execute statements with implicit commit inside a transaction when the next one has " +
				"a number",
		}
	}

	without, again := []string{"SET gtid_seq_no = 0"}, "SET gtid_seq_no = "+q.session.number
	if !q.x.MariaDB() {
		without, again = []string{"ROLLBACK", "SET gtid_next = AUTOMATIC"}, "SET gtid_next = "+literal(q.session.number)
	}

	for _, s := range without {
		if _, err := q.x.Ask(s); err != nil {
			return err
		}
	}

	err := ask()
	_, failed := q.x.Ask(again)
	return errors.Join(err, failed)
}

// needsNow probes rights independently of what anybody else does to the table: an account that
// would have to wait for its lock has them.
func (q *request) needsNow(rights ...right) error {
	for i := range rights {
		rights[i].granted = append(rights[i].granted, ddl.CodeLockWait)
	}
	return briefly(q.x, func() error { return q.needs(rights...) })
}

// needsForEach asks for the same right on each table.
func (q *request) needsForEach(of func(table string) right, names ...ddl.Name) error {
	var rights []right
	for _, name := range names {
		spelled, err := q.spelledName(name)
		if err != nil {
			return err
		}
		rights = append(rights, of(spelled))
	}
	return q.needsNow(rights...)
}

// needsToCreate asks for the rights of CREATE TABLE. That the table exists is the client's answer,
// too, unless the statement allows that: by then the right has been checked.
func (q *request) needsToCreate(a *ddl.CreateTable) error {
	table, err := q.spelledName(a.Table)
	if err != nil {
		return err
	}
	create := toCreate(table)
	if a.OrReplace || a.IfNotExists {
		create.granted = append(create.granted, ddl.CodeTableExists)
	}
	if !a.OrReplace {
		return q.needsNow(create)
	}
	return q.needsNow(create, toDrop(table))
}

// needsToRename asks for the rights on both names of each pair.
func (q *request) needsToRename(pairs []ddl.Rename) error {
	var rights []right
	for _, pair := range pairs {
		needed, err := q.toRename(pair.From, pair.To)
		if err != nil {
			return err
		}
		rights = append(rights, needed)
	}
	return q.needsNow(rights...)
}

// needsToAlter asks for the rights that the changes of an ALTER TABLE need.
func (q *request) needsToAlter(a *ddl.AlterTable) error {
	table, err := q.spelledName(a.Table)
	if err != nil {
		return err
	}

	var rights []right
	if len(a.Specs) == 0 || slices.ContainsFunc(a.Specs, needsAlter) {
		rights = append(rights, q.toAlter(table))
	}

	for _, s := range a.Specs {
		more, err := q.rightsFor(s, a.Table, table)
		if err != nil {
			return err
		}
		rights = append(rights, more...)
	}

	return q.needs(rights...)
}

// needsAlter reports whether a change needs the right of ALTER TABLE. To empty or to rebuild a
// partition other rights suffice.
func needsAlter(s ddl.Spec) bool {
	return s.Change != ddl.TruncatePartition && s.Change != ddl.MaintainPartition
}

// rightsFor are those that a change needs besides that of ALTER TABLE.
func (q *request) rightsFor(s ddl.Spec, name ddl.Name, table string) ([]right, error) {
	switch s.Change {
	case ddl.DropPartition, ddl.TruncatePartition:
		return []right{toDrop(table)}, nil
	case ddl.MaintainPartition:
		return []right{toMaintain(table)}, nil
	default:
	}
	if s.Other == nil {
		return nil, nil
	}
	return q.rightsOnBoth(s.Change, name, *s.Other)
}

// rightsOnBoth are those of a change that involves another table, or another name of the same.
func (q *request) rightsOnBoth(change ddl.Change, name, other ddl.Name) ([]right, error) {
	there, err := q.toRename(name, other)
	if err != nil {
		return nil, err
	}

	back, err := q.toRename(other, name)
	if err != nil {
		return nil, err
	}

	spelled, err := q.spelledName(other)

	switch change {
	case ddl.RenameTable, ddl.ConvertPartition:
		return []right{there}, err
	case ddl.ConvertTable:
		return []right{there, q.toAlter(spelled), toDrop(spelled)}, err
	case ddl.ExchangePartition:
		return []right{there, back}, err
	default:
		return nil, err
	}
}
