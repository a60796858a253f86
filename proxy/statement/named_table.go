package statement

import (
	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// resolveTable finds the table that a name means in the client's session. It is an error if the
// client may not see it, if it is not a table, or if a temporary table hides it.
func (a *admin) resolveTable(name ddl.Name) (catalog.Table, error) {
	what, err := a.q.shown(name)
	if err != nil {
		return catalog.Table{}, err
	}

	t, _ := a.q.session.table(name)
	switch what {
	case baseTable:
		return t, nil
	case temporary:
		return t, refusal(ddl.TemporaryTable())
	default:
		return t, refusal(ddl.WrongObject(t.Schema, t.Name))
	}
}
