package ttl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

var defaultBrake = plan.NewBrake(setting.Defaults())

// daily are the runs of a table that deleted so many rows each day, the last of them an hour before
// noon yesterday.
func daily(rows ...uint64) (runs []catalog.Run) {
	for i, n := range rows {
		at := ttltest.Noon.Add(-time.Duration(len(rows)-i) * 24 * time.Hour)
		runs = append(runs, catalog.Run{At: at, Deleted: n, Finished: true, FinishedAt: at.Add(time.Minute)})
	}
	slices.Reverse(runs)
	return runs
}

// once is a run that deleted rows a moment ago, the first of a table or the first after one that found
// nothing.
func once(rows uint64, ago time.Duration, before ...catalog.Run) []catalog.Run {
	at := ttltest.Noon.Add(-ago)
	return append([]catalog.Run{{At: at, Deleted: rows, Finished: true, FinishedAt: at.Add(ago / 2)}}, before...)
}

// byNumber are runs to all of which a person has allowed a number of rows, but the last one.
func byNumber(runs []catalog.Run) []catalog.Run {
	for i := range runs[1:] {
		runs[i+1].Exactly = true
	}
	return runs
}

// bursts are the runs of a table looked at each second in which rows expire once a minute, until an
// hour ago.
func bursts(rows uint64) (runs []catalog.Run) {
	for second := range 30 * 60 {
		at := ttltest.Noon.Add(-time.Hour - time.Duration(second)*time.Second)
		r := catalog.Run{At: at, Finished: true, FinishedAt: at}
		if second%60 == 7 {
			r.Deleted = rows
		}
		runs = append(runs, r)
	}
	return runs
}

