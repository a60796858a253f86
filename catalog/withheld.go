package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// withheld says, by policy, what keeps rows until a person has looked, beside the policy's own state: they came back,
// or are more than usual. To another catalog they would be rows like any others.
func (s *Store) withheld(ctx context.Context, all []Policy) (map[uint64][]string, error) {
	holds, err := s.Holds(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := s.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	armed := slices.DeleteFunc(slices.Clone(all), func(p Policy) bool { return p.standing() != PolicyArmed })
	changed, err := s.changedAround(ctx, armed)
	if err != nil {
		return nil, err
	}

	why := map[uint64][]string{}
	for _, p := range all {
		for _, place := range holds[p.ID].Places {
			why[p.ID] = append(why[p.ID], fmt.Sprintf("partition %s is held: %s", place.Partition, place.Why))
		}
		if text := changed[p.ID]; text != "" {
			why[p.ID] = append(why[p.ID], "not looked at yet: "+text)
		}
		if text := p.asks(); text != "" {
			why[p.ID] = append(why[p.ID], "waits for approval: "+text)
		}
	}
	for _, j := range jobs {
		if j.State == JobNeedsApproval {
			why[j.PolicyID] = append(why[j.PolicyID], "waits for approval: "+j.Reason)
		}
	}

	return why, nil
}

// standing is the state of a policy, whether or not a statement is changing its table just now.
func (p Policy) standing() PolicyState {
	if p.Stage != nil {
		return p.Stage.Before
	}
	return p.State
}

// asks says why a policy waits for approval, whatever the brake says, or will when the statement is over that is
// changing its table just now; empty if it does not.
func (p Policy) asks() string {
	switch {
	case p.Approval.Required:
		return p.Approval.Reason
	case p.Stage == nil:
		return ""
	case p.Stage.FromDump:
		return fromDump
	case p.Stage.Imports != "":
		return p.Stage.brings()
	default:
		return ""
	}
}

// changedAround says, by policy, what the next job would find of a table that was changed around the proxy, and wait
// for. It changes nothing. What cannot be told is no better than a change.
func (s *Store) changedAround(ctx context.Context, policies []Policy) (map[uint64]string, error) {
	const atOnce = 50 // tables in a statement
	why := map[uint64]string{}
	for some := range slices.Chunk(policies, atOnce) {
		familiar, err := s.Familiar(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			if _, same := familiar[p.ID]; same {
				continue
			}

			_, _, c, err := s.compareSeeing(ctx, p)
			switch {
			case ctx.Err() != nil:
				return nil, err
			case err != nil:
				why[p.ID] = err.Error()
			case c.How >= tables.Unsure:
				why[p.ID] = c.Why
			default:
				why[p.ID] = c.HeldAnew()
			}
		}
	}
	return why, nil
}
