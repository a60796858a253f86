package ddl

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// ErrZone means that a zone is not the same everywhere.
var ErrZone = errors.New("time zone")

var offsetZone = regexp.MustCompile(`^([+-])(\d{1,2}):(\d{2})$`)

// Zone resolves the zone a policy stores: a name of the tz database ("Europe/Prague", "UTC") or an
// offset as the servers write it ("+02:00"). "SYSTEM", "Local" and the empty string are refused:
// they mean different zones on different machines.
func Zone(name string) (*time.Location, error) {
	if m := offsetZone.FindStringSubmatch(name); m != nil {
		return offset(name, m)
	}
	switch name {
	case "", "SYSTEM", "Local":
		return nil,
			fmt.Errorf("%w %q does not name a zone; set TTL_TIME_ZONE to a name such as 'Europe/Prague' or an offset "+
				"such as '+02:00'", ErrZone, name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%w %q is unknown; use a name such as 'Europe/Prague' or an offset such as '+02:00'",
			ErrZone, name)
	}
	return zone, nil
}

// offset reads "+hh:mm" within the servers' range of -13:59 to +14:00.
func offset(name string, m []string) (*time.Location, error) {
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3])
	seconds := (hours*60 + minutes) * 60
	if m[1] == "-" {
		seconds = -seconds
	}
	if minutes > 59 || seconds < -(13*60+59)*60 || seconds > 14*60*60 {
		return nil, fmt.Errorf("%w %q is outside -13:59 to +14:00", ErrZone, name)
	}
	if seconds == 0 {
		return time.UTC, nil
	}

	return time.FixedZone(name, seconds), nil
}
