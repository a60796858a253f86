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
	Now       time.Time // of the database
	Enabled   bool      // ttl_job_enable
	Window    *ddl.Window
	Pause     catalog.GlobalPause
	Policies  []catalog.Policy
	Schedules []catalog.Schedule
	Jobs      []catalog.Job      // open
	Last      []catalog.EndedJob // the one that ended last of each table and partition
	Nodes     []catalog.Node
}

// place is a table or partition of a policy.
type place struct {
	policy    uint64
	partition string
}

// Work lists every table and partition that has, had or will have a job, by policy and partition. A
// policy without any of these has one line of its own.
func (s *Snapshot) Work() []*Work {
	halt, ran := s.Halt().Why, s.ran()
	jobs, last := s.byPlace()
	timings := timings{}

	var all []*Work

	for i := range s.Policies {
		p := &s.Policies[i]
		common := commonOf(p, ran[p.ID], timings.of(p))
		for _, partition := range partitions(jobs[p.ID], ran[p.ID]) {
			all = append(all, &Work{
				Now: s.Now, Policy: *p, Partition: partition, Window: s.Window, Halt: halt,
				Job: jobs[p.ID][partition], Last: last[place{p.ID, partition}], Ran: ran[p.ID], common: common,
			})
		}
	}

	return all
}

// byPlace finds open jobs by policy and partition, and the last ended ones by place.
func (s *Snapshot) byPlace() (map[uint64]map[string]*catalog.Job, map[place]*catalog.EndedJob) {
	jobs := make(map[uint64]map[string]*catalog.Job, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if jobs[j.PolicyID] == nil {
			jobs[j.PolicyID] = map[string]*catalog.Job{}
		}
		jobs[j.PolicyID][j.Partition] = j
	}

	last := make(map[place]*catalog.EndedJob, len(s.Last))
	for i := range s.Last {
		j := &s.Last[i]
		last[place{j.PolicyID, j.Partition}] = j
	}

	return jobs, last
}

// ran sorts the schedules by policy.
func (s *Snapshot) ran() map[uint64][]catalog.Schedule {
	all := make(map[uint64][]catalog.Schedule, len(s.Policies))
	for _, c := range s.Schedules {
		all[c.PolicyID] = append(all[c.PolicyID], c)
	}
	return all
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