func TestBrake(t *testing.T) {
	t.Parallel()
	l := limits{brake: defaultBrake}
	always, never, single := l, l, l
	always.brake.Percent, never.brake.Percent, single.brake.Factor = 0, 100, 0
	fresh, known := policyOf(1, "24h", nil), policyOf(1, "24h", nil)
	known.Approval.Version = 1
	seconds := policyOf(1, "1s", nil)
	seconds.Approval.Version = 1
	older := policyOf(1, "24h", nil)
	older.Version, older.Approval.Version = 2, 1
	dump := policyOf(1, "24h", nil)
	dump.Approval = catalog.Approval{Required: true, Reason: "the table came from a dump"}
	approved := func(rows *uint64, exactly bool, ago time.Duration) catalog.Policy {
		p := policyOf(1, "24h", nil)
		p.Approval = catalog.Approval{Version: 1, At: ttltest.Noon.Add(-ago), Rows: rows, Exactly: exactly}
		return p
	}

	with := func(option, value string) catalog.Policy {
		p := policyOf(1, "24h", map[string]string{option: value})
		p.Approval = known.Approval
		return p
	}

	table := func(rows, due int64) plan.Estimate {
		return plan.Estimate{Rows: rows, Expired: due, Exact: true, DueExact: true}
	}
	million, flood, steady := table(5_000_000, 1_000_001), table(300_000, 300_000), daily(1000, 1000, 1000)
	for _, c := range []struct {
		name   string
		policy catalog.Policy
		runs   []catalog.Run
		due    plan.Estimate
		limits limits
		want   bool
		bound  int64 // -1 for none
	}{
		{"few", fresh, nil, table(1000, 1000), l, false, 1200},
		{"nearly all of a small table", fresh, nil, table(1001, 901), l, true, 1200},
		{"half of a large table", fresh, nil, table(20_002, 10_001), l, true, 12_002},
		{"less than half of it", fresh, nil, table(30_000, 10_001), l, false, 18_000},
		{"a million", fresh, nil, table(5_000_000, 1_000_000), l, false, 1_200_000},
		{"more than a million", fresh, nil, million, l, true, 1_200_000},
		{"always", fresh, nil, table(100, 1), always, true, 0},
		{"always, of later runs", known, steady, table(30_000, 1), always, true, 0},
		{"always, where nothing is due", known, steady, table(30_000, 0), always, false, 0},
		{"always, of a table judged once", with("TTL_BRAKE_FACTOR", "0"), steady, table(30_000, 1), always, true, 0},
		{"never", fresh, nil, million, never, false, -1},
		{"another version", older, steady, million, l, true, 1_200_000},
		{"from a dump", dump, steady, table(10, 1), never, true, -1},

		{"as usual", known, steady, table(30_000, 1100), l, false, 18_000},
		{"ten times as much as usual, and most of the table", known, steady, table(12_000, 10_001), l, true, 12_000},
		{"much, but not of the table", known, steady, million, l, false, 3_000_000},
		{"all of the table, but not much", known, steady, table(10_000, 10_000), l, false, 12_000},
		{
			"all of the table, as always", known, daily(900_000, 900_000, 900_000), table(1_000_000, 1_000_000), l, false,
			10_800_000,
		},
		{"judged once", known, steady, table(300_000, 300_000), single, false, -1},
		{"judged once, by the table", with("TTL_BRAKE_FACTOR", "0"), steady, table(300_000, 300_000), l, false, -1},
		{
			"the table allows more", with("TTL_BRAKE_FACTOR", "1000"), steady, table(300_000, 300_000), l, false,
			1_200_000,
		},
		{
			"an empty table was seen, and 300,000 old rows came", known, daily(0, 0, 0), table(300_000, 300_000), l, true,
			180_000,
		},
		{
			"an import that was approved is no habit", known, daily(1000, 1000, 1000, 1000, 1000, 500_000),
			table(300_000, 300_000), l, true, 180_000,
		},
		{
			"what one run found does not come each second", seconds, once(10_001, 20*time.Second),
			table(230_000, 230_000), l, true, 138_000,
		},
		{
			"nor if one before it found nothing", seconds,
			once(10_001, 20*time.Second, catalog.Run{At: ttltest.Noon.Add(-21 * time.Second), Finished: true}),
			table(230_000, 230_000), l, true, 138_000,
		},
		{
			"what a person has allowed by number is not usual", known, byNumber(daily(10_001, 10_001, 10_001)),
			table(23_000, 23_000), l, true, 13_800,
		},
		{
			"nor is it once a person has approved something else", approved(nil, false, 30*time.Hour),
			byNumber(daily(10_001, 10_001, 1)), table(23_000, 23_000), l, true, 13_800,
		},
		{
			"what a person has approved as it was is, when it came twice", approved(new(uint64(15_000)), false, 48*time.Hour),
			daily(10_001, 10_001), table(23_000, 23_000), l, false, 120_012,
		},
		{
			"what had gathered before there was a policy, and was approved, is not usual", approved(nil, false, 30*time.Hour),
			daily(300_000), table(300_000, 300_000), l, true, 180_000,
		},
		{
			"nor after a run that found what comes in a day", approved(nil, false, 50*time.Hour),
			daily(300_000, 1000), table(300_000, 300_000), l, true, 180_000,
		},
		{
			"what a shorter rule made due is not usual", approved(nil, false, 30*time.Hour), daily(1000, 1000, 300_000),
			table(300_000, 300_000), l, true, 180_000,
		},
		{
			"what two runs found in seconds does not come each second", seconds,
			once(2000, 20*time.Second, once(1000, 40*time.Second)...), table(230_000, 230_000), l, true, 138_000,
		},
		{
			"a burst each minute is not one each second", seconds, bursts(5000), table(4_000_000, 4_000_000), l, true,
			3_600_000,
		},
		{
			"a burst each minute, after an hour without an engine", seconds, bursts(5000), table(300_000, 300_000), l, false,
			3_600_000,
		},
		{"more than TTL_MAX_ROWS", with("TTL_MAX_ROWS", "500"), steady, table(30_000, 501), l, true, 500},
		{"TTL_MAX_ROWS", with("TTL_MAX_ROWS", "500"), steady, table(30_000, 500), l, false, 500},
		{"more than TTL_MAX_PERCENT", with("TTL_MAX_PERCENT", "1"), steady, table(30_000, 301), l, true, 300},

		{"approved", approved(new(uint64(360_000)), false, time.Hour), nil, flood, l, false, 360_000},
		{"approved as found", approved(nil, false, time.Hour), nil, flood, l, false, 360_000},
		{"approved fewer rows", approved(new(uint64(2)), false, time.Hour), nil, flood, l, true, 180_000},
		{"approved up to", approved(new(uint64(400)), true, time.Hour), nil, table(5_000, 300), l, false, 400},
		{"more than approved up to", approved(new(uint64(400)), true, time.Hour), nil, table(5_000, 401), l, true, 400},
		{"approved and used up", approved(nil, false, 48*time.Hour), steady, table(12_000, 10_001), l, true, 12_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := braked(ttltest.Noon, c.policy, c.runs, c.due, c.limits)
			if (got.Why != "") != c.want {
				t.Errorf("got %q, want braked %v", got.Why, c.want)
			}

			bound := int64(-1)
			if got.Bound != nil {
				bound = int64(*got.Bound)
			}
			if bound != c.bound {
				t.Errorf("got bound %d, want %d", bound, c.bound)
			}
		})
	}
}

