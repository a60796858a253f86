package proxy

import (
	"bytes"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// The errors of the server on which we decide.
const (
	codeNoDatabase = 1049
	codeDenied     = 1142
	codeNoTable    = 1146
	codeLockWait   = 1205
)

// resolveTable finds the table that a name means in the client's session. It is an error if the client may not see it, if
// it is not a table, or if a temporary table hides it.
func (a *admin) resolveTable(x *exchange, name ddl.Name) (catalog.Table, error) {
	r, err := x.Ask("SHOW CREATE TABLE " + name.Text)
	if err != nil {
		return catalog.Table{}, err
	}
	t, _ := a.table(name)
	if len(r.Rows) == 0 || len(r.Columns) != 2 {
		return t, asWireError(ddl.WrongObject(t.Schema, t.Name))
	}
	if bytes.HasPrefix(r.Rows[0][1], []byte("CREATE TEMPORARY TABLE")) {
		return t, asWireError(ddl.TemporaryTable())
	}
	return t, nil
}

// inSession writes a table's name for a statement on the client's connection.
func inSession(t catalog.Table) string { return ddl.QuoteTable(t.Schema, t.Name) }
