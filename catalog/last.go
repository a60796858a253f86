package catalog

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// lastKept is how long a line of the history is used without being read again: it does not change,
// but is removed some day.
const lastKept = 10 * time.Minute

// lastJobs remembers the jobs that ended last, so that frequent readers only read what is new.
type lastJobs struct {
	mu    sync.Mutex
	known map[place]lastJob
}

// place is a table or partition of a policy.
type place struct {
	policy    uint64
	partition string
}

// lastJob is what the history said about a place when its schedule was so. No two jobs, also of a
// catalog that was restored, end there at the same microsecond under the same number.
type lastJob struct {
	id       uint64
	finished time.Time
	read     time.Time // by the local clock
	jobs     []EndedJob
}

// LastJobs returns the last ended job of each table and partition, in no order: those that the
// schedules, which have just been read, name, or later ones.
func (s *Store) LastJobs(ctx context.Context, of []Schedule) ([]EndedJob, error) {
	now := time.Now()
	all, unknown := s.last.recall(of, now)
	if len(unknown) == 0 {
		return all, nil
	}

	ids := make([]string, 0, len(unknown))
	for id := range unknown {
		ids = append(ids, strconv.FormatUint(id, 10))
	}

	read, err := s.history(ctx, fmt.Sprintf(selectLastJobs, strings.Join(ids, ", ")))
	if err != nil {
		return nil, err
	}

	s.last.remember(of, unknown, read, now)
	return append(all, read...), nil
}

// recall returns the jobs of the policies of which everything is known, and the other policies.
// While a job is open, its schedule does not say when the one before has ended.
func (l *lastJobs) recall(of []Schedule, now time.Time) (all []EndedJob, unknown map[uint64]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	unknown = map[uint64]bool{}
	for i := range of {
		c := &of[i]
		k, known := l.known[place{c.PolicyID, c.Partition}]
		if c.LastEnded == 0 {
			continue
		}
		if !known || k.id != c.LastEnded || !k.finished.Equal(c.LastFinishedAt) || now.Sub(k.read) > lastKept {
			unknown[c.PolicyID] = true
		}
	}

	all = make([]EndedJob, 0, len(of))
	for i := range of {
		if c := &of[i]; c.LastEnded != 0 && !unknown[c.PolicyID] {
			all = append(all, l.known[place{c.PolicyID, c.Partition}].jobs...)
		}
	}

	return all, unknown
}

// remember keeps what was read of some policies, as far as their schedules name it, and forgets
// places that have none.
func (l *lastJobs) remember(of []Schedule, some map[uint64]bool, read []EndedJob, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()

	found := make(map[place]EndedJob, len(read))
	for i := range read {
		found[place{read[i].PolicyID, read[i].Partition}] = read[i]
	}

	known := make(map[place]lastJob, len(of))
	for i := range of {
		c := &of[i]
		at := place{c.PolicyID, c.Partition}
		if !some[c.PolicyID] {
			known[at] = l.known[at]
			continue
		}

		k := lastJob{id: c.LastEnded, finished: c.LastFinishedAt, read: now}
		job, there := found[at]
		if there {
			k.jobs = []EndedJob{job}
		}
		if !c.LastFinishedAt.IsZero() && (!there || job.ID == c.LastEnded) {
			known[at] = k
		}
	}

	l.known = known
}
