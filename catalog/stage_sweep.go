package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// judge finds out from the tables whether a DDL has happened.
func judge(p Policy, after looks) outcome {
	g := p.Stage
	old, target := after[p.Table], after[g.target()]
	switch {
	case g.Kind == IntentDrop:
		return decided(!old.Exists)
	case g.Kind == IntentRename:
		return judgeRename(g, old, target)
	case g.Imports != "":
		return happened // ids and times need not show it, and nothing is lost but an approval
	case len(g.Identity) == 0:
		return decided(target.Exists && g.found.descent != foreign)
	default:
		return judgeChange(p, old, target)
	}
}

// judgeChange examines a table that was to be altered, replaced or emptied, and perhaps renamed in
// the same statement.
func judgeChange(p Policy, old, target tables.Seen) outcome {
	g := p.Stage
	sameRule := !g.Remove && (g.Rule == nil || g.Rule.Equal(p.Rule))
	switch found := g.found.descent; {
	case !target.Exists:
		return decided(!old.Exists) // and the table is gone since: the policy is disarmed
	case found == remade && g.atOnce(target):
		return happened
	case found == itself && g.To != nil && (sameRule || g.before(target, whileBroken)):
		return happened
	case found == itself && g.To != nil: // others may have renamed it, which on MySQL leaves the time as it was
		return unclear
	case found == itself && g.Kind != IntentAlter,
		found == foreign && old.Exists && g.Identity.SharesID(old.Incarnation):
		return refused
	case found == remade, found == foreign:
		return unclear
	case !old.Exists:
		return happened
	}

	altered := !sameIncarnation(g.Identity, old.Incarnation) || g.Shape != nil && g.Shape.Difference(old.Shape) != ""
	switch {
	case altered && g.before(old, whileBroken):
		return happened
	case sameRule: // the engine looks at what has been altered
		return refused
	case !altered && g.Identity.Table().CreateTime.Before(g.At.Truncate(time.Second)):
		return refused
	default: // others may have altered it, and within one second CREATE_TIME does not tell two incarnations apart
		return unclear
	}
}

func decided(yes bool) outcome {
	if yes {
		return happened
	}
	return refused
}

// judgeRename finds out where the table is that had the old name. Whatever else has one of the two
// names proves nothing.
func judgeRename(g *StageInfo, old, target tables.Seen) outcome {
	switch {
	case g.Shape == nil:
		return refused // there was no table
	case target.Exists && sameTable(g.Identity, target.Incarnation):
		return happened
	case old.Exists && sameTable(g.Identity, old.Incarnation):
		return refused
	case !old.Exists && target.Exists && !target.Incarnation.HasID() && g.Shape.Difference(target.Shape) == "":
		return happened // on MariaDB a rename changes CREATE_TIME, and there is nothing else to judge by
	default:
		return unclear
	}
}

// believe takes the server's OK for what it is: the statement was not refused. Whether it affected
// the staged table, that table shows: RENAME and ALTER … RENAME do nothing where IF EXISTS finds no
// table, and say so in a warning only; DROP leaves no table behind, and TRUNCATE one with another
// id.
func believe(p Policy, after looks) outcome {
	g := p.Stage
	old, target := after[p.Table], g.target()
	there := old.Exists && sameTable(g.Identity, old.Incarnation)
	switch {
	case g.Kind == IntentRename:
		return judgeRename(g, old, after[target])
	case g.Kind == IntentDrop, g.Kind == IntentTruncate:
		return decided(!there)
	case target != p.Table:
		return decided(g.Shape != nil && !there)
	}
	return happened
}

// sameTable reports whether a table is the one that it was under another name. That keeps the
// InnoDB ids; on MariaDB CREATE_TIME is when the file was touched last.
func sameTable(was, is tables.Incarnation) bool {
	if !was.HasID() && !is.HasID() {
		return sameIncarnation(was, is)
	}
	return slices.EqualFunc(was, is, func(x,
		y tables.Identity,
	) bool {
		return x.Partition == y.Partition && x.TableID == y.TableID
	})
}

// sameIncarnation reports whether a table and its partitions are the ones they were.
func sameIncarnation(a, b tables.Incarnation) bool {
	return slices.EqualFunc(a, b, func(x, y tables.Identity) bool {
		return x.Partition == y.Partition && x.TableID == y.TableID && x.CreateTime.Equal(y.CreateTime)
	})
}

