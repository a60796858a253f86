package signal

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// latency is how long the application's writes take on average, as the server's Performance Schema
// counts them for all accounts but the engine's. The threshold is a multiple of what is usual while
// the engine rests: otherwise it would learn from the harm that it does.
//
// Both servers count what is prepared, or called, by how it is sent and not by what it does. So that is an average of
// its own, with whatever is read among it: the one that suffers more decides.
type latency struct{ writes, others average }

// average is how long statements take.
type average struct {
	counted, took speed
	count, sum    float64 // of the last looks, half as much with each
	usual         usual
}

func (*latency) Name() string { return "latency" }

// leastLatency is what a statement may always take longer than usual: faster than the clocks of
// machines with other work, nothing can be told.
const leastLatency = 1.0 // ms

// leastWrites are those that make an average, per second.
const leastWrites = 10.0

const (
	latencyTable = "performance_schema.events_statements_summary_by_account_by_event_name"
	namesWrites  = "'statement/sql/insert', 'statement/sql/update', 'statement/sql/delete', 'statement/sql/replace', " +
		"'statement/sql/commit', 'statement/sql/insert_select', 'statement/sql/replace_select', " +
		"'statement/sql/update_multi', 'statement/sql/delete_multi'"
	namesOthers = "'statement/com/Execute', 'statement/sql/execute_sql', 'statement/sql/execute_immediate', " +
		"'statement/sql/call_procedure'"
	selectLatency = "SELECT SUM(IF(EVENT_NAME IN (" + namesWrites + "), COUNT_STAR, 0)), " +
		"SUM(IF(EVENT_NAME IN (" + namesWrites + "), SUM_TIMER_WAIT, 0)) / 1e9, " +
		"SUM(IF(EVENT_NAME IN (" + namesOthers + "), COUNT_STAR, 0)), " +
		"SUM(IF(EVENT_NAME IN (" + namesOthers + "), SUM_TIMER_WAIT, 0)) / 1e9 FROM " + latencyTable +
		" WHERE EVENT_NAME IN (" + namesWrites + ", " + namesOthers + ") " +
		"AND USER IS NOT NULL AND USER <> SUBSTRING_INDEX(USER(), '@', 1)"
)

func (s *latency) Read(ctx context.Context, l Look) ([]Reading, error) {
	percent := l.Settings.Int(setting.ThrottleLatency)
	if percent == 0 {
		return nil, nil
	}

	var writes, writing, others, took sql.NullFloat64
	err := l.Server.QueryRowContext(ctx, selectLatency).Scan(&writes, &writing, &others, &took)
	switch {
	case refused(err):
		return notSeen("GRANT SELECT ON " + latencyTable + " makes it visible"), nil
	case absent(err):
		return notSeen("the server has no table " + latencyTable), nil
	case err != nil:
		return nil, fmt.Errorf("read how long statements take: %w", err)
	case !writes.Valid:
		return notSeen("the server's performance_schema shows no writes of other accounts"), nil
	}

	times := float64(percent) / 100
	written, other := s.writes.reading(writes.Float64, writing.Float64, times, l),
		s.others.reading(others.Float64, took.Float64, times, l)
	if other.State == Measured {
		other.Detail += ", of what is prepared or called"
	}
	if s.writes.count < leastWrites && s.others.count >= leastWrites {
		return []Reading{other}, nil
	}
	worse, _ := Strictest([]Reading{written, other})
	return []Reading{worse}, nil
}

// reading judges so many statements that took so many milliseconds in all.
func (a *average) reading(statements, milliseconds, times float64, l Look) Reading {
	count, counted := a.counted.per(statements)
	took, timed := a.took.per(milliseconds)
	if !counted || !timed {
		a.count, a.sum = 0, 0
		return Reading{State: NotSeen, Detail: "it has been looked at only once"}
	}

	a.count, a.sum = (a.count+count)/2, (a.sum+took)/2
	if a.count < leastWrites {
		return Reading{State: NotSeen, Detail: "other accounts write too little to tell"}
	}

	average := a.sum / a.count
	a.usual.resume(l.Led)
	if l.Resting && count >= leastWrites { // by this look alone: those before may have seen our own doing
		a.usual.learn(took / count)
	}
	if !a.usual.known() {
		return Reading{State: NotSeen, Detail: "what is usual is learnt while the engine rests"}
	}
	if l.Alone {
		return Reading{State: NotSeen, Detail: nobody + ": " + figure(average) + " ms harm nobody"}
	}

	return Reading{
		State: Measured, Value: average, Unit: "ms",
		Threshold: max(a.usual.mean*times, a.usual.mean+leastLatency),
		Detail:    "usual is " + figure(a.usual.mean) + " ms",
	}
}

func notSeen(why string) []Reading { return []Reading{{State: NotSeen, Detail: why}} }