func TestConsentIsForOneRun(t *testing.T) {
	t.Parallel()
	given := catalog.Approval{At: ttltest.Noon, Rows: new(uint64(1000))}
	after := func(deleted uint64, finished bool) catalog.Run {
		return catalog.Run{
			At: ttltest.Noon.Add(time.Minute), FinishedAt: ttltest.Noon.Add(time.Hour), Deleted: deleted,
			Finished: finished,
		}
	}
	before := catalog.Run{
		At: ttltest.Noon.Add(-time.Hour), FinishedAt: ttltest.Noon.Add(-time.Minute), Deleted: 5, Finished: true,
	}

	for _, c := range []struct {
		runs []catalog.Run
		left uint64
		want bool
	}{
		{nil, 1000, true},
		{[]catalog.Run{before}, 1000, true},
		{[]catalog.Run{after(400, false), before}, 600, true},
		{[]catalog.Run{after(1400, false), before}, 0, true},
		{[]catalog.Run{after(400, true), before}, 0, false},
	} {
		if rows, ok := given.Consented(c.runs); ok != c.want || ok && *rows != c.left {
			t.Errorf("after %+v: got %v, %v, want %d, %v", c.runs, rows, ok, c.left, c.want)
		}
	}

	if _, ok := (catalog.Approval{Version: 1}).Consented(nil); ok {
		t.Error("a version that the brake has passed counts as a person's word")
	}
}

// lifetime is a table in virtual time: what becomes due in each hour, and how many rows it has
// beside.
type lifetime struct {
	inflow   func(hour int) int64
	rows     func(hour int) int64
	interval int           // hours
	backlog  int64         // rows that were due before the table had its rule
	idle     map[int]bool  // hours without an engine
	imports  map[int]int64 // old rows that come in at an hour
	held     map[int]bool  // imports that were held
	falsely  []int         // hours at which a run was held without one
}

// live runs the brake over the table's life as the engine does: runs are judged, bounded,
// remembered; what the brake stops waits until somebody has approved it, an hour later.
func (x *lifetime) live(hours int) {
	p := policyOf(1, fmt.Sprintf("%dh", x.interval), nil)
	p.Rule.TimeZone = "" // which is looked up each time
	var runs []catalog.Run
	due := x.backlog
	imported := map[int]int64{}
	x.held = map[int]bool{}
	last := -x.interval

	for hour := range hours {
		now := ttltest.Noon.Add(time.Duration(hour) * time.Hour)
		due += x.inflow(hour)
		if n := x.imports[hour]; n > 0 {
			due += n
			imported[hour] = n
		}
		if hour-last < x.interval || x.idle[hour] {
			continue
		}

		e := plan.Estimate{Rows: x.rows(hour) + due, Expired: due}
		got := braked(now, p, runs, e, limits{brake: defaultBrake})
		if got.Why != "" {
			if len(imported) == 0 && (x.backlog == 0 || len(runs) > 0) {
				x.falsely = append(x.falsely, hour)
			}
			for at := range imported {
				x.held[at] = true
			}
			p.Approval = catalog.Approval{Version: 1, At: now}
		} else if !e.Tiny() {
			p.Approval.Version = 1
		}

		clear(imported)
		if got.Why == "" && got.Bound != nil && uint64(due) > *got.Bound {
			x.falsely = append(x.falsely, hour)
		}

		last = hour
		runs = slices.Insert(runs, 0, catalog.Run{
			At: now, Deleted: uint64(due), Finished: true,
			FinishedAt: now.Add(30 * time.Minute),
		})
		if nothing(runs[0]) && len(runs) > 2 && nothing(runs[1]) && nothing(runs[2]) {
			runs = slices.Delete(runs, 1, 2) // as the catalog does
		}
		runs = runs[:min(len(runs), 100)]
		due = 0
	}
}

