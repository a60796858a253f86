package statement

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// Config is what is needed to decide on statements about TTL. Without a Catalog every statement
// passes.
type Config struct {
	Catalog func() *catalog.Store // the one to use now: it may be closed, and open later
	DB      *sql.DB               // connections of the service account
	Node    uint64                // this proxy's number in the catalog

	Backends func() []report.Backend // as the proxy sees them now; nil where nobody asks
}

// Handler is the handler of a proxy: it knows which statements are about TTL.
type Handler struct {
	config Config
	log    *slog.Logger

	patience patience      // with the catalog
	moment   time.Duration // bounds the reading for each note of a declaration

	// after is called after each step of carry, and may end the session there as a crash would.
	// Only tests set it.
	after func(step) error
}

// New returns the handler of statements about TTL.
func New(c Config, log *slog.Logger) *Handler {
	return &Handler{config: c, log: log, moment: 2 * time.Second}
}

// Candidate reports whether a statement may be about TTL, by a glance at its text.
func (h *Handler) Candidate(text []byte) bool { return h.config.Catalog != nil && ddl.Candidate(text) }

// Concerns reports whether a statement is about TTL, or about tables that may have a policy.
func (h *Handler) Concerns(x *proxy.Exchange) bool {
	if !x.RemembersNames() && ddl.ExecutesName(x.Text()) {
		return false
	}
	text := string(x.Text())
	if concernOf(text, x) == noConcern {
		return false
	}
	return x.Command == wire.Prepare || len(x.Notes()) > 0 || x.NotesAlone() || !asksForWarnings(text)
}

// Handle decides about a statement that was held back.
func (h *Handler) Handle(ctx context.Context, x *proxy.Exchange) error {
	err := h.handle(ctx, x)
	if err == nil {
		return nil
	}
	if _, said := errors.AsType[*wire.Error](err); said {
		return err
	}
	return errors.New(tryAgain(err))
}

func (h *Handler) handle(ctx context.Context, x *proxy.Exchange) error {
	if x.Command == wire.Execute || x.Command == wire.BulkExecute {
		return h.execute(ctx, x)
	}

	text := string(x.Text())
	if asksForWarnings(text) {
		return warnings(x, text)
	}

	store := h.config.Catalog()
	if concernOf(text, x) == follows && x.Command != wire.Prepare {
		found, err := h.mentioned(ctx, store, text)
		if err != nil {
			return h.withoutCatalog(ctx, x, text, err)
		}
		if !found {
			_, err := x.Pass()
			return err
		}
	}

	s, err := readSituation(x)
	if err != nil {
		return err
	}

	parts := ddl.Parse(text, s.mode)
	if len(parts) == 0 || len(parts) > 1 && (x.Command == wire.Prepare || !x.MultiStatements()) {
		_, err := x.Pass() // the server refuses it, or it is empty
		return err
	}

	if x.Command == wire.Prepare {
		q := &request{h: h, store: store, x: x, session: s, st: parts[0], alone: true}
		return q.prepare(ctx)
	}

	return h.each(ctx, x, store, s, parts)
}

// withoutCatalog lets a packet through if it only follows tables.
func (h *Handler) withoutCatalog(ctx context.Context, x *proxy.Exchange, text string, why error) error {
	parts := ddl.Parse(text, ddl.Mode{MariaDB: x.MariaDB()})
	q := &request{h: h, x: x, st: parts[len(parts)-1], prepared: true}
	if len(parts) == 1 {
		return q.withoutCatalog(ctx, why)
	}
	q.noteWithoutCatalog(ctx, why)
	x.Leave(q.notes...)
	return q.pass()
}

// asleepFor is how long a session has to do nothing to be asleep.
const asleepFor = 5 * time.Second

// Asleep asks the server that the catalog is on. Without the right to see the session the answer is
// unknown. It asks twice: MySQL counts the time of a session that sleeps from the beginning of its last
// statement, and one that has worked for long would be asleep at its end.
func (h *Handler) Asleep(ctx context.Context, connectionID uint32) bool {
	if h.config.DB == nil {
		return false
	}
	slept, asleep := h.slept(ctx, connectionID)
	if !asleep || slept < asleepFor {
		return false
	}

	select {
	case <-ctx.Done():
		return false
	case <-time.After(asleepFor):
	}
	still, asleep := h.slept(ctx, connectionID)
	return asleep && still >= slept+asleepFor-time.Second // the server counts whole seconds
}

// slept asks how long a session has slept, if it does.
func (h *Handler) slept(ctx context.Context, connectionID uint32) (d time.Duration, asleep bool) {
	var seconds int
	err := h.config.DB.QueryRowContext(ctx,
		"SELECT time FROM information_schema.processlist WHERE id = ? AND command = 'Sleep'",
		connectionID).Scan(&seconds)
	return time.Duration(seconds) * time.Second, err == nil
}

// each carries out the statements of a packet one by one. After one that may change the session,
// its situation is read again, and so is the rest of the packet if that now reads differently.
func (h *Handler) each(
	ctx context.Context, x *proxy.Exchange, store catalogStore, s *situation, parts []*ddl.Statement,
) error {
	alone := len(parts) == 1
	for n := 0; n < len(parts); n++ {
		part := parts[n]
		x.More(n < len(parts)-1)
		if n > 0 {
			x.TakeNotes() // those left by the part before
		}

		q := &request{h: h, store: store, x: x, session: s, st: part, alone: alone}
		if err := q.take(ctx); err != nil || !x.Open() {
			return err
		}
		if !changesSession(part) || concernOf(part.Rest(), x) == noConcern {
			continue
		}

		now, err := readSituation(x)
		if err != nil {
			return err
		}
		if now.mode != s.mode {
			parts, n = ddl.Parse(part.Rest(), now.mode), -1
		}

		s = now
	}

	return nil
}

// changesSession reports whether the statement may change the current schema, the SQL mode or the
// character set.
func changesSession(st *ddl.Statement) bool {
	switch st.Verb() {
	case "USE", "SET", "CALL", "EXECUTE":
		return true
	}
	return false
}
