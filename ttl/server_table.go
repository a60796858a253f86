package ttl

import (
	"context"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// serverTable is the table on the server, reached by one session and deleted from through the barrier.
type serverTable struct {
	policy     catalog.Policy
	session    *session
	statements *plan.Statements
	barrier    *barrier
	batch      uint64 // the task's batch number as we last knew it

	halted func() string // asked before each packet: a switch that needs no catalog

	// beforePacket is a hook for tests: it runs between deciding on a batch and sending it.
	beforePacket func()
}

func (t *serverTable) blockEnd(ctx context.Context, r plan.Range, rows int) (plan.Key, error) {
	query, err := t.statements.BlockEnd(r, rows)
	if err != nil {
		return nil, err
	}
	keys, err := t.read(ctx, query, len(t.statements.Key))
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return keys[0], nil
}

// blockRows counts a range that is known to be shorter than a block.
func (t *serverTable) blockRows(ctx context.Context, r plan.Range) (rows int, err error) {
	query, err := t.statements.BlockRows(r)
	if err != nil {
		return 0, err
	}
	if err := t.session.ready(ctx); err != nil {
		return 0, err
	}
	return rows, t.session.QueryRowContext(ctx, query).Scan(&rows)
}

func (t *serverTable) dueKeys(ctx context.Context, r plan.Range) ([]plan.Key, error) {
	query, err := t.statements.BlockKeys(r)
	if err != nil {
		return nil, err
	}
	return t.read(ctx, query, len(t.statements.Key))
}

func (t *serverTable) dueAmong(ctx context.Context, r plan.Range, keys []plan.Key) ([]plan.Key, error) {
	query, err := t.statements.DueAmong(r, keys)
	if err != nil {
		return nil, err
	}
	return t.read(ctx, query, len(t.statements.Key))
}

func (t *serverTable) page(ctx context.Context, after plan.Key, rows int) ([]plan.Key, error) {
	query, err := t.statements.WalkPage(after, rows)
	if err != nil {
		return nil, err
	}
	return t.read(ctx, query, len(t.statements.Walk))
}

func (t *serverTable) keyOf(entry plan.Key) plan.Key { return t.statements.KeyOf(entry) }

func (t *serverTable) read(ctx context.Context, query string, columns int) ([]plan.Key, error) {
	if err := t.session.ready(ctx); err != nil {
		return nil, err
	}
	return plan.QueryKeys(ctx, t.session, query, columns)
}

func (t *serverTable) deleteRange(ctx context.Context, r plan.Range, c checkpoint) (int64, error) {
	packet, err := t.packet(r, c)
	if err != nil {
		return 0, err
	}
	return t.send(ctx, packet)
}

// packet is the batch that deletes a range: BEGIN, enter, entered, DELETE, leave, COMMIT.
func (t *serverTable) packet(r plan.Range, c checkpoint) ([]string, error) {
	del, err := t.statements.DeleteRange(r, t.barrier.inside(t.batch))
	return t.wrap(del, c), err
}

func (t *serverTable) wrap(del string, c checkpoint) []string {
	return []string{"BEGIN", t.barrier.enter(t.batch), entered, t.barrier.comment() + del, t.barrier.leave(t.batch, c), "COMMIT"}
}

func (t *serverTable) deleteKeys(ctx context.Context, keys []plan.Key, c checkpoint) (int64, error) {
	del, err := t.statements.DeleteKeys(keys, t.barrier.inside(t.batch))
	if err != nil {
		return 0, err
	}
	return t.send(ctx, t.wrap(del, c))
}

func (t *serverTable) deleteSome(ctx context.Context, rows int, c checkpoint) (int64, error) {
	return t.send(ctx, t.wrap(t.statements.DeleteSome(rows, t.barrier.inside(t.batch)), c))
}

func (t *serverTable) send(ctx context.Context, packet []string) (int64, error) {
	if err := t.session.ready(ctx); err != nil {
		return 0, err
	}
	if t.beforePacket != nil {
		t.beforePacket()
	}
	if t.halted != nil && t.halted() != "" {
		return 0, errHalted
	}
	found, err := t.session.packet(ctx, packet...)
	if err != nil {
		t.session.visited = t.policy.ID
		return 0, err
	}
	return t.judge(found)
}

// judge reads the answers of a packet and keeps count of the batches.
func (t *serverTable) judge(found []int64) (int64, error) {
	how, deleted, err := readPacket(found)
	if deleted > 0 {
		t.session.visited = t.policy.ID
	}
	switch {
	case err != nil:
		return 0, err
	case how == refused:
		return 0, errRefused
	case how == changed:
		t.batch++ // entering was committed
		return 0, errChanged
	default:
		t.batch++
		return deleted, nil
	}
}

// deleteUnlocked goes round rows that somebody holds: it locks those of the keys that are free and deletes them, in one
// transaction of two packets. wait_timeout ends the transaction should we never send the second.
func (t *serverTable) deleteUnlocked(ctx context.Context, keys []plan.Key, c checkpoint) (int64, error) {
	if err := t.session.ready(ctx); err != nil {
		return 0, err
	}
	if t.halted != nil && t.halted() != "" {
		return 0, errHalted
	}
	lock, err := t.statements.UnlockedKeys(keys)
	if err != nil {
		return 0, err
	}
	entered, err := t.session.packet(ctx, "BEGIN", t.barrier.enter(t.batch), entered)
	if err != nil {
		return 0, err
	}
	free, err := plan.QueryKeys(ctx, t.session, lock, len(t.statements.Key))
	if err != nil {
		t.session.rollback(ctx)
		return 0, err
	}
	c.skipped += int64(len(keys) - len(free))
	c.chosen = int64(len(free))
	del, err := t.statements.DeleteKeys(free, t.barrier.inside(t.batch))
	if err != nil {
		t.session.rollback(ctx)
		return 0, err
	}
	if t.beforePacket != nil {
		t.beforePacket()
	}
	left, err := t.session.packet(ctx, t.barrier.comment()+del, t.barrier.leave(t.batch, c), "COMMIT")
	if err != nil {
		t.session.visited = t.policy.ID
		return 0, err
	}
	return t.judge(append(entered, left...))
}

// move checkpoints without deleting.
func (t *serverTable) move(ctx context.Context, c checkpoint) error {
	if err := t.session.ready(ctx); err != nil {
		return err
	}
	found, err := t.session.packet(ctx, t.barrier.move(t.batch, c))
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if found[0] == 0 {
		return errRefused
	}
	return nil
}

func (t *serverTable) resume(batch uint64) { t.batch = batch }
