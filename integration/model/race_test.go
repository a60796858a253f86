package model

import (
	"context"
	"fmt"
	"time"
)

// race runs a statement of the proxy while somebody reads its table, so that the server cannot end
// it. Then, as the step says, another waits behind it, around the proxy; the proxy dies; the
// statement is killed. At last the reader goes.
func (p *player) race(ctx context.Context, s step) error {
	a := s.actions[0]
	release, err := p.read(ctx, a.table.under(s.in))
	if err != nil {
		return err
	}
	defer release()

	on, err := p.session(ctx, s.client, s.in)
	if err != nil {
		return err
	}

	first := make(chan outcome, 1)
	go func() { first <- on.outcomes(p.names.Replace(a.text()), 1)[0] }()
	if err := p.awaitWaiting(ctx, 1); err != nil {
		return err
	}

	second, err := p.queue(ctx, s, a)
	if err != nil {
		return err
	}
	if s.kill {
		p.own.Kill()
	}

	if s.abort {
		if err := p.abort(ctx); err != nil {
			return err
		}
	}

	release()
	o, swapped := <-first, <-second
	p.concludes(on, s, a, o)
	if s.swap != nil {
		p.concludes(&session{}, step{client: around, in: s.in}, *s.swap, swapped)
	}
	if !s.kill {
		return nil
	}
	if err := p.awaitGone(ctx); err != nil {
		return err
	}

	return p.killProxy()
}

// queue starts the swap around the proxy, and returns when it waits.
func (p *player) queue(ctx context.Context, s step, _ action) (chan outcome, error) {
	result := make(chan outcome, 1)
	if s.swap == nil {
		result <- done
		return result, nil
	}
	direct, err := p.session(ctx, around, s.in)
	if err != nil {
		return nil, err
	}
	go func() { result <- direct.outcomes(p.names.Replace(s.swap.text()), 1)[0] }()
	return result, p.awaitWaiting(ctx, 2)
}

// read begins a transaction that has read the table. What it returns ends it, and may be called
// twice.
func (p *player) read(ctx context.Context, n name) (release func(), err error) {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}

	release = func() { _ = tx.Rollback() }
	if _, exists := p.world.tables[n]; !exists {
		return release, nil
	}
	if _, err := tx.ExecContext(ctx, p.names.Replace(fmt.Sprintf("DO (SELECT COUNT(*) FROM %s)", n))); err != nil {
		release()
		return nil, err
	}

	return release, nil
}

const (
	countWaiting = `SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock%' AND (info LIKE ? OR db LIKE ?)`
	countClients = `SELECT COUNT(*) FROM information_schema.processlist WHERE user LIKE ? AND command <> 'Sleep'`
	listClients  = `SELECT id FROM information_schema.processlist WHERE user LIKE ? AND state LIKE 'Waiting for table metadata lock%'`
)

// awaitWaiting waits until so many statements of the script wait for a table, or until it is plain
// that they do not.
func (p *player) awaitWaiting(ctx context.Context, n int) error {
	_, err := until(ctx, 500*time.Millisecond, func() (bool, error) {
		var waiting int
		schema := fmt.Sprintf("m%d_", p.number)
		err := p.db.QueryRowContext(ctx, countWaiting, "%"+schema+"%", schema).Scan(&waiting)
		return waiting >= n, err
	})
	return err
}

// awaitGone waits until the server has ended what clients of the dead proxy had begun.
func (p *player) awaitGone(ctx context.Context) error {
	_, err := until(ctx, patience, func() (bool, error) {
		var left int
		err := p.db.QueryRowContext(ctx, countClients, fmt.Sprintf("m%du%%", p.number)).Scan(&left)
		return left == 0, err
	})
	return err
}

// abort kills the statements of the script's accounts that wait.
func (p *player) abort(ctx context.Context) error {
	rows, err := p.db.QueryContext(ctx, listClients, fmt.Sprintf("m%du%%", p.number))
	if err != nil {
		return err
	}
	defer rows.Close()

	var ids []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}

	for _, id := range ids {
		_ = p.exec(ctx, fmt.Sprintf("KILL %d", id)) // which may have ended by itself
	}

	return rows.Err()
}
