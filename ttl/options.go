package ttl

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// options are a table's own wishes: the TTL_… options of its policy, and the zone they are meant in.
type options struct {
	zone   *time.Location
	cron   *ddl.Cron     // TTL_CRON
	window *ddl.Window   // TTL_WINDOW
	rate   int64         // TTL_DELETE_RATE: rows per second
	batch  int           // TTL_DELETE_BATCH_SIZE
	maxLag time.Duration // TTL_MAX_LAG
}

// optionsOf reads what was checked when the policy was declared; an error means that another version wrote it.
func optionsOf(p catalog.Policy) (options, error) {
	o := options{zone: time.UTC}
	if p.Rule.TimeZone != "" {
		zone, err := plan.Zone(p.Rule.TimeZone)
		if err != nil {
			return o, err
		}
		o.zone = zone
	}
	for name, value := range p.Rule.Options {
		if err := o.set(name, value); err != nil {
			return o, fmt.Errorf("option %s='%s' of %s: %w", name, value, p.Table, err)
		}
	}
	return o, nil
}

func (o *options) set(name, value string) (err error) {
	switch name {
	case "TTL_CRON":
		var c ddl.Cron
		c, err = ddl.ParseCron(value)
		o.cron = &c
	case "TTL_WINDOW":
		var w ddl.Window
		w, err = ddl.ParseWindow(value)
		o.window = &w
	case "TTL_DELETE_RATE":
		o.rate, err = strconv.ParseInt(value, 10, 64)
	case "TTL_DELETE_BATCH_SIZE":
		o.batch, err = strconv.Atoi(value)
	case "TTL_MAX_LAG":
		o.maxLag, err = ddl.Duration(value)
	}
	return err
}

// windowClosed says why no job may run at this moment; empty when one may.
func (o options) windowClosed(now time.Time, l limits) string {
	if global, ok := l.window(); ok && !global.Contains(now.UTC()) {
		return fmt.Sprintf("outside the window of ttl_job_schedule_window_start_time and _end_time, %s to %s", l.windowStart, l.windowEnd)
	}
	if o.window != nil && !o.window.Contains(now.In(o.zone)) {
		return "outside TTL_WINDOW of the table"
	}
	return ""
}

// window is the one of TiDB's variables, in UTC.
func (l limits) window() (ddl.Window, bool) {
	const layout = "15:04 -0700"
	start, err := time.Parse(layout, l.windowStart)
	if err != nil {
		return ddl.Window{}, false
	}
	end, err := time.Parse(layout, l.windowEnd)
	if err != nil {
		return ddl.Window{}, false
	}
	return ddl.NewWindow(start.UTC(), end.UTC()), true
}
