package catalog

import (
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func (b *bench) witness(t *testing.T, dir string) *Witness {
	t.Helper()
	w, err := NewWitness(b.Store, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// check lets a witness look, and returns why everything is held; "" when nothing is.
func (b *bench) check(t *testing.T, w *Witness) string {
	t.Helper()
	if err := w.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, err := b.GlobalPause(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if g.Held != (g.HeldReason != "") {
		t.Errorf("got held %v for reason %q", g.Held, g.HeldReason)
	}
	return g.HeldReason
}

func TestRestartHoldsNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		dir := t.TempDir()
		for range 3 {
			if why := b.check(t, b.witness(t, dir)); why != "" {
				t.Errorf("the same proxy again: held because %s", why)
			}
			if why := b.check(t, b.witness(t, "")); why != "" {
				t.Errorf("a proxy on a new disk: held because %s", why)
			}
		}
	})
}

// TestRestoredCatalogDeletesNothing: also before the next check, no batch goes by a catalog that is
// older than it was.
func TestRestoredCatalogDeletesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		b.exec(t, "UPDATE {generation} SET value = 100")
		w := b.witness(t, "")
		b.check(t, w)

		opens := func() bool {
			t.Helper()
			err := b.inForceNow(t, p)
			if err != nil && !errors.Is(err, ErrStopped) {
				t.Fatal(err)
			}
			return err == nil
		}
		if !opens() {
			t.Error("the barrier does not open for the catalog that was checked")
		}

		b.exec(t, "UPDATE {generation} SET value = value + 1")
		if !opens() {
			t.Error("the barrier does not open when another node has advanced the generation")
		}

		b.exec(t, "UPDATE {generation} SET value = 40")
		if opens() {
			t.Error("the barrier opens for an older catalog")
		}

		b.exec(t, "UPDATE {generation} SET value = 200, catalog_id = 'another'")
		if opens() {
			t.Error("the barrier opens for another catalog")
		}
		if b.check(t, w); !opens() {
			t.Error("the barrier does not open for a catalog that was trusted elsewhere and checked")
		}
	})
}

// inForceNow asks for what a batch asks for.
func (b *bench) inForceNow(t *testing.T, p Policy) error {
	t.Helper()
	return b.tx(t.Context(), "test", func(tx *sql.Tx) error { return b.inForce(t.Context(), tx, p.ID, p.Version) })
}

func TestOlderCatalogIsHeldUntilTrusted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		dir := t.TempDir()
		b.exec(t, "UPDATE {generation} SET value = 100")
		b.check(t, b.witness(t, dir))
		b.exec(t, "UPDATE {generation} SET value = 40") // as after a restore

		if why := b.check(t, b.witness(t, dir)); !strings.Contains(why, "remembered 100") {
			t.Errorf("got reason %q, want the generations in it", why)
		}

		now, _ := b.Clock(t.Context())
		if _, err := b.CreateJob(t.Context(), NewJob{Policy: p, Cutoff: now}); !errors.Is(err, ErrStopped) {
			t.Errorf("a job while held: got %v, want %v", err, ErrStopped)
		}
		if err := b.Trust(t.Context(), "dba", b.Server().Key()); err != nil {
			t.Fatal(err)
		}
		if why := b.check(t, b.witness(t, dir)); why != "" {
			t.Errorf("after TRUST: held because %s", why)
		}
		if _, err := b.CreateJob(t.Context(), NewJob{Policy: p, Cutoff: now}); err != nil {
			t.Errorf("a job after TRUST: %v", err)
		}
	})
}

// TestHoldIsSaidOnce: also if it is lifted under our hands, as when a backup is loaded over the catalog.
func TestHoldIsSaidOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		var log strings.Builder
		w, err := NewWitness(b.Store, "", slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}

		said := func(want int) {
			t.Helper()
			if why := b.check(t, w); why == "" {
				t.Error("nothing is held")
			}
			if got := strings.Count(log.String(), "all policies are held"); got != want {
				t.Errorf("the hold was said %d times, want %d: %s", got, want, &log)
			}
		}
		b.check(t, w)
		b.exec(t, "UPDATE {lineage} SET server = 'elsewhere', host = 'elsewhere'")
		said(1)
		b.exec(t, "UPDATE {pause} SET held = FALSE, held_reason = '', held_at = NULL WHERE policy_id = 0")
		said(1)

		if err := b.Trust(t.Context(), "dba", b.Server().Key()); err != nil {
			t.Fatal(err)
		}
		b.check(t, w)
		b.exec(t, "DELETE FROM {lineage} WHERE server <> 'elsewhere'")
		w.looked = time.Time{}
		said(2)
	})
}

