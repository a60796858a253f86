package ttl

import (
	"maps"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestFloors: only what is late is urgent, and only if its owner has said so; any other table has what
// its own says.
func TestFloors(t *testing.T) {
	t.Parallel()
	v := view{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), schedule: schedule{}}
	add := func(id uint64, goal, lag time.Duration, fresh bool, state catalog.JobState) {
		p := catalog.Policy{ID: id}
		p.Terms.Timing.MaxLag, p.Terms.Options.Fresh = goal, fresh
		v.schedule[id] = scheduled{Policy: p}
		job := catalog.Job{PolicyID: id, State: state}
		job.CreatedAt = v.now.Add(-lag)
		v.jobs = append(v.jobs, job)
	}
	add(1, time.Hour, 2*time.Hour, true, catalog.JobRunning)
	add(2, time.Hour, 2*time.Hour, false, catalog.JobRunning)
	add(3, time.Hour, time.Minute, true, catalog.JobRunning)
	add(4, 0, 2*time.Hour, true, catalog.JobRunning)
	add(5, time.Hour, 2*time.Hour, true, catalog.JobPaused)

	old := catalog.Job{PolicyID: 6, State: catalog.JobRunning} // that has just begun, with rows due for long
	old.CreatedAt, old.OldestExpiry = v.now, v.now.Add(-2*time.Hour)
	add(6, time.Hour, 0, false, catalog.JobRunning)
	v.jobs[len(v.jobs)-1] = old

	own := func(id uint64, percent int64) {
		p := v.schedule[id]
		p.Terms.Options.Floor = percent
		v.schedule[id] = p
	}
	own(1, 10)
	own(2, 20)
	own(3, 30)
	own(5, 50)                                               // which is paused
	v.schedule[7] = scheduled{Policy: catalog.Policy{ID: 7}} // without a job
	own(7, 40)

	late, want := v.late(), map[uint64]float64{1: 1, 2: 0.2, 3: 0.3}
	if floors := v.floors(late); len(late) != 3 || !maps.Equal(floors, want) {
		t.Errorf("late are %v, and floors %v", late, floors)
	}
}
