package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// A DDL ends on the client's connection, and lets go of the table there; only then can we look.
// Nothing that others could not use as well would keep a RENAME out that has been waiting behind an
// ALTER, so whatever bears the name now has to prove what it is:
//
//   - It has the id that the table had before. Ids are never given twice, so it is that table,
//     whatever was done to it.
//   - It has another, because the DDL made it anew. Then InnoDB has given the id since the
//     statement began, so that nothing which was lying ready can have it; the table of before is
//     gone, and not somewhere else under another name; and no other table was made in its schema
//     since, before this one, that looks like it and may be what the DDL has made; unless the
//     policy is new and there is no row.
//   - Otherwise it is another table, or nobody knows, and the policy is disarmed.
//
// What that leaves is a table that is made, filled and put in place by DROP and RENAME, all while
// the statement ran.

// descent is how the table that has a name after a DDL descends from the one that was staged.
type descent int

const (
	untold  descent = iota // there is no table, or no id to judge by, so that nothing is deleted from it anyway
	itself                 // it has the id that it had, or shares a partition's
	remade                 // it has another one, and everything suggests that it is what the DDL made
	foreign                // it is another one, or may be
)

// trace is a descent with the reason.
type trace struct {
	descent descent
	why     string // of a foreign one
}

// origin is what has to be known from before a DDL to determine the descent of a table after it.
type origin struct {
	Server string   `json:"server"` // whose ids these are
	Newest uint64   `json:"newest"` // the highest that InnoDB had given
	IDs    []uint64 `json:"ids"`    // of the table, its partitions and theirs
}

// originOf remembers where a table comes from.
func originOf(newest origin, seen tables.Seen) *origin {
	newest.IDs = slices.Concat(seen.IDs...)
	if seen.Server != newest.Server {
		newest.Server = "" // connections were moved to another member in between
	}
	return &newest
}

// newest reads the highest id that InnoDB has given.
func (s *Store) newest(ctx context.Context) (o origin, err error) {
	query := selectNewestMySQL
	if s.Server().MariaDB {
		query = selectNewestMariaDB
	}
	err = s.db.QueryRowContext(ctx, s.sql(query)).Scan(&o.Server, &o.Newest)
	if isServerError(err, ddl.CodeRightNeeded) {
		return o, nil // there are no ids to compare it with, either
	}
	if err != nil {
		return o, fmt.Errorf("look for InnoDB's newest id: %w", err)
	}
	return o, nil
}

// trace determines the descent of a table that has the name it should have after the DDL of a
// stage.
func (s *Store) trace(ctx context.Context, p Policy, seen tables.Seen) (trace, error) {
	g := p.Stage
	if !seen.Exists || !seen.Incarnation.HasID() {
		return trace{}, nil
	}
	if g.Origin == nil || g.Origin.Server != seen.Server {
		return s.traceKnown(ctx, p, seen)
	}

	switch {
	case g.Identity.SharesID(seen.Incarnation):
		return trace{descent: itself}, nil
	case len(g.Identity) > 0 && !g.Identity.HasID():
		return trace{foreign, "its InnoDB table id could not be read before"}, nil
	case g.Imports != "":
		return trace{descent: remade}, nil // it has what was brought in; a person looks at that before a row goes
	case g.Origin.older(seen.IDs):
		return trace{foreign, fmt.Sprintf("its InnoDB table id (%s) is older than the statement",
			idsText(seen.IDs))}, nil
	}

	return s.traceRemade(ctx, g, seen)
}

// traceKnown does without what was seen before the DDL, as on another member of a cluster, where
// ids are different.
func (s *Store) traceKnown(ctx context.Context, p Policy, seen tables.Seen) (trace, error) {
	known, err := s.identities(ctx, s.db, selectIdentities, p.ID, seen.Server)
	if err != nil {
		return trace{}, err
	}
	if known.SharesID(seen.Incarnation) {
		return trace{descent: itself}, nil
	}
	return trace{
		foreign,
		"its InnoDB table id cannot be compared with that of before, which was read on another server",
	}, nil
}

// traceRemade looks for other tables that speak against one with a new id.
func (s *Store) traceRemade(ctx context.Context, g *StageInfo, seen tables.Seen) (trace, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return trace{}, fmt.Errorf("look for what became of %s: %w", g.Table, err)
	}
	defer conn.Close()

	if there, err := s.haveIDs(ctx, conn, g.Origin.IDs); err != nil {
		return trace{}, err
	} else if there {
		return trace{foreign, "the table that was there before has another name now"}, nil
	}

	target := g.target()
	rivals, err := s.madeBetween(ctx, conn, target.Schema, g.Origin.Newest, slices.Min(slices.Concat(seen.IDs...)))
	if err != nil {
		return trace{}, err
	}

	for _, name := range rivals {
		rival := Table{Schema: target.Schema, Name: name}
		shape, err := s.shape(ctx, conn, rival)
		if err != nil {
			return trace{}, fmt.Errorf("look at %s: %w", rival, err)
		}
		if shape.Difference(seen.Shape) == "" {
			return s.traceTwin(ctx, g, seen, rival)
		}
	}

	return trace{descent: remade}, nil
}

