package ttl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// twins remembers which tables share their second of creation with another one. One census tells it for all tables at once:
// once a second is over no more can be made in it.
type twins struct {
	known *lru.Cache[string, struct{}] // incarnations that are alone, and were recognized since that was found out

	mu     sync.Mutex
	server string                   // key of the server of the census
	born   map[string]catalog.Table // in this second, in lower case; no name where there were several
	at     time.Time
	took   time.Duration
}

const (
	twinsKept = 10_000
	// censusShare is how much of the time may go into censuses where InnoDB's ids do as well: on MariaDB they open every table.
	censusShare = 0.01
)

func newTwins() *twins { return &twins{known: newCache[string, struct{}](twinsKept)} }

// hasTwins reports whether there are, or may be, twins of a table. It is asked for certain where InnoDB's id is not known. A
// twin that has taken its place, and whose original was dropped, has none any more: so what is found to be alone is looked at
// once more, at its id.
func (w *worker) hasTwins(ctx context.Context, p catalog.Policy, created time.Time, idKnown bool) (bool, error) {
	server, second := w.session.server, created.UTC().Format(time.DateTime)
	key := server + " " + p.Table.String() + " " + second
	if w.twins.known.Contains(key) {
		return false, nil
	}
	if alone, err := w.twins.alone(ctx, w.session, server, p.Table, second, idKnown); err != nil || !alone {
		return true, err
	}
	switch known, err := w.recognize(ctx, p); {
	case err != nil:
		return false, err
	case known == nil:
		return false, errRefused // disarmed, which ended the job
	}
	if server != w.store.Server().Key() {
		return true, nil // the one that was looked at is another one
	}
	w.twins.known.Add(key, struct{}{})
	return false, nil
}

// alone reports whether a table is known to be the only one that was created in its second. Whoever can do without knowing
// neither waits for a census nor asks for one too often.
func (t *twins) alone(ctx context.Context, q plan.Querier, server string, table catalog.Table, second string, patient bool) (bool, error) {
	if !patient {
		t.mu.Lock()
	} else if !t.mu.TryLock() {
		return false, nil
	}
	defer t.mu.Unlock()
	table = lower(table)
	if t.server == server {
		if who, counted := t.born[second]; who == table || counted && who.Name == "" {
			return who == table, nil
		}
		if patient && time.Since(t.at).Seconds()*censusShare < t.took.Seconds() {
			return false, nil
		}
	}
	if err := t.census(ctx, q, server); err != nil {
		return false, fmt.Errorf("look for tables created in the same second: %w", err)
	}
	return t.born[second] == table, nil
}

// census reads who was created when. One that fails tells of nobody, and so does one by an account to which the server does not show
// all tables.
func (t *twins) census(ctx context.Context, q plan.Querier, server string) error {
	began := time.Now()
	t.server, t.born = "", map[string]catalog.Table{}
	all, err := seesAllTables(ctx, q)
	if err == nil && all {
		err = t.count(ctx, q)
	}
	if err != nil {
		return err
	}
	t.server, t.at, t.took = server, time.Now(), time.Since(began)
	return nil
}

func (t *twins) count(ctx context.Context, q plan.Querier) error {
	rows, err := q.QueryContext(ctx, selectCensus, settleTime.Microseconds())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var second string
		var n int
		var who catalog.Table
		if err := rows.Scan(&second, &n, &who.Schema, &who.Name); err != nil {
			return err
		}
		if n > 1 {
			who = catalog.Table{}
		}
		t.born[second] = lower(who)
	}
	return rows.Err()
}

// lower is how tables are compared here: should two differ by nothing else, each still is looked at by its own name.
func lower(t catalog.Table) catalog.Table {
	return catalog.Table{Schema: strings.ToLower(t.Schema), Name: strings.ToLower(t.Name)}
}

// seesAllTables reports whether the account may SELECT from every table. Rights that come by a role do not count, nor do any once
// some have been taken back for single schemas.
func seesAllTables(ctx context.Context, q plan.Querier) (all bool, err error) {
	rows, err := q.QueryContext(ctx, showGrants)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var grant string
		if err := rows.Scan(&grant); err != nil {
			return false, err
		}
		if strings.HasPrefix(grant, "REVOKE ") {
			return false, rows.Err()
		}
		all = all || givesSelect(grant)
	}
	return all, rows.Err()
}

// givesSelect reads one line of SHOW GRANTS.
func givesSelect(grant string) bool {
	rights, _, everywhere := strings.Cut(strings.TrimPrefix(grant, "GRANT "), " ON *.* TO ")
	return everywhere && (rights == "ALL PRIVILEGES" || slices.Contains(strings.Split(rights, ", "), "SELECT"))
}
