package report

import (
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

// Halt says why nothing is deleted anywhere; empty when that is not so.
func (s *Snapshot) Halt() string {
	switch {
	case s.Pause.Held:
		return "the server is held: " + s.Pause.HeldReason
	case s.Pause.Holds(s.Now):
		return "everything, " + pausedBy(s.Pause.Pause)
	case !s.Enabled:
		return "ttl_job_enable is OFF"
	default:
		return ""
	}
}

// Work lists every table and partition that has, had or will have a job, by policy and partition. A policy without any of these
// has one line of its own.
func (s *Snapshot) Work() []*Work {
	halt := s.Halt()
	jobs, last := s.byPlace()
	var all []*Work
	for i := range s.Policies {
		p := &s.Policies[i]
		for _, partition := range s.partitions(p) {
			at := place{p.ID, partition}
			w := &Work{Now: s.Now, Policy: *p, Partition: partition, Window: s.Window, Halt: halt, Job: jobs[at], Last: last[at]}
			s.addSchedule(w)
			all = append(all, w)
		}
	}
	return all
}

func (s *Snapshot) byPlace() (map[place]*catalog.Job, map[place]*catalog.EndedJob) {
	jobs := make(map[place]*catalog.Job, len(s.Jobs))
	for i, j := range s.Jobs {
		jobs[place{j.PolicyID, j.Partition}] = &s.Jobs[i]
	}
	last := make(map[place]*catalog.EndedJob, len(s.Last))
	for i, j := range s.Last {
		last[place{j.PolicyID, j.Partition}] = &s.Last[i]
	}
	return jobs, last
}

// partitions are those that jobs and schedules speak of; the empty name stands for the table as a whole and is left out
// when there are others.
func (s *Snapshot) partitions(p *catalog.Policy) []string {
	var names []string
	for i := range s.Jobs {
		if s.Jobs[i].PolicyID == p.ID {
			names = append(names, s.Jobs[i].Partition)
		}
	}
	for i := range s.Schedules {
		if s.Schedules[i].PolicyID == p.ID {
			names = append(names, s.Schedules[i].Partition)
		}
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

func (s *Snapshot) addSchedule(w *Work) {
	for i := range s.Schedules {
		c := &s.Schedules[i]
		if c.PolicyID != w.Policy.ID {
			continue
		}
		if c.Partition == w.Partition {
			w.LastStarted = c.LastStartedAt
		}
		if c.Partition == w.Partition || c.Partition == "" {
			w.Requested = latest(w.Requested, c.RequestedAt)
		}
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
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
