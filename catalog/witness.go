package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Witness makes sure that the catalog a proxy works with is the one it remembers: not a clone, not
// a restored copy, not another server. If it is not, it holds every policy until somebody says
// TRUST TTL SERVER.
type Witness struct {
	store *Store
	state *stateFile
	log   *slog.Logger
	clock ClockWatch

	looked time.Time // when all that is known of the server was read, and found in order
	said   string    // why everything was held last; empty once all has been found in order
}

// NewWitness returns the witness of a store. An empty stateDir remembers only as long as the
// process lives.
func NewWitness(store *Store, stateDir string, log *slog.Logger) (*Witness, error) {
	state, err := openStateFile(stateDir)
	if err != nil {
		return nil, err
	}
	return &Witness{store: store, state: state, log: log}, nil
}

// Await checks until a check has been made, and reports false when ctx ended before. The engine
// starts after it.
func (w *Witness) Await(ctx context.Context) bool {
	for {
		err := w.Check(ctx)
		if err == nil {
			return true
		}
		w.warn(ctx, err)
		if wait(ctx, w.store.cfg.BeatInterval) != nil {
			return false
		}
	}
}

// Run checks, advances the generation and remembers it, with every beat until ctx ends.
func (w *Witness) Run(ctx context.Context) error {
	for wait(ctx, w.store.cfg.BeatInterval) == nil {
		if err := w.Check(ctx); err != nil {
			w.warn(ctx, err)
		}
	}
	return nil
}

func (w *Witness) warn(ctx context.Context, err error) {
	if ctx.Err() == nil {
		w.log.LogAttrs(ctx, slog.LevelWarn, "cannot check where the catalog lives", slog.Any("err", err))
	}
}

// Check holds the policies when the server or the catalog is not the one it should be; otherwise it
// advances the generation and remembers it.
func (w *Witness) Check(ctx context.Context) error {
	l, held, err := w.look(ctx)
	if err != nil {
		return err
	}
	if held {
		w.clock.Forget() // whoever trusts the server sees its time, too
		return nil
	}

	why, err := w.doubt(ctx, l)
	if err != nil {
		return err
	}
	if why != "" {
		if err := w.store.Hold(ctx, why+"; TRUST TTL SERVER if this is right"); err != nil {
			return fmt.Errorf("hold all policies, because %s: %w", why, err)
		}
		w.say(ctx, why)
		return nil
	}

	w.said = ""
	if err := w.tell(ctx, l); err != nil {
		return err
	}
	generation, err := w.store.advance(ctx, l.Generation)
	if err != nil {
		return err
	}

	w.store.reached.Store(&reached{l.CatalogID, generation})
	w.store.checks.Add(1)
	return w.state.remember(l.CatalogID, generation)
}

// say logs why everything is held, once: while a backup is being loaded over the catalog, it is held anew
// whenever that has been overwritten.
func (w *Witness) say(ctx context.Context, why string) {
	if why != w.said {
		w.log.LogAttrs(ctx, slog.LevelError, "all policies are held until TRUST TTL SERVER", slog.String("reason", why))
	}
	w.said = why
}

// lookWholly is how often all is read that is known of a server, although it is the one that it was.
const lookWholly = time.Minute

// look reads where the catalog is, and whether everything is held. What a server is called, and that
// it is trusted, is enough while it is the same.
func (w *Witness) look(ctx context.Context) (l Lineage, held bool, err error) {
	key, l, held, err := w.store.glance(ctx)
	if err != nil {
		return l, held, err
	}

	l.Server = w.store.Server()
	if l.Known && l.Server.Key() == key && time.Since(w.looked) < lookWholly {
		return l, held, nil
	}

	l, err = w.store.Lineage(ctx)
	return l, held, err
}

// tell records that the server was found in order, if all was read that is known of it.
func (w *Witness) tell(ctx context.Context, l Lineage) error {
	if l.Servers == nil {
		return nil
	}
	if _, err := w.store.exec(ctx, w.store.db, touchLineage); err != nil {
		return fmt.Errorf("write lineage: %w", err)
	}
	w.looked = time.Now()
	return nil
}

