package main

import (
	"context"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/checkup"
)

// sickStore is a catalog whose tables need a person, and which nobody works on.
type sickStore struct{ someStore }

func (sickStore) Nodes(context.Context) ([]catalog.Node, error) { return nil, nil }

func (s sickStore) PoliciesAgain(ctx context.Context) ([]*catalog.Policy, error) {
	all, err := s.someStore.PoliciesAgain(ctx)
	all[1].Version, all[1].Approval.Required = 2, true
	return all, err
}

// heldStore is a catalog whose only engine deletes nothing.
type heldStore struct{ someStore }

func (heldStore) Nodes(context.Context) ([]catalog.Node, error) {
	return []catalog.Node{{
		ID: 1, Name: "a", Engine: true, Live: true, Stop: catalog.StopFile,
		Status: "the stop file /stop exists",
	}, {ID: 2, Engine: true}, {ID: 3, Live: true}}, nil
}

func (heldStore) Shares(context.Context) ([]catalog.Throttle, error) { return nil, nil }

func (heldStore) StuckAhead(context.Context) (map[uint64]string, error) { return nil, nil }

func (heldStore) Holds(context.Context) (map[uint64]catalog.Holds, error) { return nil, nil }

func (heldStore) Throttles(context.Context) ([]catalog.Throttle, error) { return nil, nil }

func TestHeldBack(t *testing.T) {
	t.Parallel()
	found, err := diagnose(t.Context(), heldStore{})
	if err != nil || found[0].Level != checkup.Warning ||
		found[0].Text != "nothing is deleted: the stop file /stop exists (on a)" {
		t.Errorf("got %+v, %v", found, err)
	}
	var b strings.Builder
	if err := overview(t.Context(), &b, screen{}, heldStore{}); err != nil ||
		!strings.Contains(b.String(), "NOT DELETING: the stop file /stop exists (on a)  tables") {
		t.Errorf("got %s, %v", b.String(), err)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	well, err := diagnose(t.Context(), someStore{})
	if err != nil || len(well) != 1 || well[0].Level != checkup.OK {
		t.Errorf("all well: got %+v, %v", well, err)
	}
	sick, err := diagnose(t.Context(), sickStore{})
	if err != nil || len(sick) != 2 || sick[0].Text != "no engine is running, so nothing is deleted" ||
		sick[1].Name != "table `shop`.`visits`" ||
		sick[1].Advice != "EXPLAIN TTL `shop`.`visits` shows what would go, APPROVE TTL JOB FOR `shop`.`visits` "+
			"lets it go" {
		t.Errorf("not well: got %+v, %v", sick, err)
	}
}
