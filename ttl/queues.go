package ttl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// useQueues gives prospects of a policy that asks for it an expiry queue, and lets them go by it where
// that is cheaper.
func (t *starter) useQueues(
	ctx context.Context, now time.Time, d duePolicy, known tables.Incarnation, all []prospect,
) error {
	terms := d.policy.Terms
	if terms.Options.Plan != ddl.PlanQueue {
		return nil
	}

	for i := range all {
		x := &all[i]
		q := plan.Queueing{
			Terms: terms, IndexScan: t.limits().indexScan, Now: now, Whole: d.trigger == catalog.TriggerManual,
		}
		choice := x.statements.ByQueue(x.choice, x.estimate, q)
		if choice.Way == plan.Census {
			identity, _ := known.At(x.partition)
			queue, err := t.readyQueue(ctx, d.policy, x, identity.TableID)
			if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
				x.choice.Reason += fmt.Sprintf("; no expiry queue: error %d: %s", my.Number, my.Message)
				continue // it is only a hint: rows go without
			}
			if err != nil {
				return err
			}

			q.Census, x.queue = queue.Census, &queue
			choice = x.statements.ByQueue(x.choice, x.estimate, q)
		}

		x.choice = choice // without a queue it says why
	}

	return nil
}

// readyQueue is the queue of a prospect, whose entries can be read.
func (t *starter) readyQueue(ctx context.Context, p catalog.Policy, x *prospect, table uint64) (
	q catalog.ExpiryQueue, err error,
) {
	shape := x.statements.Shape(table, p.Terms)
	q, err = t.store.UseExpiryQueue(ctx, p.ID, x.partition, shape, p.Terms.Options.Shards())
	if err != nil {
		return q, err
	}

	entries := plan.ExpiryQueue{Table: t.store.Name("expiry_entry"), ID: q.ID}
	page, err := entries.Page(0, x.statements.Expired.Cutoff, nil, 1)
	if err == nil {
		_, err = plan.QueryKeys(ctx, t.session, page, plan.EntryColumns)
	}
	if err != nil {
		return q, fmt.Errorf("look into the expiry queue of %s: %w", p.Table, err)
	}
	return q, nil
}

// shards makes a task of each shard of the expiry queue that has something due.
func (t *starter) shards(ctx context.Context, x prospect) ([]catalog.TaskRange, error) {
	entries := plan.ExpiryQueue{Table: t.store.Name("expiry_entry"), ID: x.queue.ID}
	due, err := plan.QueryKeys(ctx, t.session, entries.Due(x.queue.Shards, x.statements.Expired.Cutoff), 1)
	if err != nil {
		return nil, fmt.Errorf("look into the expiry queue of %s: %w", x.statements.Target.Name(), err)
	}

	tasks := make([]catalog.TaskRange, len(due))
	for i, shard := range due {
		tasks[i].End = work.ShardRange(shard[0]).Encode()
	}
	return tasks, nil
}
