package report

import (
	"maps"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Snapshot is what the catalog says at one moment.
type Snapshot struct {
	Now      time.Time // of the database
	Enabled  bool      // ttl_job_enable
	Window   *ddl.Window
	Pause    catalog.GlobalPause
	Policies []*catalog.Policy
	Past     map[uint64]*catalog.Past // by policy
	Jobs     []catalog.Job            // open
	Nodes    []catalog.Node
}

// pastOf is what a policy's jobs have been.
func (s *Snapshot) pastOf(policy uint64) *catalog.Past {
	if p := s.Past[policy]; p != nil {
		return p
	}
	return &catalog.Past{}
}

// Work lists every table and partition that has, had or will have a job, by policy and partition. A
// policy without any of these has one line of its own.
func (s *Snapshot) Work() []*Work {
	return s.workOf(s.Policies...)
}

// workOf is the part of it that is about some policies.
func (s *Snapshot) workOf(policies ...*catalog.Policy) []*Work {
	halt, jobs := s.Halt().Why, s.openJobs()
	all := make([]*Work, 0, len(policies))

	for _, p := range policies {
		past := s.pastOf(p.ID)
		next := nextOf(p, past.Schedules)
		names := partitions(jobs[p.ID], past.Schedules)
		lines := make([]Work, len(names))

		for i, partition := range names {
			lines[i] = Work{
				Now: s.Now, Policy: p, Partition: partition, Window: s.Window, Halt: halt,
				Job: jobs[p.ID][partition], Last: past.LastOf(partition), Ran: past.Schedules,
				next: next, ran: past.Schedule(partition),
			}
			all = append(all, &lines[i])
		}
	}

	return all
}

// openJobs are those of each policy, by partition.
func (s *Snapshot) openJobs() map[uint64]map[string]*catalog.Job {
	jobs := make(map[uint64]map[string]*catalog.Job, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if jobs[j.PolicyID] == nil {
			jobs[j.PolicyID] = map[string]*catalog.Job{}
		}
		jobs[j.PolicyID][j.Partition] = j
	}
	return jobs
}

// partitions are those that a policy's jobs and schedules speak of; the empty name stands for the
// table as a whole and is left out when there are others.
func partitions(jobs map[string]*catalog.Job, ran []catalog.Schedule) []string {
	names := slices.Collect(maps.Keys(jobs))
	for i := range ran {
		names = append(names, ran[i].Partition)
	}

	slices.Sort(names)
	names = slices.Compact(names)

	if len(names) > 1 && names[0] == "" {
		names = names[1:]
	}
	if len(names) == 0 {
		names = []string{""}
	}

	return names
}

// NodeName is the name of a node, for people.
func (s *Snapshot) NodeName(id uint64) string {
	for i := range s.Nodes {
		if s.Nodes[i].ID == id {
			return s.Nodes[i].Name
		}
	}
	return ""
}
