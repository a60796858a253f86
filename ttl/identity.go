package ttl

import (
	"context"
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

// identityOf is the condition that a table, and the partition in question, still are the ones remembered.
func identityOf(t plan.Target, all []catalog.Identity) (string, bool) {
	table, found := created(all, "")
	if !found {
		return "", false
	}
	cond := catalog.IdentityCondition(catalog.Table{Schema: t.Schema, Name: t.Table}, table)
	if t.Partition == "" {
		return cond, true
	}
	part, found := created(all, t.Partition)
	if !found {
		return "", false
	}
	return cond + " AND (SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = " + text(t.Schema) +
		" AND TABLE_NAME = " + text(t.Table) + " AND PARTITION_NAME = " + text(t.Partition) +
		" AND CREATE_TIME = " + text(part.Format(time.DateTime)) + ") > 0", true
}

func created(all []catalog.Identity, partition string) (time.Time, bool) {
	for _, i := range all {
		if i.Partition == partition {
			return i.CreateTime, !i.CreateTime.IsZero() && i.Held == ""
		}
	}
	return time.Time{}, false
}
