package ttl

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// imported reports whether rows were brought into the table or one of its partitions in a way that their ids
// do not show, and makes the policy wait for approval if so. Where an index says that nothing is due, a number
// that is known is not read again.
func (t *starter) imported(
	ctx context.Context, p catalog.Policy, places tables.Incarnation, prospects []prospect,
) (bool, error) {
	if t.store.Server().MariaDB {
		return false, nil
	}
	numbers, err := t.tables.Numbers(ctx, t.session, p.ID)
	if err != nil {
		return false, err
	}

	for _, x := range prospects {
		place, _ := places.At(x.partition)
		if x.estimate.Nothing && numbers.Of(place) != 0 {
			continue
		}
		imported, err := t.tables.Imported(ctx, t.session, p, place, numbers, x.statements.Touch())
		if err != nil || imported {
			return imported, err
		}
	}

	return false, nil
}
