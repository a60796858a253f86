package main

import (
	"context"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// sickStore is a catalog whose tables need a person, and which nobody works on.
type sickStore struct{ someStore }

func (sickStore) Nodes(context.Context) ([]catalog.Node, error) { return nil, nil }

func (s sickStore) Policies(ctx context.Context) ([]catalog.Policy, error) {
	all, err := s.someStore.Policies(ctx)
	all[1].Version, all[1].Approval.Required = 2, true
	return all, err
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	well, err := diagnose(t.Context(), someStore{})
	if err != nil || len(well) != 1 || well[0].Level != catalog.LevelOK {
		t.Errorf("all well: got %+v, %v", well, err)
	}
	sick, err := diagnose(t.Context(), sickStore{})
	if err != nil || len(sick) != 2 || sick[0].Text != "no engine is running, so nothing is deleted" || sick[1].Name != "table `shop`.`visits`" ||
		sick[1].Advice != "EXPLAIN TTL `shop`.`visits` shows what would go, APPROVE TTL JOB FOR `shop`.`visits` lets it go" {
		t.Errorf("not well: got %+v, %v", sick, err)
	}
}
