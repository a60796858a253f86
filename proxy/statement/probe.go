package statement

import (
	"regexp"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// object is what a name stands for in the client's session.
type object int

const (
	absent    object = iota
	baseTable        // a table of the schema
	temporary        // a temporary table, which hides one of the schema
	view             // a view or a sequence
	unseen           // the client has no right on it, so the server will refuse whatever it asks for
)

var sequence = regexp.MustCompile(`\) SEQUENCE=1( |$)`)

// resolve finds out on the client's own connection what a name stands for: a temporary table hides
// the one of the same name, and every other probe would be answered for it.
func (q *request) resolve(name ddl.Name) (object, error) {
	what, err := q.shown(name)
	switch {
	case wire.RefusedWith(err, ddl.CodeNoTable, ddl.CodeNoDatabase):
		return absent, nil
	case wire.RefusedWith(err, ddl.CodeTableDenied):
		return unseen, nil
	}
	return what, err
}

// shown is what SHOW CREATE TABLE shows. Its error may be the server's.
func (q *request) shown(name ddl.Name) (object, error) {
	spelled, err := q.spelledName(name)
	if err != nil {
		return unseen, err
	}

	r, err := q.x.Ask("SHOW CREATE TABLE " + spelled)
	if err != nil {
		return unseen, err
	}
	if len(r.Rows) != 1 || len(r.Rows[0]) < 2 {
		return unseen, refuse("ttlproxy: nothing was done, because the server does not show what %s is", spelled)
	}
	if len(r.Rows[0]) != 2 { // a view has four columns
		return view, nil
	}

	text := ddl.Decode(string(r.Rows[0][1]), q.session.results)
	switch {
	case sequence.MatchString(text):
		return view, nil
	case strings.HasPrefix(text, "CREATE TEMPORARY TABLE "):
		return temporary, nil
	case strings.HasPrefix(text, "CREATE TABLE "):
		return baseTable, nil
	}

	return unseen, illegible("character_set_results", q.session.results)
}

// mayDelete checks that the client itself could delete by the column, since a policy makes a
// service account do it. The server checks the rights of an EXPLAIN DELETE like those of the
// DELETE. For a table that does not exist yet the server answers 1146 only after it has found the
// rights sufficient.
func (q *request) mayDelete(name ddl.Name, column string) error {
	if column == "" {
		return q.mayDeleteWhere(name, "")
	}
	quoted, err := q.spelled(ddl.Quote(column))
	if err != nil {
		return err
	}
	return q.mayDeleteWhere(name, " WHERE "+quoted+" < '1970-01-02'")
}

// mayDeleteBy is mayDelete for a statement that may create the column. Nobody has a right on a
// column that is not there yet, for which column is empty: it may be read by those who may read the
// whole table, from whose columns it may be computed.
func (q *request) mayDeleteBy(name ddl.Name, column string, was *layout) error {
	if column != "" {
		return q.mayDelete(name, column)
	}
	var conditions []string
	for _, c := range was.columns {
		quoted, err := q.spelled(ddl.Quote(c.Name))
		if err != nil {
			return err
		}
		conditions = append(conditions, quoted+" IS NULL")
	}
	return q.mayDeleteWhere(name, " WHERE "+strings.Join(conditions, " OR "))
}

// mayRemove checks that the client itself could remove partitions, if the rule has that done
// (TTL_PARTITION).
func (q *request) mayRemove(name ddl.Name, rule catalog.Rule) error {
	if rule.Options[ddl.OptionPartition] == "" {
		return nil
	}
	table, err := q.spelledName(name)
	if err != nil {
		return err
	}
	return q.needsNow(toDrop(table))
}

func (q *request) mayDeleteWhere(name ddl.Name, condition string) error {
	table, err := q.spelledName(name)
	if err != nil {
		return err
	}
	_, err = q.x.Ask("EXPLAIN DELETE FROM " + table + condition)
	if wire.RefusedWith(err, ddl.CodeNoTable, ddl.CodeSafeUpdates) {
		return nil // both come after the check of rights
	}
	return err
}

// endTransaction does what the DDL itself does first: it ends the client's transaction. It comes
// before the catalog is written, because a row that the client has locked may be what the engine,
// and so the catalog, waits for.
func (q *request) endTransaction() error {
	if !q.x.Status().InTransaction() {
		return nil
	}
	_, err := q.x.Ask("COMMIT AND NO CHAIN NO RELEASE")
	return err
}