func nothing(r catalog.Run) bool { return r.Deleted == 0 }

// TestBrakeOverAYear lets tables of many kinds live for a year, hour by hour. None that leads an
// ordinary life is ever stopped by the brake, not when it has grown a hundredfold, nor after three
// days without an engine; every import of old rows is, also the one that comes just after what had gathered before
// the table had its rule.
func TestBrakeOverAYear(t *testing.T) {
	t.Parallel()
	const day, year = 24, 365 * 24
	steady := func(perHour float64) func(int) int64 {
		r := rand.New(rand.NewPCG(1, uint64(perHour)))
		return func(int) int64 { return int64(perHour * (0.5 + r.Float64())) }
	}
	kept := func(inflow func(int) int64, days int) func(int) int64 {
		return func(hour int) int64 { return inflow(hour) * int64(days) * day }
	}
	flat := func(rows int64) func(int) int64 { return func(int) int64 { return rows } }
	growing := func(hour int) int64 { return 500 + 50_000*int64(hour)/year }
	seasonal := func(hour int) int64 {
		if d := hour / day; d > 320 && d < 330 { // the sales of the year
			return 40_000
		}
		return 4_000 + 3_000*int64(hour%day)/day
	}

	weekly := func(hour int) int64 {
		if hour%(7*day) == 3 {
			return 2_000_000
		}
		return 10_000
	}

	nightly := func(hour int) int64 {
		if hour%day == 3 {
			return 200_000
		}
		return 0
	}

	late := func(hour int) int64 { // the first rows expire after a month
		return int64(max(hour-30*day, 0)/max(hour-30*day, 1)) * 20_000
	}
	days := func(n int) map[int]bool {
		idle := map[int]bool{}
		for hour := 200 * day; hour < (200+n)*day; hour++ {
			idle[hour] = true
		}
		return idle
	}

	for name, x := range map[string]lifetime{
		"steady, hourly":            {inflow: steady(2000), rows: flat(1_500_000), interval: 1},
		"steady, daily":             {inflow: steady(2000), rows: flat(1_500_000), interval: day},
		"steady, small":             {inflow: steady(3), rows: flat(500), interval: day},
		"sessions of three hours":   {inflow: steady(9000), rows: flat(27_000), interval: 1},
		"growing":                   {inflow: growing, rows: kept(growing, 10), interval: 1},
		"growing, daily":            {inflow: growing, rows: kept(growing, 10), interval: day},
		"seasonal":                  {inflow: seasonal, rows: kept(seasonal, 3), interval: day},
		"nightly, looked at hourly": {inflow: nightly, rows: flat(1_000_000), interval: 1},
		"weekly import":             {inflow: weekly, rows: flat(30_000_000), interval: day},
		"first rows after a month":  {inflow: late, rows: flat(14_400_000), interval: 1},
	} {
		for _, idle := range []map[int]bool{nil, days(3), days(5)} { // after which an import waits, too
			x.idle, x.falsely, x.imports, x.backlog = idle, nil, nil, 0
			x.live(year)
			if len(x.falsely) > 0 {
				t.Errorf("%s, %d hours without an engine: held at hours %v, want never", name, len(idle), x.falsely)
			}

			x.falsely, x.imports = nil, map[int]int64{}
			x.backlog = 12 * max(x.rows(0), 24*10*x.inflow(0), 20_000)
			x.imports[x.interval] = x.backlog
			for _, d := range []int{60, 61, 150, 204, 340} {
				hour := d*day + 5
				x.imports[hour] = 12 * max(x.rows(hour), 24*10*x.inflow(hour), 20_000)
			}

			x.live(year)
			if len(x.held) != len(x.imports) || len(x.falsely) > 0 {
				t.Errorf("%s, %d hours without an engine: %d of %d imports held, and falsely at hours %v", name,
					len(idle), len(x.held), len(x.imports), x.falsely)
			}
		}
	}
}
