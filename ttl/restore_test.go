package ttl

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// comeback stages RESTORE TTL PARTITION p1 FOR t, as a proxy does.
func (f *fixture) comeback(p catalog.Policy, gone catalog.Departure) *catalog.Staged {
	f.T.Helper()
	staged, err := f.Store.Stage(f.T.Context(), catalog.Client{
		Account: "test", Server: f.Store.Server().Key(), Boot: f.Store.Server().Boot, Connection: 1,
	}, []catalog.Intent{{
		Kind: catalog.IntentAlter, Table: p.Table, Imports: "RESTORE TTL PARTITION p1", Restores: gone.ComesBack(),
	}})
	if err != nil {
		f.T.Fatal(err)
	}
	return staged
}

// TestNothingRestoredIsEaten: what is about to be dropped when its grace is over, and what is due again
// because it has come back, stays: the first as soon as the policy has been stopped for it, the second
// until a person approves. Then it goes whole again.
func TestNothingRestoredIsEaten(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		p := m.exchanges("1h")
		f.consent(p, catalog.Consent{})
		m.pass()
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")
		gone, err := f.Store.Departure(t.Context(), p.ID, "p1")
		if err != nil || gone.Bound == "" {
			t.Fatalf("the departure is %+v, %v", gone, err)
		}

		late := f.at(utc("05-12 13:00:01"))
		ending, err := late.engine.store.EndKept(t.Context(), gone, p, 0)
		if err != nil {
			t.Fatal(err)
		}
		staged := f.comeback(p, gone)
		if got := f.Text("SELECT " + late.engine.store.EndingGuard(ending)); got != "0" {
			t.Error("what is on its way back may be dropped")
		}
		if _, err := late.engine.store.EndKept(t.Context(), gone, p, 0); err == nil {
			t.Error("what is on its way back may be dropped by another node")
		}

		f.Exec(fmt.Sprintf(f.In("ALTER TABLE {t}.t REORGANIZE PARTITION p3 INTO (PARTITION p1 VALUES LESS THAN (%s), "+
			"PARTITION p3 VALUES LESS THAN (TO_DAYS('2027-05-12')))"), gone.Bound),
			f.In("ALTER TABLE {t}.t EXCHANGE PARTITION p1 WITH TABLE {t}.ttlproxy_2_p1"))
		if err := staged.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := f.Store.DropLeftovers(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.wantSides("ttlproxy_3_p2")

		f.at(utc("05-12 14:00:02")).pass()
		if got, want := f.divided(), "3,4,5,8 in p0,p1,p3,p4"; got != want {
			t.Errorf("%s is left before the approval, want %s", got, want)
		}
		if got := f.needsApproval(); got == "" {
			t.Error("no job waits for an approval")
		}
		f.wantSides("ttlproxy_3_p2") // which may be what comes back next

		now, err := f.Store.PolicyByID(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.consent(now, catalog.Consent{})
		f.at(utc("05-12 14:00:03")).pass()
		f.at(utc("05-12 15:00:04")).pass()
		if got, want := f.divided(), "5,8 in p0,p3,p4"; got != want {
			t.Errorf("%s is left after the approval, want %s", got, want)
		}
	})
}
