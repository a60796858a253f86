package ttl

import (
	"context"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// imported reports whether rows were brought into the table or one of its partitions in a way that their ids
// do not show (IMPORT TABLESPACE on MySQL), and makes the policy wait for approval if so. Where an index
// says that nothing is due, a number that is known is not read again.
func (t *starter) imported(
	ctx context.Context, p catalog.Policy, places tables.Incarnation, prospects []prospect,
) (bool, error) {
	if t.store.Server().MariaDB {
		return false, nil
	}
	numbers, err := t.store.Numbers(ctx, p.ID)
	if err != nil {
		return false, err
	}

	for _, x := range prospects {
		place, found := places.At(x.partition)
		before, known := numbers[x.partition]
		if !found || place.TableID == 0 || known && x.estimate.Nothing {
			continue
		}

		now, err := t.session.TableNumber(ctx, x.statements.Touch())
		switch {
		case err != nil:
			return false, fmt.Errorf("read the number of %s: %w", x.statements.Target.Name(), err)
		case now == 0: // nobody tells
		case !known:
			if err := t.store.LearnNumber(ctx, p.ID, place, now); err != nil {
				return false, err
			}
		case now != before:
			return true, t.store.Imported(ctx, t.actor(), p, x.partition)
		}
	}

	return false, nil
}
