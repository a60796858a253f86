package tables

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// utc are the names under which operating systems know UTC.
var utc = []string{"UTC", "GMT", "Etc/UTC", "Universal", "Zulu"}

// ServerZone resolves the server's global time zone to a name or an offset that means the same
// everywhere. SYSTEM is resolved through system_time_zone, which is usually an abbreviation; one
// that several zones share is refused.
func ServerZone(ctx context.Context, q Querier) (string, error) {
	var global, system string
	if err := q.QueryRowContext(ctx, "SELECT @@global.time_zone, @@system_time_zone").Scan(&global,
		&system); err != nil {
		return "", fmt.Errorf("read the server's time zone: %w", err)
	}
	if global != "SYSTEM" {
		_, err := ddl.Zone(global)
		return global, err
	}
	if slices.Contains(utc, system) {
		return "UTC", nil
	}
	if _, err := ddl.Zone(system); err != nil || len(system) < 6 {
		return "",
			fmt.Errorf("%w SYSTEM of the server (%s) does not name one zone; set TTL_TIME_ZONE to a name such as "+
				"'Europe/Prague' or an offset such as '+02:00'", ddl.ErrZone, system)
	}

	return system, nil
}

// InServerZone is the condition that ServerZone would still say this zone.
func InServerZone(zone string) string {
	return fmt.Sprintf("IF(@@global.time_zone <> 'SYSTEM', @@global.time_zone,"+
		" IF(@@system_time_zone IN ('%s'), 'UTC', @@system_time_zone)) = '%s'",
		strings.Join(utc, "', '"), strings.ReplaceAll(zone, "'", "''"))
}

// ZoneAhead says that the clocks of a zone are further on here than on the server, so that a cutoff
// would be early: governments change zones, and one of the two has not heard of it. Where the
// server does not know the zone nothing there is read in it.
func ZoneAhead(ctx context.Context, q Querier, zone string) (string, error) {
	location, err := ddl.Zone(zone)
	if err != nil {
		return "", err
	}

	var now string
	var theirs sql.Null[int]
	query := "SELECT CAST(UTC_TIMESTAMP(0) AS CHAR), TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(0), " +
		"CONVERT_TZ(UTC_TIMESTAMP(0), '+00:00', ?))"
	if err := q.QueryRowContext(ctx, query, zone).Scan(&now, &theirs); err != nil {
		return "", fmt.Errorf("ask what time it is in %s: %w", zone, err)
	}

	at, err := time.Parse(time.DateTime, now)
	if err != nil {
		return "", fmt.Errorf("read the server's clock: %w", err)
	}

	_, ours := at.In(location).Zone()
	if !theirs.Valid || ours <= theirs.V {
		return "", nil
	}

	return fmt.Sprintf("in %s it is %s later by the time zone tables of this proxy than by those of the server: one "+
		"of them is out of date",
		zone, ddl.FormatDuration(time.Duration(ours-theirs.V)*time.Second)), nil
}
