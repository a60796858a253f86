package work

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// layouts remembers the columns and indexes of tables, so that a task that is claimed again, a
// second later, need not ask for them. A layout is kept under the incarnation of the table it was
// read from, and every ALTER makes another one: what is found cannot be stale. Only statements are
// written from it. Estimates, reasons to pause a job, and whether the table is still that
// incarnation are asked for every time.
type layouts struct {
	known *lru.Cache[layoutKey, *tables.Layout]
}

// layoutKey is one state of one table on one server.
type layoutKey struct {
	server  string
	table   catalog.Table
	id      uint64 // InnoDB's
	created int64  // CREATE_TIME, Unix seconds
}

const (
	// layoutsKept bounds the memory: a layout takes a few kilobytes.
	layoutsKept = 1000
	// LayoutAge is how old a table must be. CREATE_TIME has whole seconds: a younger one may yet be
	// altered without getting another.
	LayoutAge = 3 * time.Second
)

func newLayouts() layouts { return layouts{newCache[layoutKey, *tables.Layout](layoutsKept)} }

// newCache is lru.New for constant sizes: it refuses only those below one.
func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic(err)
	}
	return c
}

// layout returns the columns and indexes of a table whose identity is known, at a time before it
// was looked at.
func (l layouts) layout(
	ctx context.Context, s *Session, now time.Time, t catalog.Table, known tables.Incarnation,
) (*tables.Layout, error) {
	key, ok := layoutKeyOf(s.server, now, t, known)
	if known, found := l.known.Get(key); ok && found {
		return known, nil
	}
	read, err := tables.ReadLayout(ctx, s, t.Schema, t.Name)
	if err == nil && ok {
		err = l.remember(ctx, s, key, read)
	}
	return read, err
}

// add remembers a layout that is known to be of an incarnation.
func (l layouts) add(key layoutKey, known *tables.Layout) { l.known.Add(key, known) }

// forget forgets all of them: nothing that was remembered may influence the new plan.
func (l layouts) forget() { l.known.Purge() }

// remember keeps a layout that was read just now, if its table was not altered meanwhile.
func (l layouts) remember(ctx context.Context, q tables.Querier, key layoutKey, read *tables.Layout) error {
	created, err := tables.Created(ctx, q, key.table.Schema, key.table.Name)
	if err == nil && created.Unix() == key.created {
		l.add(key, read)
	}
	return err
}

// layoutKeyOf is what a layout may be kept under; not ok if that is uncertain: the table is too
// young, is partitioned, or its id cannot be seen.
func layoutKeyOf(server string, now time.Time, t catalog.Table, known tables.Incarnation) (layoutKey, bool) {
	if known.Partitioned() || known.Table().TableID == 0 || known.Table().CreateTime.IsZero() ||
		now.Sub(known.Table().CreateTime) < LayoutAge {
		return layoutKey{}, false
	}
	return layoutKey{server, t, known.Table().TableID, known.Table().CreateTime.Unix()}, true
}
