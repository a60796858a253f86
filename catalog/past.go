package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"time"
)

// Past is when a policy's table and its partitions ran last, and what came of it.
type Past struct {
	PolicyID  uint64
	Schedules []Schedule // by partition
	Last      []EndedJob // of each that has had a job, the one that ended last; by partition
}

// Schedule is that of a partition; nil when there is none.
func (p *Past) Schedule(partition string) *Schedule {
	i := sort.Search(len(p.Schedules), func(i int) bool { return p.Schedules[i].Partition >= partition })
	if i == len(p.Schedules) || p.Schedules[i].Partition != partition {
		return nil
	}
	return &p.Schedules[i]
}

// LastOf is the job of a partition that ended last; nil when there is none.
func (p *Past) LastOf(partition string) *EndedJob {
	i := sort.Search(len(p.Last), func(i int) bool { return p.Last[i].Partition >= partition })
	if i == len(p.Last) || p.Last[i].Partition != partition {
		return nil
	}
	return &p.Last[i]
}

// PoliciesAgain is Policies for those who ask all the time, who share what they get: nobody changes
// it.
func (s *Store) PoliciesAgain(ctx context.Context) ([]*Policy, error) {
	stamps, err := s.stamps(ctx, selectPolicyStamps)
	if err != nil {
		return nil, err
	}

	all, err := s.policiesRead.again(stamps, func(policies string) (map[uint64]*Policy, error) {
		read, err := s.policies(ctx, s.db, fmt.Sprintf(selectThesePolicies, policies))
		byID := make(map[uint64]*Policy, len(read))
		for i := range read {
			read[i].Paused = Pause{} // which has a row of its own
			byID[read[i].ID] = &read[i]
		}
		return byID, err
	})
	if err != nil {
		return nil, err
	}

	pauses, err := s.pauses(ctx)
	for i, p := range all {
		if pause, paused := pauses[p.ID]; paused {
			with := *p
			with.Paused = pause
			all[i] = &with
		}
	}

	slices.SortFunc(all, func(a, b *Policy) int { return a.Table.Compare(b.Table) })
	return all, err
}

// pauses returns those of policies, also those that have come to their end by themselves.
func (s *Store) pauses(ctx context.Context) (map[uint64]Pause, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectPauses))
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	defer rows.Close()

	all := map[uint64]Pause{}
	for rows.Next() {
		var policy uint64
		var p Pause
		var since, till sql.Null[time.Time]
		if err := rows.Scan(&policy, &p.Paused, &p.Reason, &p.By, &since, &till); err != nil {
			return nil, fmt.Errorf("read pauses: %w", err)
		}

		p.Since, p.Until = since.V, till.V
		all[policy] = p
	}

	return all, rows.Err()
}

// PastAgain returns the pasts of all policies, by their numbers, to be shared: nobody changes them.
func (s *Store) PastAgain(ctx context.Context) (map[uint64]*Past, error) {
	stamps, err := s.stamps(ctx, selectScheduleStamps)
	if err != nil {
		return nil, err
	}

	all, err := s.pastRead.again(stamps, func(policies string) (map[uint64]*Past, error) {
		return s.past(ctx, policies)
	})

	byPolicy := make(map[uint64]*Past, len(all))
	for _, p := range all {
		byPolicy[p.PolicyID] = p
	}

	return byPolicy, err
}

// PastOf is PastAgain for one policy.
func (s *Store) PastOf(ctx context.Context, policy uint64) (map[uint64]*Past, error) {
	return s.past(ctx, strconv.FormatUint(policy, 10))
}

// past reads those of some policies. The schedules come first: when the jobs that they name are
// read, they are there, or later ones.
func (s *Store) past(ctx context.Context, policies string) (map[uint64]*Past, error) {
	schedules, err := s.schedules(ctx, fmt.Sprintf(selectTheseSchedules, policies))
	if err != nil {
		return nil, err
	}

	last, err := s.history(ctx, fmt.Sprintf(selectLastJobs, policies))
	if err != nil {
		return nil, err
	}

	all := map[uint64]*Past{}
	for _, c := range schedules {
		if all[c.PolicyID] == nil {
			all[c.PolicyID] = &Past{PolicyID: c.PolicyID}
		}
		all[c.PolicyID].Schedules = append(all[c.PolicyID].Schedules, c)
	}

	for _, j := range last {
		if p := all[j.PolicyID]; p != nil {
			p.Last = append(p.Last, j)
		}
	}

	for _, p := range all {
		slices.SortFunc(p.Schedules, func(a, b Schedule) int { return cmp.Compare(a.Partition, b.Partition) })
		slices.SortFunc(p.Last, func(a, b EndedJob) int { return cmp.Compare(a.Partition, b.Partition) })
	}

	return all, nil
}