// abandonedAfter is how long a stage on another server, which nobody can ask, waits for its proxy
// to come back.
const abandonedAfter = time.Hour

// Sweep settles the stages whose client is gone, by looking at the tables. It returns how many
// policies it has settled. Housekeeping calls it, and so does Stage when it finds one.
func (s *Store) Sweep(ctx context.Context) (settled int, err error) {
	return s.sweep(ctx, s.gone)
}

// SweepMember settles the stages of clients of another server in front of the same data, by asking
// it which connections there are. If nobody calls it, such a stage waits for its proxy.
func (s *Store) SweepMember(ctx context.Context, member *sql.DB) (settled int, err error) {
	there, err := ReadServer(ctx, member)
	if err != nil || there.Key() == s.Server().Key() {
		return 0, err
	}
	return s.sweep(ctx, func(ctx context.Context, who Client, _ uint64) (bool, error) {
		if !there.is(who.Server) {
			return false, nil
		}
		return goneFrom(ctx, member, there, who)
	})
}

// sweep settles the stages whose client is gone, as gone reports.
func (s *Store) sweep(ctx context.Context,
	gone func(context.Context, Client, uint64) (bool, error),
) (settled int, err error) {
	staged, err := s.policies(ctx, s.db, selectStagedPolicies)
	if err != nil {
		return 0, err
	}

	type statement struct {
		by   Client
		mark string
	}
	groups := map[statement][]uint64{}
	for _, p := range staged {
		of := statement{p.Stage.Client, p.Stage.Mark}
		groups[of] = append(groups[of], p.ID)
	}

	for of, ids := range groups {
		ended, err := gone(ctx, of.by, ids[0])
		if err != nil {
			return settled, err
		}
		if !ended {
			continue
		}

		_, err = s.conclude(ctx, ids, of.mark, judge)
		if err != nil && !errors.Is(err, ErrPolicyChanged) && !errors.Is(err, ErrNoPolicy) {
			return settled, err
		}

		settled += len(ids)
	}

	return settled, nil
}

// gone reports whether a client's connection has ended. In doubt it has not.
func (s *Store) gone(ctx context.Context, who Client, policy uint64) (bool, error) {
	now, err := ReadServer(ctx, s.db)
	if err != nil {
		return false, err
	}
	if !now.is(who.Server) {
		return s.abandoned(ctx, policy)
	}
	return goneFrom(ctx, s.db, now, who)
}

// goneFrom asks a client's own server.
func goneFrom(ctx context.Context, db execer, server Server, who Client) (bool, error) {
	if !who.Boot.IsZero() && server.Boot.Sub(who.Boot).Abs() > 2*time.Second {
		return true, nil
	}
	if ok, err := SeesProcesses(ctx, db); err != nil || !ok {
		return false, err
	}
	n, on := 0, true
	err := db.QueryRowContext(ctx, selectConnection, who.Connection).Scan(&n)
	if isServerError(err, ddl.CodeUnreadableText) {
		err = db.QueryRowContext(ctx, selectConnectionAlone, who.Connection).Scan(&n, &on)
	}
	if err != nil {
		return false, fmt.Errorf("look for connection %d: %w", who.Connection, err)
	}
	return n == 0 && on, nil
}

// abandoned reports whether the proxy of a stage on another server has been dead for a long time.
func (s *Store) abandoned(ctx context.Context, policy uint64) (bool, error) {
	var n int
	err := s.db.QueryRowContext(ctx, s.sql(selectAbandoned),
		policy, abandonedAfter.Microseconds(), s.deadAfter()).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look at an old stage: %w", err)
	}
	return n > 0, nil
}

// SeesProcesses reports whether the account sees other accounts' connections.
func SeesProcesses(ctx context.Context, db execer) (bool, error) {
	var one sql.Null[int]
	err := db.QueryRowContext(ctx, probeProcess).Scan(&one)
	if isServerError(err, ddl.CodeRightNeeded) {
		return false, nil
	}
	if err != nil && !isNoRows(err) {
		return false, fmt.Errorf("probe PROCESS: %w", err)
	}
	return true, nil
}
