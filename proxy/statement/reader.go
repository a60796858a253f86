package statement

import (
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// readsAll asks the server whether the client may read every table, so that nothing has to be asked
// about each. It is asked once for each statement and remembered no longer. Both must say so: the
// accounts, which show a right that has just been revoked, and the session, which does not have one
// that has just been granted. For anybody else the server is asked table by table.
func (q *request) readsAll() (bool, error) {
	if q.reads != nil {
		return *q.reads, nil
	}
	reads, err := q.mayReadAll()
	if err != nil {
		return false, err
	}
	q.reads = &reads
	return reads, nil
}

// nowhere is a table that does not exist; only somebody who may read everything is told so.
const nowhere = "`ttlproxy looks for no table`.`at all`"

func (q *request) mayReadAll() (bool, error) {
	at := strings.LastIndexByte(q.session.account, '@')
	if at < 0 || strings.Count(q.session.account, "@") > 1 || strings.Contains(q.session.account, "'") {
		return false, nil // the names of accounts are not quoted where the server lists them
	}

	// The refusal first: the query after it leaves nothing for SHOW WARNINGS.
	_, err := q.x.Ask("EXPLAIN SELECT 1 FROM " + nowhere)
	if !wire.RefusedWith(err, ddl.CodeNoTable, ddl.CodeNoDatabase) {
		return false, nilIfRefused(err)
	}

	grantee := "'" + q.session.account[:at] + "'@'" + q.session.account[at+1:] + "'"
	question := "(SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'SELECT'" +
		" AND CAST(GRANTEE AS BINARY) = CAST(" + literal(grantee) + " AS BINARY))"
	if !q.session.mode.MariaDB {
		question += " * (1 - @@GLOBAL.partial_revokes)"
	}

	granted, err := q.x.AskValues(proxy.SelectValues(question))
	if err != nil {
		return false, nilIfRefused(err)
	}

	return granted[0] != "" && granted[0] != "0", nil
}
