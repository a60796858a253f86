package proxy

import (
	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// codeLockWait is ER_LOCK_WAIT_TIMEOUT.
const codeLockWait = 1205

// resolveTable finds the table that a name means in the client's session. It is an error if the client may not see it, if
// it is not a table, or if a temporary table hides it.
func (a *admin) resolveTable(name ddl.Name) (catalog.Table, error) {
	what, err := a.shown(name)
	if err != nil {
		return catalog.Table{}, err
	}
	t, _ := a.table(name)
	switch what {
	case baseTable:
		return t, nil
	case temporary:
		return t, asWireError(ddl.TemporaryTable())
	default:
		return t, asWireError(ddl.WrongObject(t.Schema, t.Name))
	}
}

// spelled writes the table that a name means for a question on the client's connection: as a value, with the schema that was found
// for it, so that nothing between the client's own quotes and dots is read in two ways. Only a current schema that the client's character
// set has no letters for is left to the server.
func (t *turn) spelled(name ddl.Name) string {
	table, _ := t.table(name)
	if table.Schema == t.current && !ddl.Spells(table.Schema, t.mode.Charset) {
		table.Schema = ""
	}
	return t.inSession(table)
}

// inSession writes a table's name for a statement on the client's connection.
func (t *turn) inSession(table catalog.Table) string {
	return ddl.Encode(table.String(), t.mode.Charset)
}
