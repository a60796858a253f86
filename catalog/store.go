package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// DefaultSchema is where the catalog lives unless told otherwise.
const DefaultSchema = "ttlproxy"

// Config of a Store. The zero value works.
type Config struct {
	Schema  string // DefaultSchema when empty
	Version string // of this program, recorded beside each migration
	// BeatInterval is how often nodes beat; BeatInterval the constant when zero.
	BeatInterval time.Duration
	// Metrics of the catalog's statements; kept private when nil.
	Metrics *Metrics
}

// Store is the catalog on one backend. Its methods may be called from any number of goroutines.
type Store struct {
	db     pool
	cfg    Config
	schema string            // quoted
	tables *strings.Replacer // {name} to schema.name
	server atomic.Pointer[Server]
	// reached is what the Witness remembers; nil without one.
	reached atomic.Pointer[reached]
	// checks counts how often the Witness has found everything in order.
	checks atomic.Uint64
	news   news
	// What reports have read.
	policiesRead memory[*Policy]
	pastRead     memory[*Past]
}

// Open brings the schema up to date and returns the catalog. The db must come from Connector: its
// sessions are READ COMMITTED and in UTC.
func Open(ctx context.Context, db *sql.DB, cfg Config) (*Store, error) {
	s, err := newStore(ctx, db, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	if err := s.found(ctx); err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	return s, nil
}

// prepare brings the schema up to date. What is wrong with an existing catalog is reported first;
// whatever else is in its schema may be a part of it, under another name or of a later version.
func (s *Store) prepare(ctx context.Context) error {
	steps, done, err := s.upToDate(ctx)
	if err != nil {
		return err
	}

	if done {
		if err := s.complete(ctx); err != nil {
			return err
		}
	}

	if err := s.refuseShared(ctx, steps); err != nil || done {
		return err
	}
	if err := s.migrate(ctx, steps); err != nil {
		return err
	}

	return s.complete(ctx)
}

// upToDate returns the steps of the schema and whether every one has been applied, and changes
// nothing.
func (s *Store) upToDate(ctx context.Context) (steps []migration, done bool, err error) {
	if steps, err = migrations(migrationFiles); err != nil {
		return nil, false, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()

	left, err := s.left(ctx, conn, steps)
	return steps, len(left) == 0, err
}

func newStore(ctx context.Context, db *sql.DB, cfg Config) (*Store, error) {
	if cfg.Schema == "" {
		cfg.Schema = DefaultSchema
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	if cfg.BeatInterval <= 0 {
		cfg.BeatInterval = BeatInterval
	}

	server, err := ReadServer(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}

	schema := ddl.Quote(cfg.Schema)
	s := &Store{
		db: pool{db, cfg.Metrics}, cfg: cfg, schema: schema,
		tables: strings.NewReplacer("{}", "{}", "{server-key}", server.keySQL(), "{", schema+".", "}", ""),
	}
	s.server.Store(&server)
	return s, nil
}

// Server returns the facts about the backend: read when the catalog was opened, and again by each
// check of the lineage.
func (s *Store) Server() Server { return *s.server.Load() }

// Schema returns the name of the schema the catalog lives in.
func (s *Store) Schema() string { return s.cfg.Schema }

// sql puts the schema into a statement: every table of ours is written as {name}.
func (s *Store) sql(text string) string { return s.tables.Replace(text) }

// isNoRows reports whether a single-row query found nothing.
func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// collect reads all rows through scan and closes them.
func collect[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// answers runs a query whose rows do not matter, and reports whether there are any.
func answers(ctx context.Context, on execer, query string) (bool, error) {
	rows, err := on.QueryContext(ctx, query)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	return rows.Next(), rows.Err()
}
