package statement

import (
	"context"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// until reads the time of PAUSE … UNTIL, which is of the session's zone unless it names one; zero
// without UNTIL.
func (a *admin) until(ctx context.Context, text *string) (time.Time, error) {
	if text == nil {
		return time.Time{}, nil
	}
	instant, ok := ddl.ReadInstant(*text)
	if !ok {
		return time.Time{}, wrongTime(*text)
	}

	now, err := a.q.store.Clock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	until, err := a.moment(instant, now)
	if err != nil {
		return time.Time{}, err
	}

	switch {
	case until.After(lastMoment):
		return time.Time{}, wrongTime(*text)
	case !until.After(now):
		return time.Time{}, refuse("PAUSE TTL UNTIL '%s' lies in the past", instant)
	}
	return until, nil
}

// lastMoment is the latest that a server can store.
var lastMoment = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// moment is when an instant is in the session's zone. A zone that only the server knows, such as
// SYSTEM, may have another offset then than now: the server says which.
func (a *admin) moment(i ddl.Instant, now time.Time) (time.Time, error) {
	if !i.Floats() {
		return i.At(now, time.UTC), nil
	}
	zone, known, err := zoneOf(a.q.x)
	if err != nil || known {
		return i.At(now, zone), err
	}

	clock := i.At(now, zone).In(zone)
	offset, err := a.offsetAt(clock)
	if err != nil {
		return time.Time{}, err
	}
	return i.At(now, time.FixedZone(zone.String(), offset)), nil
}

// lastConverted is the last year of which every server converts all times.
const lastConverted = 2037

// offsetAt asks the server for the offset, in seconds, that the session's zone has when its clocks show
// a time. After lastConverted a server may take any zone for UTC; the same days of the week return every
// 28 years, and with them the days on which clocks change.
func (a *admin) offsetAt(clock time.Time) (int, error) {
	if years := clock.Year() - lastConverted; years > 0 {
		clock = clock.AddDate(-(years+27)/28*28, 0, 0)
	}
	at := literal(clock.Format(time.DateTime))
	values, err := a.q.x.AskValues(proxy.SelectValues(
		"TIMESTAMPDIFF(SECOND, CONVERT_TZ(" + at + ", @@session.time_zone, '+00:00'), " + at + ")"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(values[0])
}

func wrongTime(text string) error {
	return &wire.Error{
		Code: ddl.CodeTruncated, State: "22007",
		Message: "Incorrect DATETIME value: '" + text + "'; it is a date and time, such as '2030-01-31 18:00' or " +
			"'2030-01-31 18:00:00+01:00', or a time of day, such as '18:00'",
	}
}
