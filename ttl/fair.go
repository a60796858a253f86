package ttl

import (
	"slices"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// A worker stays with a task for one slice; then, if another job has work, the task goes back and
// the turn to whoever waited longest.
const (
	sliceTime = time.Second
	sliceRows = 50_000
	// lateWeight is how much faster a table's claim grows while it misses its own TTL_MAX_LAG.
	lateWeight = 4
)

// turns decides which open job a free worker serves next: the one that has waited longest since its
// last slice on this node, counted from its start when it never had one. The wait of every job
// grows until it is served, so none starves: with n jobs and w workers nobody waits longer than
// about n/w slices (times lateWeight at worst).
type turns struct {
	mu     sync.Mutex
	jobs   []catalog.Job
	late   map[uint64]bool // policies that miss their goal
	served map[uint64]time.Time
	seen   map[uint64]time.Time
}

func newTurns() *turns {
	return &turns{served: map[uint64]time.Time{}, seen: map[uint64]time.Time{}}
}

// set tells which jobs are open and which policies are late.
func (t *turns) set(jobs []catalog.Job, late map[uint64]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.jobs, t.late = jobs, late
	now, seen := time.Now(), map[uint64]time.Time{}
	for _, j := range jobs {
		seen[j.ID] = now
		if at, known := t.seen[j.ID]; known {
			seen[j.ID] = at
		}
	}

	for id := range t.served {
		if _, open := seen[id]; !open {
			delete(t.served, id)
		}
	}

	t.seen = seen
}

// add tells of jobs that have just started, which the next set knows.
func (t *turns) add(jobs []catalog.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, j := range jobs {
		t.seen[j.ID] = now
	}
	t.jobs = append(slices.Clip(t.jobs), jobs...)
}

// order lists the jobs that have work, the next to serve first.
func (t *turns) order() []uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()

	now := time.Now()
	type claim struct {
		job    uint64
		waited time.Duration
	}
	var claims []claim
	for _, j := range t.jobs {
		if !hasWork(j) {
			continue
		}

		since, served := t.served[j.ID]
		if !served {
			since = t.seen[j.ID]
		}

		waited := now.Sub(since)
		if t.late[j.PolicyID] {
			waited *= lateWeight
		}

		claims = append(claims, claim{j.ID, waited})
	}

	slices.SortStableFunc(claims, func(a, b claim) int { return int(b.waited - a.waited) })
	ids := make([]uint64, len(claims))
	for i, c := range claims {
		ids[i] = c.job
	}

	return ids
}

// serve notes that a job has its slice now.
func (t *turns) serve(job uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.served[job] = time.Now()
}

// others reports whether a job other than this one waits for workers.
func (t *turns) others(job uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.jobs, func(j catalog.Job) bool { return j.ID != job && hasWork(j) })
}

func hasWork(j catalog.Job) bool {
	return j.State == catalog.JobRunning && j.TasksFinished < j.Tasks
}

// slice is a worker's turn at a task.
type slice struct {
	began   time.Time
	deleted int64 // by the walk before it
}

// newSlice begins a turn, with so many rows deleted so far.
func newSlice(deleted int64) slice { return slice{time.Now(), deleted} }

// over reports whether the turn has lasted long enough, with so many rows deleted by now.
func (s slice) over(deleted int64) bool {
	return time.Since(s.began) > sliceTime || deleted-s.deleted > sliceRows
}
