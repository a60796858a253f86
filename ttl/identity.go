package ttl

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// recognize makes sure that a policy's table still is the one it was declared on; nil when it is not, and then the
// policy is disarmed.
func (e *Engine) recognize(ctx context.Context, p catalog.Policy) ([]catalog.Identity, error) {
	known, why, err := e.store.Recognize(ctx, e.actor(), p)
	if why != "" {
		e.log.LogAttrs(ctx, slog.LevelWarn, "policy is disarmed", slog.String("schema", p.Table.Schema), slog.String("table", p.Table.Name), slog.String("reason", why))
	}
	return known, err
}

// remembered is what the table was on the worker's server when it was last recognized; on first sight that is done now.
func (w *worker) remembered(ctx context.Context, p catalog.Policy) ([]catalog.Identity, error) {
	known, err := w.store.IdentitiesOn(ctx, p.ID, w.session.server)
	if err == nil && len(known) > 0 && known[0].Held == catalog.FirstSight {
		err = &doubtError{catalog.FirstSight}
	}
	if err != nil || len(known) > 0 {
		return known, err
	}
	if known, err = w.recognize(ctx, p); err != nil || known == nil {
		return nil, err
	}
	if known[0].Held == catalog.FirstSight {
		return nil, &doubtError{catalog.FirstSight}
	}
	if known, err = w.store.IdentitiesOn(ctx, p.ID, w.session.server); err == nil && len(known) == 0 {
		err = &doubtError{fmt.Sprintf("connections lead to server %s, and those of the catalog to another one", w.session.server)}
	}
	return known, err
}

// doubtError is a reason to wait: nothing is wrong with the policy, but what would be deleted from is not certain.
type doubtError struct{ reason string }

func (e *doubtError) Error() string { return e.reason }

// settleTime is how long a table is left alone after CREATE_TIME, which has whole seconds: what is altered or created
// within the same second would look the same.
const settleTime = 1100 * time.Millisecond

// identityOf is the condition that goes into every DELETE: the table, and the partition in question, still are the
// ones remembered. CREATE_TIME tells everything apart but tables made in the same second; where there are such twins,
// or may be, InnoDB's table id, which is dearer to ask for, goes in too.
func (w *worker) identityOf(ctx context.Context, now time.Time, p catalog.Policy, t plan.Target, all []catalog.Identity) (string, error) {
	table, found := identified(all, "")
	if !found {
		return "", errChanged
	}
	if err := settle(ctx, now, table.CreateTime); err != nil {
		return "", err
	}
	name := catalog.Table{Schema: t.Schema, Name: t.Table}
	cond := catalog.IdentityCondition(name, table.CreateTime)
	one := table
	if t.Partition != "" {
		if one, found = identified(all, t.Partition); !found {
			return "", errChanged
		}
		cond += " AND " + partitionCondition(t, one.CreateTime)
	}
	byID, known := w.store.TableIDCondition(name, one)
	if t.Partition != "" && known {
		return cond + " AND " + byID, nil
	}
	twins, err := w.hasTwins(ctx, p, table.CreateTime, known)
	switch {
	case err != nil:
		return "", err
	case !twins:
		return cond, nil
	case !known:
		return "", &doubtError{"another table may have been created in the same second, and InnoDB's table ids, which tell them apart, cannot be read: " +
			"GRANT PROCESS makes them visible, SELECT ON *.* shows whether there is such a table"}
	default:
		return cond + " AND " + byID, nil
	}
}

// settle waits until nothing can look like the table any more that is not.
func settle(ctx context.Context, now, created time.Time) error {
	switch left := settleTime - now.Sub(created); {
	case left > 2*settleTime:
		return &doubtError{fmt.Sprintf("the table was created at %s, which the server's clock has not reached: it was turned back", created.Format(time.DateTime))}
	case left > 0:
		wait(ctx, left)
	}
	return ctx.Err()
}

func partitionCondition(t plan.Target, created time.Time) string {
	return "(SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = " + text(t.Schema) +
		" AND TABLE_NAME = " + text(t.Table) + " AND PARTITION_NAME = " + text(t.Partition) +
		" AND CREATE_TIME = " + text(created.Format(time.DateTime)) + ") > 0"
}

func identified(all []catalog.Identity, partition string) (catalog.Identity, bool) {
	for _, i := range all {
		if i.Partition == partition {
			return i, !i.CreateTime.IsZero() && i.Held == ""
		}
	}
	return catalog.Identity{}, false
}
