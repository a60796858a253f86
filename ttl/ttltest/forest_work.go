package ttltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Work is one application: until ctx ends, or n times if that is not zero, it adds rows, makes others
// young or old, and deletes some to which nothing points.
func (f *Forest) Work(ctx context.Context, app uint64, n int) {
	random := rand.New(rand.NewPCG(f.Seed, 1000+app))
	for i := 0; ctx.Err() == nil && (n == 0 || i < n); i++ {
		err := f.change(ctx, random)
		if err == nil || f.Deaths || ctx.Err() != nil {
			continue
		}
		my, refused := errors.AsType[*mysql.MySQLError](err)
		if !refused || !slices.Contains([]uint16{1452, 1205, 1213}, my.Number) {
			f.t.Error(err)
		}
	}
}

func (f *Forest) change(ctx context.Context, random *rand.Rand) error {
	t := f.tables[random.IntN(len(f.tables))]
	switch dice := random.IntN(10); {
	case dice == 0 && len(f.pointing(t)) == 0 && t.number > 0:
		return f.both(ctx, fmt.Sprintf("DELETE FROM %s.%%c%d WHERE id = %d", f.Schema, t.number, t.any(random)))
	case dice == 1 && !f.Parts:
		return f.date(ctx, random, "'2037-01-01'")
	case dice == 2:
		return f.date(ctx, random, "'2020-01-01'")
	}

	row := f.row(random, t, true)
	err := f.both(ctx, strings.Replace(f.insert('%', t), ".%", ".%c", 1)+"("+strings.Join(row, ", ")+")")
	if err == nil {
		t.gave(number(row[0]))
	}
	return err
}

// date gives some row of the root a date.
func (f *Forest) date(ctx context.Context, random *rand.Rand, at string) error {
	return f.both(ctx, fmt.Sprintf("UPDATE %s.%%c0 SET at = %s WHERE id = %d AND NOT at <=> %s", f.Schema, at,
		f.tables[0].any(random), at))
}

// both changes a row of a table and of its ledger in one transaction, if it is still there.
func (f *Forest) both(ctx context.Context, statement string) error {
	tx, err := f.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()

	result, err := tx.ExecContext(ctx, fmt.Sprintf(statement, 'w'))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(statement, 'l')); err != nil {
		return err
	}
	return tx.Commit()
}
