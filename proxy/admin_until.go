package proxy

import (
	"context"
	"regexp"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// codeWrongTime is ER_TRUNCATED_WRONG_VALUE.
const codeWrongTime = 1292

var timeOfDay = regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2})?$`)

// until reads the time of PAUSE … UNTIL as the session does: in its time zone, and a time of day is the next one.
func (a *admin) until(ctx context.Context, x *exchange, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at := "CAST(" + literal(text) + " AS DATETIME)"
	if timeOfDay.MatchString(text) {
		at = "TIMESTAMP(CURRENT_DATE, " + literal(text) + ")"
		at += " + INTERVAL (" + at + " <= NOW()) DAY"
	}
	r, err := x.Ask("SELECT CONVERT_TZ(" + at + ", @@session.time_zone, '+00:00')")
	if err != nil {
		return time.Time{}, err
	}
	if len(r.Rows) == 0 || r.Rows[0][0] == nil {
		return time.Time{}, &wire.Error{Code: codeWrongTime, State: "22007", Message: "Incorrect DATETIME value: '" + text + "'; it is a date and time, or a time of day"}
	}
	until, err := time.Parse(time.DateTime, string(r.Rows[0][0]))
	if err != nil {
		return time.Time{}, err
	}
	now, err := a.Store.Clock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if !until.After(now) {
		return time.Time{}, refuse("PAUSE TTL UNTIL '%s' lies in the past", text)
	}
	return until, nil
}
