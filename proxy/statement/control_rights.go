package statement

import (
	"errors"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// mayStop is nil when the client may pause or cancel. The one who declared the policy always may. A
// table that stays locked must not keep anybody from stopping its policy, so the server is asked
// for a second at most.
func (a *admin) mayStop(name ddl.Name, p catalog.Policy) error {
	if a.q.session.account == p.Owner {
		return nil
	}
	err := briefly(a.q.x, func() error { return a.q.mayDelete(name, p.Rule.Column) })
	if _, refused := errors.AsType[*wire.Error](err); !refused {
		return err
	}
	if a.maySet() == nil {
		return nil
	}
	return err
}

// briefly runs queries that give up after a second if a table is locked.
func briefly(x *proxy.Exchange, ask func() error) error { return within(x, 1, ask) }

// within runs statements that give up after some seconds if a table is locked. What the client has set is kept in a
// variable of the session, which spares a question; it is NULL while nothing has to be put back.
func within(x *proxy.Exchange, seconds int, ask func() error) error {
	return under(x,
		fmt.Sprintf("SET @`ttlproxy wait` = @@session.lock_wait_timeout, SESSION lock_wait_timeout = %d", seconds),
		"SET SESSION lock_wait_timeout = CAST(IFNULL(@`ttlproxy wait`, @@session.lock_wait_timeout) AS UNSIGNED), "+
			"@`ttlproxy wait` = NULL",
		ask)
}

// maySet is nil when the client may change global settings. The server is asked by setting a
// harmless variable to its own value. Since clouds may give that right to nobody, the right to
// change the catalog's settings by hand counts as well.
func (a *admin) maySet() error {
	_, err := a.q.x.Ask("SET GLOBAL default_week_format = @@GLOBAL.default_week_format")
	if !wire.RefusedWith(err, ddl.CodeRightNeeded) {
		return err
	}

	setting := ddl.Name{Schema: a.q.store.Schema(), Table: "setting"}
	what, asked := a.q.resolve(setting)
	if asked != nil {
		return asked
	}
	if what != baseTable {
		return err // somebody's own table may have that name
	}

	name, asked := a.q.spelledName(setting)
	if asked != nil {
		return asked
	}
	if _, asked = a.q.x.Ask("EXPLAIN UPDATE " + name + " SET value = '' WHERE name = ''"); asked == nil {
		return nil
	}

	return err
}