// Checks counts how often the Witness of this process has found everything in order.
func (s *Store) Checks() uint64 { return s.checks.Load() }

// leapt says how much further the server's clock has gone, since the catalog was last written, than
// time has passed here; "" if it has not. If others have written a moment ago, the silence was
// ours.
func (w *Witness) leapt(l Lineage) string {
	if l.AdvancedAt.IsZero() {
		return ""
	}
	if l.Age <= mostJump {
		w.clock.Forget()
	}
	if leapt, why := w.clock.Look(l.AdvancedAt.Add(l.Age)); leapt > 0 {
		return why
	}
	return ""
}

// doubt says why this may not be the catalog that it should be; "" for no doubt.
func (w *Witness) doubt(ctx context.Context, l Lineage) (string, error) {
	if !l.Known {
		related, err := w.store.related(ctx, l.Server)
		if err != nil {
			return "", err
		}
		if !related {
			return fmt.Sprintf("the catalog has never lived on this server (%s): a clone, a restored copy, or a "+
					"new member", l.Server.Key()),
				w.store.meet(ctx, w.store.db, l.Server, false, "")
		}

		return "", w.store.meet(ctx, w.store.db, l.Server, true,
			"nodes on other members of its cluster are using it")
	}

	remembered, known := w.state.recall(l.CatalogID)
	if known && l.Generation < remembered {
		return fmt.Sprintf("the catalog is older than this proxy remembers (generation %d, remembered %d): a backup "+
			"was restored, or a fail-over lost changes",
			l.Generation, remembered), nil
	}
	if why := w.leapt(l); why != "" {
		return why, nil
	}

	if known {
		return "", nil
	}

	values, err := w.store.Values(ctx)
	if err != nil {
		return "", err
	}
	if limit := values.Duration(setting.StaleHold); l.Age > limit {
		return fmt.Sprintf("nobody has worked with this catalog for %s (ttl_stale_hold is %s), and this proxy does "+
			"not remember it",
			ddl.FormatDuration(l.Age.Round(time.Minute)), ddl.FormatDuration(limit)), nil
	}

	return "", nil
}

// related reports whether a node on a trusted member of the same cluster is using this very catalog
// now. A clone cannot show that: nobody writes into it.
func (s *Store) related(ctx context.Context, v Server) (bool, error) {
	if v.Cluster == "" {
		return false, nil
	}
	var n int
	if err := s.db.QueryRowContext(ctx, s.sql(countRelated), v.Cluster, s.deadAfter()).Scan(&n); err != nil {
		return false, fmt.Errorf("look for nodes on the same cluster: %w", err)
	}
	return n > 0, nil
}

// advance moves the generation on, unless another node has done so just now, and returns it. One is
// known to have been reached.
func (s *Store) advance(ctx context.Context, reached uint64) (generation uint64, err error) {
	done, err := s.alone(ctx, "advance generation", advanceGeneration, (s.cfg.BeatInterval / 2).Microseconds())
	if err != nil {
		return 0, err
	}

	n, err := done.RowsAffected()
	if err != nil || n == 0 {
		return reached, err
	}

	next, err := done.LastInsertId()
	return uint64(next), err //nolint:gosec // what was UNSIGNED there
}

// ErrUnknownServer says that a connection leads to a server the catalog is not trusted on.
var ErrUnknownServer = errors.New("the catalog is not trusted on this server")

// Admit checks the server at the other end of a connection that is about to delete: after a
// fail-over it may be another one before the next Check has come. The engine calls it for each new
// connection.
func (w *Witness) Admit(ctx context.Context, conn *sql.Conn) error {
	var trusted bool
	var id string
	var generation uint64
	err := conn.QueryRowContext(ctx, w.store.sql(selectAdmission)).Scan(&trusted, &id, &generation)
	if err != nil {
		return fmt.Errorf("admit connection: %w", err)
	}
	if remembered, known := w.state.recall(id); !trusted || known && generation < remembered {
		return ErrUnknownServer
	}
	return nil
}
