package statement

import (
	"context"
	"regexp"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

var (
	clockLike = regexp.MustCompile(`^\d+:\d+(:\d+)?$`)
	timeOfDay = regexp.MustCompile(`^([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?$`)
)

// until reads the time of PAUSE … UNTIL as the session does: in its time zone, and a time of day
// means its next occurrence.
func (a *admin) until(ctx context.Context, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	at := "CAST(" + literal(text) + " AS DATETIME)"
	switch {
	case timeOfDay.MatchString(text):
		at = "TIMESTAMP(CURRENT_DATE, " + literal(text) + ")"
		at += " + INTERVAL (" + at + " <= NOW()) DAY"
	case clockLike.MatchString(text): // 25:00 is a TIME to the servers, and 31:10:01 the first of October 2031
		return time.Time{}, wrongTime(text)
	}

	utc, err := a.q.x.AskValues(proxy.SelectValues("CONVERT_TZ(" + at + ", @@session.time_zone, '+00:00')"))
	if err != nil {
		return time.Time{}, err
	}
	if utc[0] == "" {
		return time.Time{}, wrongTime(text)
	}

	until, err := time.Parse(time.DateTime, utc[0])
	if err != nil {
		return time.Time{}, err
	}

	now, err := a.q.store.Clock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if !until.After(now) {
		return time.Time{}, refuse("PAUSE TTL UNTIL '%s' lies in the past", text)
	}

	return until, nil
}

func wrongTime(text string) error {
	return &wire.Error{
		Code: ddl.CodeTruncated, State: "22007",
		Message: "Incorrect DATETIME value: '" + text + "'; it is a date and time, or a time of day",
	}
}
