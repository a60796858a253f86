package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// armed lists what the catalog would let go: a hint of where to look, never a proof.
const armed = `SELECT p.schema_name, p.table_name, CAST(TRIM(BOTH '''' FROM p.interval_literal) AS SIGNED)
	FROM ttlproxy.policy p LEFT JOIN ttlproxy.pause s ON s.policy_id = p.id
	WHERE p.schema_name LIKE ? AND COALESCE(s.paused, 0) = 0 AND (p.armed OR p.state IN ('staged', 'stopped'))
	AND (NOT p.approval_required OR COALESCE(p.approved_version, 0) = p.version)`

const (
	suspicion = 5 * time.Second // how long a policy is watched that should do nothing
	inTime    = 2 * time.Minute // how long what must go may take
)

// await puts a row of each age into every table, and waits until nothing can happen any more: until
// no armed policy is left over a table with rows that have to stay, and, if the script says so,
// until all is gone that must.
func (p *player) await(ctx context.Context) error {
	if err := p.fill(ctx, slices.Collect(maps.Keys(p.world.tables))...); err != nil {
		return err
	}
	if err := p.look(ctx); err != nil {
		return err
	}

	asked := map[name]bool{}
	quiet, err := until(ctx, suspicion, func() (bool, error) {
		doubtful, err := p.doubtful(ctx)
		if err != nil || len(doubtful) == 0 {
			return true, err
		}
		p.hurry(ctx, doubtful, asked)
		err = p.look(ctx)
		return len(p.world.wrong) > 0, err
	})
	if err != nil || len(p.world.wrong) > 0 {
		return err
	}
	if !quiet {
		p.doubted.Add(1)
	}
	if p.script.watch {
		return p.awaitGoing(ctx)
	}

	return nil
}

// doubtful lists the tables over which the catalog has a policy that would delete a row which has
// to stay.
func (p *player) doubtful(ctx context.Context) ([]name, error) {
	rows, err := p.db.QueryContext(ctx, armed, fmt.Sprintf("m%d_", p.number))
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var found []name
	for rows.Next() {
		var n name
		var days int
		if err := rows.Scan(&n.schema, &n.table, &days); err != nil {
			return nil, err
		}
		if n.schema = p.eyes.schemas[n.schema]; p.world.hasSafe(n, days) {
			found = append(found, n)
		}
	}

	return found, rows.Err()
}

// hasSafe reports whether a table has rows of that age which have to stay.
func (w *world) hasSafe(n name, days int) bool {
	for _, r := range w.rows {
		if r.table == n && r.free == "" && r.days > days {
			return true
		}
	}
	return false
}

// hurry asks once for a job on each table; whether there is one is the engine's affair.
func (p *player) hurry(ctx context.Context, tables []name, asked map[name]bool) {
	s, err := p.session(ctx, client{account: 0}, "db1")
	if err != nil {
		return
	}
	for _, n := range tables {
		if asked[n] {
			continue
		}
		asked[n] = true
		s.outcomes(p.names.Replace(action{verb: run, table: n}.text()), 1)
	}
}

// awaitGoing waits until all has gone that a policy beyond doubt covers.
func (p *player) awaitGoing(ctx context.Context) error {
	for n := range p.world.plainly {
		ways, t := p.world.policies[n], p.world.tables[n]
		if len(ways) != 1 || ways[0].home != homeOf(t) || t.column != ways[0].column {
			continue
		}

		gone, err := until(ctx, inTime, func() (bool, error) {
			err := p.look(ctx)
			return len(p.world.wrong) > 0 || !p.world.hasDue(n, ways[0]), err
		})
		if err != nil {
			return err
		}
		if !gone {
			p.world.wrong = append(p.world.wrong,
				fmt.Sprintf("%s has a policy beyond doubt, %+v, and rows that are due %v later%s",
					n, ways[0], inTime, p.state(ctx, n)))
			return nil
		}

		p.liveness.Add(1)
	}
	return nil
}

// hasDue reports whether a table still has rows that a policy covers.
func (w *world) hasDue(n name, p policy) bool {
	for _, r := range w.rows {
		if r.table == n && p.covers(r, w.tables[n]) {
			return true
		}
	}
	return false
}

// state is what the catalog says of a table, for whoever reads a failed run.
func (p *player) state(ctx context.Context, n name) string {
	var state string
	err := p.db.QueryRowContext(ctx, selectState, p.names.Replace(n.schema), n.table).Scan(&state)
	if err != nil {
		return ""
	}
	return ": " + state
}

const selectState = `SELECT CONCAT_WS(', ', p.state, p.reason, CONCAT('version ', p.version), CONCAT('approved ', p.approved_version),
	CONCAT('last job ', s.last_state, ' at ', s.last_started_at), CONCAT('job ', j.state, ' ', j.reason), CONCAT('now ', UTC_TIMESTAMP()))
	FROM ttlproxy.policy p LEFT JOIN ttlproxy.schedule s ON s.policy_id = p.id LEFT JOIN ttlproxy.job j ON j.policy_id = p.id
	WHERE p.schema_name = ? AND p.table_name = ? LIMIT 1`
