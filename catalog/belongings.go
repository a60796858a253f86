package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// ErrSharedSchema says that the schema contains what ttlproxy did not create.
var ErrSharedSchema = errors.New("the catalog needs a schema of its own")

// object is a table, view, routine, event or library of the catalog's schema.
type object struct{ kind, name string }

func (o object) String() string { return strings.ToLower(o.kind) + " " + ddl.Quote(o.name) }

// creates finds what a statement of a migration creates.
var creates = regexp.MustCompile(`^CREATE (?:OR REPLACE )?(?:SQL SECURITY INVOKER )?` +
	`(TABLE|VIEW|PROCEDURE|FUNCTION) (?:IF NOT EXISTS )?\{?(\w+)`)

// belongings lists what the migrations created, the latest first, so that what refers to others is
// dropped before them.
func belongings(steps []migration) []object {
	all := []object{ours(createMigration)}
	for _, m := range steps {
		for _, q := range m.statements {
			if o := ours(q); o.name != "" && !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}

	slices.Reverse(all)
	return all
}

func ours(statement string) object {
	m := creates.FindStringSubmatch(statement)
	if m == nil {
		return object{}
	}
	return object{kind: m[1], name: m[2]}
}

// contents lists what is in the schema now, as far as the account may see it.
func (s *Store) contents(ctx context.Context) ([]object, error) {
	schema := s.Stored(Table{Schema: s.cfg.Schema}).Schema
	rows, err := s.db.QueryContext(ctx, selectContents, schema, schema, schema)
	if err != nil {
		return nil, fmt.Errorf("list schema %s: %w", s.cfg.Schema, err)
	}
	scan := func(r *sql.Rows) (o object, err error) { return o, r.Scan(&o.kind, &o.name) }
	found, err := collect(rows, scan)
	if err != nil {
		return nil, err
	}

	rows, err = s.db.QueryContext(ctx, selectLibraries, schema)
	if isServerError(err, ddl.CodeUnknownTable) {
		return found, nil // the server has none
	}
	if err != nil {
		return nil, fmt.Errorf("list libraries of schema %s: %w", s.cfg.Schema, err)
	}
	libraries, err := collect(rows, scan)
	return append(found, libraries...), err
}

// strangers are what is in the schema and is not ours. The table that `ttlproxy check` creates and
// drops is ours. Names prove nothing until the table is there with which every catalog begins:
// others have events and nodes, too.
func strangers(found []object, steps []migration) (others []object) {
	known := belongings(steps)
	if !slices.Contains(found, ours(createMigration)) {
		known = nil
	}
	for _, o := range found {
		if !slices.Contains(known, o) && !isProbe(o) {
			others = append(others, o)
		}
	}
	return others
}

// ProbePrefix begins the names of what a checkup creates in the catalog's schema and drops again. What follows is
// random: somebody else's table may begin like that as well.
const ProbePrefix = "check_probe_"

var probe = regexp.MustCompile(`^` + ProbePrefix + `[a-z2-7]{26}(_view)?$`)

// isProbe reports whether a checkup has made an object, and left it.
func isProbe(o object) bool {
	return (o.kind == "TABLE" || o.kind == "VIEW") && probe.MatchString(o.name)
}

// RefuseShared returns ErrSharedSchema if somebody else keeps something in the catalog's schema, or
// in the one where it would be.
func RefuseShared(ctx context.Context, db *sql.DB, cfg Config) error {
	s, err := newStore(ctx, db, cfg)
	if err != nil {
		return err
	}
	steps, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	return s.refuseShared(ctx, steps)
}

// refuseShared keeps the catalog out of a schema in which somebody keeps something else: one day
// one of the two would be taken for the other. What a newer version has put there is nobody else's.
func (s *Store) refuseShared(ctx context.Context, steps []migration) error {
	found, err := s.contents(ctx)
	others := strangers(found, steps)
	if err != nil || len(others) == 0 {
		return err
	}
	if _, _, err := s.upToDate(ctx); errors.Is(err, ErrNewerCatalog) {
		return err // since we looked
	}

	const shown = 3
	names := make([]string, 0, shown+1)
	for _, o := range others[:min(shown, len(others))] {
		names = append(names, o.String())
	}

	if len(others) > shown {
		names = append(names, fmt.Sprintf("%d more", len(others)-shown))
	}

	err = fmt.Errorf("%w: %s also holds %s, which ttlproxy did not create; move that elsewhere, or name another "+
		"schema with --catalog-schema",
		ErrSharedSchema, s.cfg.Schema, strings.Join(names, ", "))
	if len(others) == len(found) {
		err = fmt.Errorf("%w in it, and none is made: %w", ErrNoCatalog, err)
	}

	return err
}
