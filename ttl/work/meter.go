package work

import (
	"sync/atomic"
	"time"

	"github.com/ttlproxy/ttlproxy/ttl/pace"
)

// meter measures what the fixed limits limit, so that people can see both side by side.
type meter struct {
	statements, deleted, examined atomic.Int64
	busy                          atomic.Int64 // nanoseconds of delete statements

	// The counts before; only measure uses these.
	at     time.Time
	before counts
}

// counts are what was counted until one moment.
type counts struct{ statements, deleted, examined int64 }

// measureEvery is the time over which speeds are averaged.
const measureEvery = 10 * time.Second

// batch counts a delete statement.
func (m *meter) batch(deleted, examined int64, took time.Duration) {
	m.statements.Add(1)
	m.deleted.Add(deleted)
	m.examined.Add(examined)
	m.busy.Add(int64(took))
}

// Measure shows the speeds since it last did beside their limits. One goroutine calls it,
// every tick.
func (m *Metrics) Measure(now time.Time, r *pace.Rates) {
	took := now.Sub(m.meter.at)
	if took < measureEvery {
		return
	}

	v := counts{m.meter.statements.Load(), m.meter.deleted.Load(), m.meter.examined.Load()}
	last := m.meter.before
	m.meter.at, m.meter.before = now, v
	if took > time.Minute { // the first time
		return
	}

	statements, deleted, examined := r.Limits()
	speed := func(name string, n int64, limit float64) Shown {
		return Shown{Signal: name, Known: true, Value: float64(n) / took.Seconds(), Threshold: limit}
	}
	m.signals.showSpeeds([]Shown{
		speed("delete_statements_per_second", v.statements-last.statements, statements),
		speed("deleted_rows_per_second", v.deleted-last.deleted, deleted),
		speed("examined_rows_per_second", v.examined-last.examined, examined),
	})
}

// Batches is how many this node has sent since it started, and how long they took together.
func (m *Metrics) Batches() (sent int64, took time.Duration) {
	return m.meter.statements.Load(), time.Duration(m.meter.busy.Load())
}
