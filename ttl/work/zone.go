package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// byServerZone reports whether the dates of a policy are read in the server's zone, whatever that
// is now.
func byServerZone(r catalog.Rule, column tables.Kind) bool {
	return column != tables.Timestamp && r.ZoneSource == catalog.ZoneFromServer
}

// ZonePause says why dates cannot be judged in the zone of a rule: the server's is a different one,
// or its clocks differ from those here.
func ZonePause(ctx context.Context, q tables.Querier, r catalog.Rule, column tables.Kind) (string, error) {
	if column == tables.Timestamp {
		return "", nil
	}

	if byServerZone(r, column) {
		zone, err := tables.ServerZone(ctx, q)
		if errors.Is(err, ddl.ErrZone) {
			return err.Error(), nil
		}
		if err != nil {
			return "", err
		}
		if zone != r.TimeZone {
			return fmt.Sprintf("the server's time zone is %s and was %s when the policy was declared; declare it "+
				"again or set TTL_TIME_ZONE", zone, r.TimeZone), nil
		}
	}

	why, err := tables.ZoneAhead(ctx, q, r.TimeZone)
	if errors.Is(err, ddl.ErrZone) {
		return err.Error(), nil
	}

	return why, err
}

// zoneGuard is the condition that dates are still written in the zone in which the cutoff was
// computed.
func zoneGuard(r catalog.Rule, column tables.Kind) string {
	if !byServerZone(r, column) {
		return ""
	}
	return " AND " + tables.InServerZone(r.TimeZone)
}
