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
type latency struct {
	writes, took speed
	count, sum   float64 // of the last looks, half as much with each
	usual        usual
}

func (*latency) Name() string { return "latency" }

// leastLatency is what a statement may always take longer than usual: faster than the clocks of
// machines with other work, nothing can be told.
const leastLatency = 1.0 // ms

// leastWrites are those that make an average, per second.
const leastWrites = 10.0

const (
	latencyTable  = "performance_schema.events_statements_summary_by_account_by_event_name"
	selectLatency = "SELECT SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) / 1e9 FROM " + latencyTable +
		" WHERE EVENT_NAME IN ('statement/sql/insert', 'statement/sql/update', 'statement/sql/delete', " +
		"'statement/sql/replace', 'statement/sql/commit') " +
		"AND USER IS NOT NULL AND USER <> SUBSTRING_INDEX(USER(), '@', 1)"
)

func (s *latency) Read(ctx context.Context, l Look) ([]Reading, error) {
	percent := l.Settings.Int(setting.ThrottleLatency)
	if percent == 0 {
		return nil, nil
	}

	var writes, milliseconds sql.NullFloat64
	err := l.Server.QueryRowContext(ctx, selectLatency).Scan(&writes, &milliseconds)
	switch {
	case refused(err):
		return notSeen("GRANT SELECT ON " + latencyTable + " makes it visible"), nil
	case err != nil:
		return nil, fmt.Errorf("read how long statements take: %w", err)
	case !writes.Valid:
		return notSeen("the server's performance_schema shows no writes of other accounts"), nil
	}

	count, counted := s.writes.per(writes.Float64)
	took, timed := s.took.per(milliseconds.Float64)
	if !counted || !timed {
		s.count, s.sum = 0, 0
		return notSeen("it has been looked at only once"), nil
	}

	s.count, s.sum = (s.count+count)/2, (s.sum+took)/2
	if s.count < leastWrites {
		return notSeen("other accounts write too little to tell"), nil
	}

	average := s.sum / s.count
	if l.Resting && count >= leastWrites { // by this look alone: those before may have seen our own doing
		s.usual.learn(took / count)
	}
	if !s.usual.known() {
		return notSeen("what is usual is learnt while the engine rests"), nil
	}
	if l.Alone {
		return notSeen(nobody + ": " + figure(average) + " ms harm nobody"), nil
	}

	return []Reading{{
		State: Measured, Value: average, Unit: "ms",
		Threshold: max(s.usual.mean*float64(percent)/100, s.usual.mean+leastLatency),
		Detail:    "usual is " + figure(s.usual.mean) + " ms",
	}}, nil
}

func notSeen(why string) []Reading { return []Reading{{State: NotSeen, Detail: why}} }
