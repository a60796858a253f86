package catalog

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one numbered step of the schema, applied once and never edited.
type migration struct {
	number     int
	name       string
	statements []string
	checksum   string
	by         string // version that applied it
}

// ErrNewerCatalog says that a newer ttlproxy has changed the schema.
var ErrNewerCatalog = errors.New("catalog is newer than this ttlproxy")

// ErrDamagedCatalog says that the schema is not what its migrations made.
var ErrDamagedCatalog = errors.New("catalog is damaged")

// migrations reads the embedded steps in order.
func migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}

	slices.Sort(names)
	var all []migration
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}

		base := strings.TrimSuffix(strings.TrimPrefix(name, "migrations/"), ".sql")
		number, err := strconv.Atoi(base[:min(4, len(base))])
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("migration %s: want number %04d", name, i+1)
		}

		sum := sha256.Sum256(text)
		all = append(all, migration{
			number: number, name: base, statements: splitStatements(string(text)), checksum: hex.EncodeToString(sum[:]),
		})
	}

	return all, nil
}

// splitStatements cuts a migration at semicolons that end a line, and drops lines that are
// comments.
func splitStatements(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			lines = append(lines, line)
		}
	}

	var out []string
	for part := range strings.SplitSeq(strings.Join(lines, ""), ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}

	return out
}

// migrate brings the schema to the last of steps. Any number of proxies may call it at once: a
// named lock lets one work while the others wait, and every statement may be repeated after a
// crash.
func (s *Store) migrate(ctx context.Context, steps []migration) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()

	if done, err := s.migrated(ctx, conn, steps); done || err != nil {
		return err
	}

	unlock, err := namedLock(ctx, conn, "ttlproxy.migrate."+keyHash(s.cfg.Schema)[:16])
	if err != nil {
		return err
	}
	defer func() {
		unlock()
		discard(conn) // its current schema is ours now
	}()

	if err := s.createSchema(ctx, conn); err != nil {
		return err
	}

	applied, err := s.applied(ctx, conn)
	if err != nil {
		return err
	}

	for _, m := range steps[min(len(applied), len(steps)):] {
		if err := s.apply(ctx, conn, m); err != nil {
			return fmt.Errorf("apply migration %s: %w", m.name, err)
		}
	}

	return nil
}

// migrated reports whether nothing is left to do, without taking a lock or needing a right to
// create.
func (s *Store) migrated(ctx context.Context, conn *sql.Conn, steps []migration) (bool, error) {
	applied, err := s.applied(ctx, conn)
	if err != nil {
		if isServerError(err, ddl.CodeNoDatabase, ddl.CodeNoTable) {
			return false, nil
		}
		return false, err
	}

	for i, a := range applied {
		if i >= len(steps) {
			return false,
				fmt.Errorf("%w: schema %s has step %d of version %q, this version knows %d: start a version as new "+
					"as that one",
					ErrNewerCatalog, s.cfg.Schema, a.number, a.by, len(steps))
		}
		if a.number != steps[i].number || a.checksum != steps[i].checksum {
			return false, fmt.Errorf("%w: migration %s in schema %s is not the one this version knows",
				ErrDamagedCatalog, a.name, s.cfg.Schema)
		}
	}

	return len(applied) == len(steps), nil
}

func (s *Store) createSchema(ctx context.Context, conn *sql.Conn) error {
	for _, q := range []string{createSchema + s.schema, s.sql(createMigration)} {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("create schema %s: %w", s.cfg.Schema, err)
		}
	}
	return nil
}

func (s *Store) applied(ctx context.Context, conn *sql.Conn) ([]migration, error) {
	rows, err := conn.QueryContext(ctx, s.sql(selectMigrations))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (m migration, err error) {
		return m, r.Scan(&m.number, &m.name, &m.checksum, &m.by)
	})
}

func (s *Store) apply(ctx context.Context, conn *sql.Conn, m migration) error {
	if _, err := conn.ExecContext(ctx, "USE "+s.schema); err != nil {
		return err
	}

	for _, q := range m.statements {
		_, err := conn.ExecContext(ctx, q)
		if isServerError(err, ddl.CodeDuplicateColumn, ddl.CodeDuplicateIndex, ddl.CodeNoIndex,
			ddl.CodeDuplicateCheck) {
			continue // a crash came between the statement and its record
		}
		if err != nil {
			return err
		}
	}

	_, err := conn.ExecContext(ctx, s.sql(insertMigration), m.number, m.name, m.checksum, s.cfg.Version)
	return err
}

// namedLock takes a server-wide lock on conn and returns what gives it back.
func namedLock(ctx context.Context, conn *sql.Conn, name string) (unlock func(), err error) {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 60)", name).Scan(&got); err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if got.Int64 != 1 {
		return nil, fmt.Errorf("lock %s: another ttlproxy has held it for a minute", name)
	}
	return func() {
		// The lock must not outlive a cancelled ctx on a pooled connection.
		var ignored sql.NullInt64
		_ = conn.QueryRowContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK(?)", name).Scan(&ignored)
	}, nil
}

// discard closes a pooled connection for good instead of giving it back.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// isServerError reports whether err is one of the MySQL error numbers.
func isServerError(err error, numbers ...uint16) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, e.Number)
}
