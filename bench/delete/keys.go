package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// keyed reports whether rows of another table point at those of the table.
func (o options) keyed() bool { return o.children >= 0 || o.referenced >= 0 }

// kin says how, in words.
func (o options) kin() string {
	switch {
	case o.children >= 0:
		return fmt.Sprintf(", each of these with %d of another table that cascade", o.children)
	case o.referenced >= 0:
		return fmt.Sprintf(", %d %% of these referenced by another table", o.referenced)
	default:
		return ""
	}
}

// point makes the rows that point at the table, and counts what has to go.
func (b *bench) point(ctx context.Context) error {
	b.going = b.rows / 2
	if !b.keyed() {
		return nil
	}

	end, rows := "", "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < "+
		fmt.Sprint(b.children)+") SELECT t.id, REPEAT('x', 50) FROM "+schema+".t STRAIGHT_JOIN n WHERE made < NOW()"
	if b.children >= 0 {
		end = " ON DELETE CASCADE"
		b.going *= 1 + b.children
	}
	if b.children == 0 {
		rows += " AND FALSE"
	}
	if b.referenced >= 0 {
		rows = fmt.Sprintf("SELECT id, REPEAT('x', 50) FROM %s.t WHERE made < NOW() AND id DIV 2 %% 100 < %d", schema,
			b.referenced)
	}
	key := ", FOREIGN KEY (t) REFERENCES " + schema + ".t (id)" + end
	if b.unkeyed {
		key, b.going = ", KEY (t)", b.rows/2
	}

	err := b.exec(ctx, "CREATE TABLE "+schema+".child (id BIGINT PRIMARY KEY AUTO_INCREMENT, t BIGINT, pad "+
		"VARCHAR(200)"+key+") ENGINE=InnoDB", "INSERT INTO "+schema+".child (t, pad) "+rows,
		"ANALYZE TABLE "+schema+".child")
	if err == nil && b.referenced >= 0 {
		b.going, err = b.left(ctx)
	}
	return err
}

// where is the condition of the rows that go.
func (b *bench) where() string {
	if b.referenced < 0 || b.unkeyed {
		return "made < NOW()"
	}
	return "made < NOW() AND NOT EXISTS (SELECT 1 FROM " + schema + ".child WHERE child.t = t.id)"
}

// keyOptions say in a policy what becomes of rows that others point at.
func (b *bench) keyOptions() map[string]string {
	switch {
	case !b.keyed() || b.unkeyed:
		return nil
	case b.referenced >= 0:
		return map[string]string{ddl.OptionForeignKeys: ddl.ForeignKeysSkip}
	default:
		return map[string]string{
			ddl.OptionForeignKeys: ddl.ForeignKeysChildren,
			ddl.OptionDependents:  `["` + "`" + schema + "`.`child`" + `"]`,
		}
	}
}

// unkeyed is engine on the table alone, with all of its rows.
func unkeyed(ctx context.Context, b *bench) (rows int, took time.Duration, err error) {
	b.unkeyed = true
	defer func() { b.unkeyed = false }()
	if err := b.fill(ctx); err != nil {
		return 0, 0, err
	}
	return engine(ctx, b)
}
