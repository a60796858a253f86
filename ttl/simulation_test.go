package ttl

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
)

// simulation is a cluster in virtual time: tables that fill with due rows, a leader that starts
// their jobs, and workers that take turns. What decides is the engine's own: dueNow, turns and
// slices. What takes time is made up.
type simulation struct {
	all     schedule
	tables  map[uint64]*simTable
	open    map[uint64]*simTable // by job
	queue   *pace.Queue
	workers []simWorker
	serial  uint64

	starts, slices longest
}

type simTable struct {
	inflow    float64 // rows that become due per second
	due       float64 // rows that a running job has to delete
	lastStart time.Time
	job       *catalog.Job
	claimed   int
	waiting   time.Time // since when its job has waited for its first slice, or its next one
	deleted   float64
	runs      int
}

type simWorker struct {
	free  time.Time
	table *simTable
	took  float64
}

// longest is the longest wait of a kind, after the start has been digested.
type longest struct {
	from time.Time
	wait time.Duration
	id   uint64
}

func (l *longest) saw(id uint64, since time.Time) {
	if since.After(l.from) && time.Since(since) > l.wait {
		l.wait, l.id = time.Since(since), id
	}
}

const (
	simStart = 50 * time.Millisecond // what starting a job costs the leader
	simSlice = 30 * time.Millisecond // what a slice costs beside its rows
	simSpeed = 50_000                // rows per second of one worker
)

func (s *simulation) add(p catalog.Policy, inflow, backlog float64) {
	p.ChangedAt = time.Now()
	s.all[p.ID] = scheduledOf(p, nil)
	s.tables[p.ID] = &simTable{inflow: inflow, due: backlog, lastStart: time.Now()}
}

// run lets the tick of the leader and the ends of slices happen in their order.
func (s *simulation) run(d time.Duration) {
	end := time.Now().Add(d)
	for tick := time.Now(); time.Now().Before(end); {
		if !time.Now().Before(tick) {
			s.tick()
			tick = tick.Add(time.Second)
		}

		next := tick
		for i := range s.workers {
			if w := &s.workers[i]; !time.Now().Before(w.free) {
				s.work(w)
			}
			if w := s.workers[i]; w.table != nil && w.free.Before(next) {
				next = w.free
			}
		}

		time.Sleep(max(time.Until(next), time.Millisecond))
	}
}

// tick starts what is due, as far as there is time.
func (s *simulation) tick() {
	budget := startFor
	for _, d := range dueNow(time.Now(), s.all, limits{}) {
		t := s.tables[d.policy.ID]
		if t.job != nil || budget < 0 {
			continue
		}

		budget -= simStart
		s.serial++
		now := time.Now()
		t.due += t.inflow * now.Sub(t.lastStart).Seconds()
		t.job = &catalog.Job{
			ID: s.serial, PolicyID: d.policy.ID, State: catalog.JobRunning,
			Tasks: min(max(int(t.due/100_000), 1), 64), CreatedAt: now,
		}
		s.open[s.serial] = t
		t.lastStart, t.waiting = now, now
		t.runs++
		s.starts.saw(d.policy.ID, d.since)
		next := s.all[d.policy.ID]
		next.ran = startedAt(now)
		s.all[d.policy.ID] = next
	}

	var jobs []catalog.Job
	for _, t := range s.open {
		jobs = append(jobs, *t.job)
	}

	s.queue.Set(jobs, nil)
}

// work ends a worker's slice and gives it the next one.
func (s *simulation) work(w *simWorker) {
	if t := w.table; t != nil {
		t.deleted += w.took
		t.claimed--
		t.waiting = time.Now()
		w.table = nil

		if t.due < 1 && t.claimed == 0 {
			delete(s.open, t.job.ID)
			t.job = nil
		}
	}
	for _, id := range s.queue.Order() {
		t := s.open[id]
		if t == nil || t.claimed == t.job.Tasks || t.claimed > 0 && t.due < 1 {
			continue
		}

		s.queue.Serve(id)
		if t.claimed == 0 {
			s.slices.saw(t.job.PolicyID, t.waiting)
		}

		t.claimed++
		w.table, w.took = t, min(t.due, pace.SliceRows, simSpeed*pace.SliceTime.Seconds())
		t.due -= w.took
		w.free = time.Now().Add(simSlice + time.Duration(w.took/simSpeed*float64(time.Second)))

		return
	}
}

// TestAThousandTables: with a table that never ends and one that never rests beside them, 998
// others start in time and are served in time for more than an hour, and what is left of the server
// goes to the big ones.
func TestAThousandTables(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const digested = 5 * time.Minute
		s := &simulation{
			all: schedule{}, tables: map[uint64]*simTable{}, open: map[uint64]*simTable{},
			queue: pace.NewQueue(), workers: make([]simWorker, 4),
		}
		s.starts.from, s.slices.from = time.Now().Add(digested), time.Now().Add(digested)
		s.add(policyOf(1, "1h", nil), 1000, 1e15)
		s.add(policyOf(2, "0", nil), 1000, 0)

		for id := uint64(3); id <= 1000; id++ {
			switch id % 4 {
			case 0:
				s.add(policyOf(id, "10m", nil), 5, 3000)
			case 1:
				s.add(policyOf(id, "24h", map[string]string{"TTL_MAX_LAG": "40m"}), 5, 0)
			case 2:
				s.add(policyOf(id, "24h", map[string]string{"TTL_CRON": "*/15 * * * *"}), 1, 3000)
			default:
				s.add(policyOf(id, "1h", nil), 0, 0) // idle
			}
		}

		began := time.Now()
		s.run(75 * time.Minute)
		hours := time.Since(began).Hours()

		// Every quarter of an hour 250 tables are due in the same minute: to start them takes 12.5
		// s of the leader.
		if bound := 15 * time.Second; s.starts.wait > bound {
			t.Errorf("table %d waited %v for its job to start, want at most %v", s.starts.id, s.starts.wait, bound)
		}
		if bound := 5 * time.Second; s.slices.wait > bound {
			t.Errorf("table %d waited %v for a worker, want at most %v", s.slices.id, s.slices.wait, bound)
		}

		for id, table := range s.tables {
			want := map[uint64]float64{0: 6, 1: 3, 2: 4, 3: 1}[id%4] * (hours - 0.5)
			if id > 2 && float64(table.runs) < want {
				t.Errorf("table %d had %d jobs in %.2f hours, want at least %.1f", id, table.runs, hours, want)
			}
		}

		if share := s.tables[1].deleted / (hours * 3600 * simSpeed * 4); share < 0.8 {
			t.Errorf("the table that never ends got %.0f %% of what four workers can delete, want at least 80 %%",
				100*share)
		}
	})
}
