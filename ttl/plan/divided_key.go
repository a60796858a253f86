package plan

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// dividedKey adds the TTL column to the primary key, where it has to be; note says what that means.
// why is set if another key, the column, or the servers' limits do not allow it.
func dividedKey(
	ctx context.Context, q tables.Querier, f *tables.Facts, c tables.Column,
) (change, note, why string, err error) {
	divides := func(name string) bool { return name == c.Name }
	longer := false
	for _, ix := range f.Indexes {
		switch {
		case !ix.Unique || slices.ContainsFunc(ix.Columns, divides):
		case ix.Name != "PRIMARY":
			return "", "", fmt.Sprintf("every unique key of a table with partitions contains the column that divides "+
				"it: %s does not contain %s", ddl.Quote(ix.Name), c.Quoted()), nil
		case c.Nullable:
			return "", "", fmt.Sprintf("%s would have to be in the primary key, and may be NULL", c.Quoted()), nil
		default:
			longer = true
		}
	}
	if !longer {
		return "", "", "", nil
	}

	k, err := readPrimary(ctx, q, f)
	if err != nil {
		return "", "", "", err
	}
	if why = k.unextended(f, c); why != "" {
		return "", "", why, nil
	}
	text, err := shownTable(ctx, q, f)
	if err != nil {
		return "", "", "", err
	}
	if saysPeriod.MatchString(unquoted.ReplaceAllString(text, "''")) {
		return "", "", "its primary key keeps periods WITHOUT OVERLAPS, which a longer one would not", nil
	}

	now := strings.Join(k.parts, ", ")
	change = " DROP PRIMARY KEY, ADD PRIMARY KEY (" + now + ", " + c.Quoted() + ")"
	note = fmt.Sprintf("the primary key becomes (%s, %s): nothing but the application then keeps (%s) unique", now,
		c.Quoted(), now)
	return change, note, "", nil
}

// primary is a primary key as it has to be written.
type primary struct {
	parts   []string
	bytes   int64 // of an entry, at most
	most    int64 // that an entry may have
	mariadb bool
}

func readPrimary(ctx context.Context, q tables.Querier, f *tables.Facts) (k primary, err error) {
	if err := q.QueryRowContext(ctx, selectKeyLimits).Scan(&k.mariadb, &k.most); err != nil {
		return k, fmt.Errorf("read how long a key may be: %w", err)
	}
	err = tables.EachRow(ctx, q, selectPrimaryKey, []any{f.Schema, f.Table}, func(rows *sql.Rows) error {
		var column, kind, order string
		var prefix, letters, octets sql.Null[int64]
		if err := rows.Scan(&column, &prefix, &order, &kind, &letters, &octets); err != nil {
			return err
		}

		part := ddl.Quote(column)
		if prefix.Valid {
			part += fmt.Sprintf("(%d)", prefix.V)
		}
		if order == "D" {
			part += " DESC"
		}
		k.parts = append(k.parts, part)

		switch size, fixed := keySizes()[kind]; {
		case fixed:
			k.bytes += size
		case prefix.Valid && letters.V > 0:
			k.bytes += prefix.V * max(octets.V/letters.V, 1)
		case prefix.Valid:
			k.bytes += prefix.V
		case octets.Valid:
			k.bytes += octets.V
		default:
			k.bytes += largestFixed
		}
		return nil
	})
	if err != nil {
		return k, fmt.Errorf("read the primary key of %s.%s: %w", f.Schema, f.Table, err)
	}
	return k, nil
}

// keySizes are how many bytes the types have in a key whose length says something else.
func keySizes() map[string]int64 { return map[string]int64{"enum": 2, "set": 8} }

// largestFixed is the size of the largest type without a length, a DECIMAL with all its digits.
const largestFixed = 30

// unextended says why a primary key cannot get a date as well; empty if it can.
func (k primary) unextended(f *tables.Facts, c tables.Column) string {
	const date = 8
	parts, key := 16, f.PrimaryKey()
	if k.mariadb {
		parts = 32
	}
	switch first, _ := f.Column(key[0]); {
	case len(key) == 1 && first.Name == generatedKey && first.Invisible && !k.mariadb:
		return "the server has generated its primary key (sql_generate_invisible_primary_key), and changes none of " +
			"those; make one of your own"
	case len(k.parts) >= parts:
		return fmt.Sprintf("%s would have to be in the primary key, which has as many columns as there may be (%d)",
			c.Quoted(), parts)
	case k.bytes+date > k.most:
		return fmt.Sprintf("%s would have to be in the primary key, which would be longer than %d bytes", c.Quoted(),
			k.most)
	}
	return ""
}

// generatedKey is the column that MySQL makes a primary key of.
const generatedKey = "my_row_id"

// saysPeriod finds a primary key of periods in what SHOW CREATE TABLE says.
var saysPeriod = regexp.MustCompile(`PRIMARY KEY \([^\n]*WITHOUT OVERLAPS`)