func TestUnknownServerIsHeld(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		w := b.witness(t, "")
		if why := b.check(t, w); why != "" {
			t.Errorf("on the server that it knows: held because %s", why)
		}
		b.exec(t, "UPDATE {lineage} SET server = 'elsewhere', host = 'elsewhere'") // as in a copied data directory
		conn, err := b.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		if err := w.Admit(t.Context(), conn); !errors.Is(err, ErrUnknownServer) {
			t.Errorf("a connection before the check: got %v, want %v", err, ErrUnknownServer)
		}
		if why := b.check(t, w); !strings.Contains(why, "never lived on this server") {
			t.Errorf("got reason %q", why)
		}

		l, err := b.Lineage(t.Context())
		if err != nil || l.Known || len(l.Servers) != 2 {
			t.Errorf("got %+v, %v, want this server listed and not known", l, err)
		}
		if err := b.Trust(t.Context(), "dba", b.Server().Key()); err != nil {
			t.Fatal(err)
		}
		if err := w.Admit(t.Context(), conn); err != nil {
			t.Errorf("after TRUST: %v", err)
		}
	})
}

func TestClusterMemberWithNodesAtWorkIsTrusted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "UPDATE {lineage} SET server = 'first', cluster_id = 'c'")
		node := b.node(t)
		b.exec(t, "UPDATE {node} SET server = 'first' WHERE id = ?", node)

		member := Server{Cluster: "c"}
		if ok, err := b.related(t.Context(), member); !ok || err != nil {
			t.Errorf("a member of the cluster: got %v, %v, want it related", ok, err)
		}

		b.exec(t, "UPDATE {node} SET heartbeat_at = heartbeat_at - INTERVAL 1 HOUR")
		if ok, err := b.related(t.Context(), member); ok || err != nil {
			t.Errorf("a copy in which nobody works: got %v, %v, want it unrelated", ok, err)
		}
	})
}

func TestStaleCatalogIsHeldByAProxyWithoutMemory(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		dir := t.TempDir()
		b.check(t, b.witness(t, dir))
		b.exec(t, "UPDATE {generation} SET advanced_at = advanced_at - INTERVAL 25 HOUR")
		if _, known := b.witness(t, dir).state.recall(b.catalogID(t)); !known {
			t.Error("the state directory does not remember the catalog")
		}
		if why := b.check(t, b.witness(t, dir)); why != "" {
			t.Errorf("a proxy that remembers it: held because %s", why)
		}

		b.exec(t, "UPDATE {generation} SET advanced_at = UTC_TIMESTAMP(6) - INTERVAL 25 HOUR")
		if why := b.check(t, b.witness(t, "")); !strings.Contains(why, "ttl_stale_hold is 24h") {
			t.Errorf("a proxy that does not: got reason %q", why)
		}
	})
}

func (b *bench) catalogID(t *testing.T) string {
	t.Helper()
	l, err := b.Lineage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l.CatalogID
}

func TestGenerationAdvancesOncePerBeat(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "UPDATE {generation} SET advanced_at = UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE")
		first, err := b.advance(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		second, err := b.advance(t.Context(), first)
		if err != nil || first != 2 || second != 2 {
			t.Errorf("got generations %d, %d, %v, want 2 and 2: another node has just advanced it", first, second, err)
		}
	})
}

func TestMemoryKeepsTheHighest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, err := openStateFile(dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, g := range []uint64{5, 3} {
		if err := m.remember("c", g); err != nil {
			t.Fatal(err)
		}
	}

	if m, err = openStateFile(dir); err != nil {
		t.Fatal(err)
	}
	if g, known := m.recall("c"); g != 5 || !known {
		t.Errorf("got %d, %v, want 5", g, known)
	}
}

// TestLeapOfTheClockIsHeld: what is taken for passing time is what passed here, or what others have
// seen pass.
func TestLeapOfTheClockIsHeld(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "UPDATE {generation} SET advanced_at = UTC_TIMESTAMP(6) - INTERVAL 8 HOUR")
		w := b.witness(t, "")
		if why := b.check(t, w); why != "" {
			t.Errorf("a proxy that was down for a night: held because %s", why)
		}

		w.clock.anchor.database = w.clock.anchor.database.Add(-8 * time.Hour)
		if why := b.check(t, w); why != "" {
			t.Errorf("a machine that stood still while others worked: held because %s", why)
		}

		b.exec(t, "UPDATE {generation} SET advanced_at = advanced_at - INTERVAL 8 HOUR") // eight hours in no time
		w.clock.anchor.database = w.clock.anchor.database.Add(-8 * time.Hour)
		w.clock.anchor.wall = w.clock.anchor.wall.Add(-8 * time.Hour)
		if why := b.check(t, w); !strings.Contains(why, "jumped by 8h") ||
			!strings.Contains(why, "TRUST TTL SERVER") {
			t.Errorf("both clocks have leapt: held because %q", why)
		}
		if err := b.Trust(t.Context(), "dba@%", b.Server().Key()); err != nil {
			t.Fatal(err)
		}
		if why := b.check(t, w); why != "" {
			t.Errorf("after TRUST TTL SERVER: held because %s", why)
		}
	})
}
