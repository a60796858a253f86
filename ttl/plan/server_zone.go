package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// utc are the names under which operating systems know UTC.
var utc = []string{"UTC", "GMT", "Etc/UTC", "Universal", "Zulu"}

// ServerZone resolves the server's global time zone to a name or an offset that means the same everywhere. SYSTEM is
// resolved through system_time_zone, which is usually an abbreviation; one that several zones share is refused.
func ServerZone(ctx context.Context, q Querier) (string, error) {
	var global, system string
	if err := q.QueryRowContext(ctx, "SELECT @@global.time_zone, @@system_time_zone").Scan(&global, &system); err != nil {
		return "", fmt.Errorf("read the server's time zone: %w", err)
	}
	if global != "SYSTEM" {
		_, err := catalog.Zone(global)
		return global, err
	}
	if slices.Contains(utc, system) {
		return "UTC", nil
	}
	if _, err := catalog.Zone(system); err != nil || len(system) < 6 {
		return "", fmt.Errorf("%w SYSTEM of the server (%s) does not name one zone; set TTL_TIME_ZONE to a name such as 'Europe/Prague' or an offset such as '+02:00'", catalog.ErrZone, system)
	}
	return system, nil
}

// InServerZone is the condition that ServerZone would still say this zone.
func InServerZone(zone string) string {
	return fmt.Sprintf("IF(@@global.time_zone <> 'SYSTEM', @@global.time_zone,"+
		" IF(@@system_time_zone IN ('%s'), 'UTC', @@system_time_zone)) = '%s'",
		strings.Join(utc, "', '"), strings.ReplaceAll(zone, "'", "''"))
}
