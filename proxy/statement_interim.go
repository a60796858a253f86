package proxy

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// staged is a change of policies whose DDL is in flight.
type staged struct {
	t       *turn
	intents []catalog.Intent
}

func (s *staged) Commit(ctx context.Context) error {
	for _, i := range s.intents {
		if err := s.commit(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *staged) commit(ctx context.Context, i catalog.Intent) error {
	who := s.t.client()
	switch {
	case i.Kind == catalog.IntentDrop || i.Remove || i.Kind == catalog.IntentReplace && i.Rule == nil:
		return s.t.Store.Remove(ctx, who, i.Table)
	case i.Kind == catalog.IntentTruncate:
		return nil
	}
	rule, table := i.Rule, i.Table
	if rule == nil {
		p, err := s.t.Store.Policy(ctx, i.Table)
		if err != nil {
			return err
		}
		rule = &p.Rule
	}
	if i.To != nil {
		if err := s.t.Store.Remove(ctx, who, i.Table); err != nil {
			return err
		}
		table = *i.To
	}
	_, err := s.t.Store.Declare(ctx, who, catalog.Declaration{Table: table, Rule: *rule, Arm: !i.Dormant, Hold: i.Hold})
	return err
}

func (s *staged) Discard(context.Context) error { return nil }
func (s *staged) Settle(context.Context) error  { return nil }
