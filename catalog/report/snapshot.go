package report

import (
	"cmp"
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
	Server   string // why nothing may be deleted on it, as when it is read-only; empty when something may
	Policies []*catalog.Policy
	Past     map[uint64]*catalog.Past // by policy
	Jobs     []catalog.Job            // open
	Nodes    []catalog.Node
	Throttle catalog.Throttle // what all engines go by together, without signals
	// Stuck says, by policy, why the partitions cannot be made that TTL_PARTITION_AHEAD asks for.
	Stuck map[uint64]string
	// Holds are the partitions, by policy, that have no jobs until a person has looked.
	Holds map[uint64]catalog.Holds
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
	slowed, open := s.slowed(), s.openJobs()
	var halt string
	if h := s.Halt(); !h.Passes() {
		halt = h.Why
	}
	all := make([]*Work, 0, len(policies))

	for _, p := range policies {
		past := s.pastOf(p.ID)
		next := nextOf(p, past.Schedules)
		lines := places(open[p.ID], s.Holds[p.ID].Places, past)

		for i := range lines {
			w := &lines[i]
			w.Now, w.Policy, w.Window, w.Halt, w.Ran, w.next = s.Now, p, s.Window, halt, past.Schedules, next
			w.Slowed, w.SlowedBy, w.Share = slowed, s.slowedBy(), s.Throttle.Share
			w.Job = w.jobByNow()
			all = append(all, w)
		}
		if p.Terms.Options.Ahead > 0 {
			at := slices.IndexFunc(lines, func(w Work) bool { return w.Held == "" })
			lines[max(at, 0)].Stuck = s.Stuck[p.ID]
		}
	}

	return all
}

// openJobs are those of each policy, by partition.
func (s *Snapshot) openJobs() map[uint64][]*catalog.Job {
	jobs := make(map[uint64][]*catalog.Job, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		jobs[j.PolicyID] = append(jobs[j.PolicyID], j)
	}

	for _, of := range jobs {
		slices.SortFunc(of, func(a, b *catalog.Job) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	return jobs
}

// places are the partitions that a policy's jobs and schedules speak of, or that are held, each with
// what is known of it; the empty name stands for the table as a whole and is left out when there are
// others. All that is known is in the order of the names.
func places(open []*catalog.Job, held []catalog.HeldPlace, past *catalog.Past) []Work {
	ran, last := past.Schedules, past.Last
	lines := make([]Work, 0, max(1, len(ran)+len(open)+len(held)))

	for len(ran)+len(open)+len(held) > 0 {
		w := Work{Partition: firstOf(ran, open, held)}
		if len(held) > 0 && held[0].Partition == w.Partition {
			w.Held, held = held[0].Why, held[1:]
		}
		if len(ran) > 0 && ran[0].Partition == w.Partition {
			w.ran, ran = &ran[0], ran[1:]
		}
		for len(open) > 0 && open[0].Partition == w.Partition {
			w.Job, open = open[0], open[1:]
		}

		for len(last) > 0 && last[0].Partition < w.Partition {
			last = last[1:]
		}
		if len(last) > 0 && last[0].Partition == w.Partition {
			w.Last = &last[0]
		}

		lines = append(lines, w)
	}

	switch {
	case len(lines) == 0:
		return append(lines, Work{Last: past.LastOf("")})
	case len(lines) > 1 && lines[0].Partition == "":
		return lines[1:]
	default:
		return lines
	}
}

// firstOf is the first partition of lists in order, of which one has any.
func firstOf(ran []catalog.Schedule, open []*catalog.Job, held []catalog.HeldPlace) string {
	firsts := make([]string, 0, 3) // not on the heap: there are many lines
	if len(ran) > 0 {
		firsts = append(firsts, ran[0].Partition)
	}
	if len(open) > 0 {
		firsts = append(firsts, open[0].Partition)
	}
	if len(held) > 0 {
		firsts = append(firsts, held[0].Partition)
	}
	return slices.Min(firsts)
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
