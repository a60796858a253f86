package work

import (
	"context"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Imported reports whether rows were brought into a table or partition of a policy in a way that its id does not
// show (IMPORT TABLESPACE on MySQL), and makes the policy wait for approval if so. A number that nobody has
// read before is learnt. The statement touches the place (plan's Statements.Touch).
func (r *Recognizer) Imported(
	ctx context.Context, s *Session, p catalog.Policy, place tables.Identity, known catalog.Numbers, touch string,
) (bool, error) {
	if place.TableID == 0 {
		return false, nil
	}

	before := known.Of(place)
	now, err := s.TableNumber(ctx, touch)
	switch {
	case err != nil:
		return false, fmt.Errorf("read the number of %s %s: %w", p.Table, place.Partition, err)
	case now == 0: // nobody tells
		return false, nil
	case before == 0:
		return false, r.store.LearnNumber(ctx, p.ID, s.server, place, now)
	case now != before:
		return true, r.store.Imported(ctx, r.actor(), p, place)
	default:
		return false, nil
	}
}

// Numbers are those known of a policy's table on the server of a session.
func (r *Recognizer) Numbers(ctx context.Context, s *Session, policy uint64) (catalog.Numbers, error) {
	return r.store.Numbers(ctx, policy, s.server)
}

// startedJustNow is how long a job's start has seen what its workers need not look for again.
const startedJustNow = time.Second

// unimported is errChanged for a task of a table into which rows were brought since its job began: while it was
// paused, or no engine was running, or between two turns of its workers.
func (w *worker) unimported(
	ctx context.Context, a assignment, now time.Time, known tables.Incarnation, touch string,
) error {
	if w.Store.Server().MariaDB || now.Sub(a.job.CreatedAt) < startedJustNow {
		return nil
	}
	numbers, err := w.Tables.Numbers(ctx, w.session, a.policy.ID)
	if err != nil {
		return err
	}
	place, _ := known.At(a.job.Partition)
	imported, err := w.Tables.Imported(ctx, w.session, a.policy, place, numbers, touch)
	if err == nil && imported {
		err = errChanged // the job has ended, or, where another table has the name, is for Recognize to end
	}
	return err
}
