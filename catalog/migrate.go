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
	by         string // version that applied it, or began to
}

// underWay stands for the checksum of a step that has begun, and is not known to have ended. Every version reads such a
// row: to those that do not know the step, the catalog is newer.
const underWay = "under way"

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

// migrate brings the schema to the last of steps. Any number of proxies may call it at once, also of different
// versions: a named lock lets one work while the others wait and then look again, and every statement may be repeated
// after a crash.
func (s *Store) migrate(ctx context.Context, steps []migration) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()

	if left, err := s.left(ctx, conn, steps); len(left) == 0 || err != nil {
		return err
	}

	unlock, err := namedLock(ctx, conn, s.migrationLock())
	if err != nil {
		return err
	}
	defer func() {
		unlock()
		discard(conn) // its current schema is ours now
	}()

	left, err := s.left(ctx, conn, steps)
	if err != nil {
		return err
	}
	if err := s.createSchema(ctx, conn); err != nil {
		return err
	}

	for _, m := range left {
		if err := s.apply(ctx, conn, m); err != nil {
			return fmt.Errorf("apply migration %s: %w", m.name, err)
		}
	}

	return nil
}

// migrationLock is the name of the lock under which the schema is changed.
func (s *Store) migrationLock() string { return "ttlproxy.migrate." + keyHash(s.cfg.Schema)[:16] }

// left returns the steps that are still to be applied, the one that is under way among them, without taking a lock or
// needing a right to create.
func (s *Store) left(ctx context.Context, conn *sql.Conn, steps []migration) ([]migration, error) {
	noted, err := s.noted(ctx, conn)
	if isServerError(err, ddl.CodeNoDatabase, ddl.CodeNoTable) {
		return steps, nil
	}
	if err != nil {
		return nil, err
	}

	for i, n := range noted {
		switch {
		case i >= len(steps):
			return nil, s.newer(n, len(steps))
		case n.number == steps[i].number && n.checksum == underWay && i == len(noted)-1:
			return steps[i:], nil
		case n.number != steps[i].number || n.checksum != steps[i].checksum:
			return nil, fmt.Errorf("%w: migration %s in schema %s is not the one this version knows",
				ErrDamagedCatalog, n.name, s.cfg.Schema)
		}
	}

	return steps[len(noted):], nil
}

// newer says that somebody has applied a step that this version does not know, or has begun to.
func (s *Store) newer(m migration, known int) error {
	what := fmt.Sprintf("schema %s has step %d of version %q", s.cfg.Schema, m.number, m.by)
	if m.checksum == underWay {
		what = fmt.Sprintf("an upgrade of schema %s to step %d, by version %q, is under way or was broken off",
			s.cfg.Schema, m.number, m.by)
	}
	return fmt.Errorf("%w: %s, this version knows %d: start a version as new as that one", ErrNewerCatalog, what, known)
}

func (s *Store) createSchema(ctx context.Context, conn *sql.Conn) error {
	for _, q := range []string{createSchema + s.schema, s.sql(createMigration)} {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("create schema %s: %w", s.cfg.Schema, err)
		}
	}
	return nil
}

// noted returns the steps that have been applied, and the one that is under way.
func (s *Store) noted(ctx context.Context, conn *sql.Conn) ([]migration, error) {
	rows, err := conn.QueryContext(ctx, s.sql(selectMigrations))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (m migration, err error) {
		return m, r.Scan(&m.number, &m.name, &m.checksum, &m.by)
	})
}

// apply carries out a step. That it has begun is noted first: an older version must neither start on half of a step nor
// take its tables for somebody else's. Whoever finds the note carries the step out from its first statement. If that is
// refused, nothing has happened, and the note goes: an older version may start again.
func (s *Store) apply(ctx context.Context, conn *sql.Conn, m migration) error {
	if _, err := conn.ExecContext(ctx, "USE "+s.schema); err != nil {
		return err
	}
	begun, err := s.exec(ctx, conn, beginMigration, m.number, m.name, underWay, s.cfg.Version)
	if err != nil {
		return err
	}

	for i, q := range m.statements {
		_, err := conn.ExecContext(ctx, q)
		if isServerError(err, ddl.CodeDuplicateColumn, ddl.CodeDuplicateIndex, ddl.CodeNoIndex,
			ddl.CodeDuplicateCheck) {
			continue // a crash came between the statement and its record
		}
		if _, refused := errors.AsType[*mysql.MySQLError](err); refused && i == 0 && begun > 0 {
			_, kept := s.exec(ctx, conn, withdrawMigration, m.number, underWay)
			return errors.Join(err, kept)
		}
		if err != nil {
			return err
		}
	}

	_, err = s.exec(ctx, conn, endMigration, m.checksum, s.cfg.Version, m.number)
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