// traceTwin judges a table beside another that looks the same, so that either may be what the DDL
// has made. Migrations make such tables side by side: where the DDL has declared the policy itself,
// there was nothing before, and where there is no row, nobody loses any.
func (s *Store) traceTwin(ctx context.Context, g *StageInfo, seen tables.Seen, twin Table) (trace, error) {
	if g.Before == "" {
		doubt := tables.Comparison{How: tables.Unsure, Now: seen.Incarnation}
		empty, err := s.emptyAmong(ctx, g.target(), doubt)
		if err == nil && len(empty) == len(doubt.Doubted()) {
			return trace{descent: remade}, nil
		}
	}

	return trace{foreign, fmt.Sprintf("%s was made before it, and looks the same", twin)}, nil
}

// older reports whether any of these ids was given before.
func (o *origin) older(ids [][]uint64) bool {
	return slices.ContainsFunc(slices.Concat(ids...), func(id uint64) bool { return id <= o.Newest })
}

func idsText(ids [][]uint64) string {
	return strings.Trim(fmt.Sprint(slices.Concat(ids...)), "[]")
}

// haveIDs reports whether a user's table still has one of these ids.
func (s *Store) haveIDs(ctx context.Context, conn *sql.Conn, ids []uint64) (bool, error) {
	if len(ids) == 0 {
		return false, nil
	}

	query := countIDsMySQL
	if s.Server().MariaDB {
		query = countIDsMariaDB
	}

	list := strings.ReplaceAll(idsText([][]uint64{ids}), " ", ", ")
	var n int
	if err := conn.QueryRowContext(ctx, fmt.Sprintf(query, list)).Scan(&n); err != nil {
		return false, fmt.Errorf("look for InnoDB's ids %s: %w", list, err)
	}

	return n > 0, nil
}

// madeBetween returns the tables of a schema whose ids lie between two others.
func (s *Store) madeBetween(
	ctx context.Context, conn *sql.Conn, schema string, after, before uint64,
) ([]string, error) {
	query := selectBetweenMySQL
	if s.Server().MariaDB {
		query = selectBetweenMariaDB
	}
	rows, err := conn.QueryContext(ctx, fmt.Sprintf(query, after, before, s.innodbName(Table{Schema: schema}, "")))
	if err != nil {
		return nil, fmt.Errorf("look for new tables in %s: %w", schema, err)
	}
	return collect(rows, func(r *sql.Rows) (name string, err error) { return name, r.Scan(&name) })
}

// soon is how long after the beginning of a DDL a table was certainly made by it: CREATE_TIME has
// whole seconds. In place it may take longer, since what was altered still is the table; but then
// comes the time in which somebody else alters it who found it as it was.
const (
	soon        = 2 * time.Second
	whileBroken = 10 * time.Second
)

// atOnce reports whether a recreated table is what the DDL has made, although nobody has seen the
// server's OK, and much may have happened since: TRUNCATE keeps CREATE_TIME, everything else begins
// at once or leaves it unclear.
func (g *StageInfo) atOnce(seen tables.Seen) bool {
	if g.Kind == IntentTruncate && len(g.Identity) > 0 {
		return seen.Incarnation.Table().CreateTime.Equal(g.Identity.Table().CreateTime)
	}
	return g.before(seen, soon)
}

// before reports whether a table was made or altered since the DDL began, and not later than that.
func (g *StageInfo) before(seen tables.Seen, later time.Duration) bool {
	made := seen.Incarnation.Table().CreateTime
	return !made.Before(g.At.Truncate(time.Second)) && made.Before(g.At.Add(later))
}

// holdForeign holds each partition that has the name, but neither the id of one that was there, nor
// one the DDL has made.
func (g *StageInfo) holdForeign(seen tables.Seen) tables.Incarnation {
	out := slices.Clone(seen.Incarnation)
	if g.Origin == nil || g.Imports != "" || g.Origin.Server != seen.Server {
		return out
	}

	for i, n := range out {
		if n.Partition == "" || slices.ContainsFunc(g.Identity,
			func(k tables.Identity) bool { return k.Partition == n.Partition && k.TableID == n.TableID }) {
			continue
		}
		if g.Origin.older(seen.IDs[i : i+1]) {
			out[i].Held = tables.Hold{Code: tables.Exchanged, Text: fmt.Sprintf("partition %s was exchanged outside "+
				"ttlproxy while a statement was changing the table (InnoDB table id is %s)",
				n.Partition, idsText(seen.IDs[i:i+1]))}
		}
	}

	return out
}
