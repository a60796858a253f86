package pace

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// lateWeight is how much faster a table's claim grows while it misses its own TTL_MAX_LAG.
const lateWeight = 4

// Queue decides which open job a free worker serves next: the one that has waited longest since its
// last slice on this node was over, counted from its start if it has had none. The wait of every job grows
// until it is served, so none starves: with n jobs and w workers nobody waits longer than about n/w
// slices (times lateWeight at worst).
type Queue struct {
	mu     sync.Mutex
	jobs   []catalog.Job
	late   map[uint64]bool // policies that miss their goal
	served map[uint64]time.Time
	seen   map[uint64]time.Time
	calls  map[uint64]bool // of jobs, for a worker; false once one has answered
	rests  map[*rest]bool
	begins chan struct{} // see Begins
}

// NewQueue returns one without jobs.
func NewQueue() *Queue {
	return &Queue{
		served: map[uint64]time.Time{}, seen: map[uint64]time.Time{},
		calls: map[uint64]bool{}, rests: map[*rest]bool{}, begins: make(chan struct{}, 1),
	}
}

// Set says which jobs are open and which policies are late.
func (q *Queue) Set(jobs []catalog.Job, late map[uint64]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	defer q.begin(q.works())
	q.jobs, q.late = jobs, late
	now, seen := time.Now(), map[uint64]time.Time{}
	for _, j := range jobs {
		seen[j.ID] = now
		if at, known := q.seen[j.ID]; known {
			seen[j.ID] = at
		}
	}

	maps.DeleteFunc(q.served, func(id uint64, _ time.Time) bool { return seen[id].IsZero() })
	maps.DeleteFunc(q.calls, func(id uint64, _ bool) bool { return seen[id].IsZero() })
	q.seen = seen
	q.call()
}

// Add adds jobs that have just started, which the next Set will include.
func (q *Queue) Add(jobs []catalog.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.begin(q.works())
	now := time.Now()
	for _, j := range jobs {
		q.seen[j.ID] = now
	}
	q.jobs = append(slices.Clip(q.jobs), jobs...)
	q.call()
}

// Begins tells that a job has work where none had.
func (q *Queue) Begins() <-chan struct{} { return q.begins }

func (q *Queue) works() bool { return slices.ContainsFunc(q.jobs, hasWork) }

// begin tells whoever waits for it that there is work, if there was none before.
func (q *Queue) begin(worked bool) {
	if worked || !q.works() {
		return
	}
	select {
	case q.begins <- struct{}{}:
	default:
	}
}

// Order lists the jobs that have work, the next one to serve first.
func (q *Queue) Order() []uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()

	now := time.Now()
	type claim struct {
		job    uint64
		waited time.Duration
	}
	var claims []claim
	for _, j := range q.jobs {
		if !hasWork(j) {
			continue
		}

		since, served := q.served[j.ID]
		if !served {
			since = q.seen[j.ID]
		}

		waited := now.Sub(since)
		if q.late[j.PolicyID] {
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

// Serve notes that a job has its slice now, or has had it until now.
func (q *Queue) Serve(job uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.served[job] = time.Now()
	if q.calls[job] {
		q.calls[job] = false
	}
}

// Others reports whether a job other than this one waits for workers.
func (q *Queue) Others(job uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.jobs, func(j catalog.Job) bool { return j.ID != job && hasWork(j) })
}

func hasWork(j catalog.Job) bool {
	return j.State == catalog.JobRunning && j.TasksFinished < j.Tasks
}
