package catalog

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// pageTables returns the columns that docs/reference/catalog.md lists, by table.
func pageTables(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/reference/catalog.md")
	if err != nil {
		t.Fatal(err)
	}

	heading, row := regexp.MustCompile(`^## ([a-z_]+)$`), regexp.MustCompile("^\\| `([a-z_]+)` \\| ([^|,]+)[^|]*\\|")
	tables, table := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			table = m[1]
		} else if m := row.FindStringSubmatch(line); m != nil && table != "" {
			tables[table] = append(tables[table], m[1]+" "+strings.TrimSpace(m[2]))
		}
	}

	return tables
}

func TestCatalogPageDescribesTheSchema(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		rows, err := b.db.QueryContext(t.Context(), `SELECT c.table_name, CONCAT(c.column_name, ' ', c.column_type)
 FROM information_schema.columns c JOIN information_schema.tables t ON t.table_schema = c.table_schema
 AND t.table_name = c.table_name
 WHERE c.table_schema = ? AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position`, b.Schema())
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()

		schema := map[string][]string{}
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				t.Fatal(err)
			}
			schema[table] = append(schema[table], b.plainType(column))
		}

		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}

		page := pageTables(t)
		for table, columns := range schema {
			if !slices.Equal(page[table], columns) {
				t.Errorf("%s: the page says\n%s\nthe schema is\n%s",
					table, strings.Join(page[table], "\n"), strings.Join(columns, "\n"))
			}
			delete(page, table)
		}

		if len(page) > 0 {
			t.Errorf("the page describes tables that are not there: %v", page)
		}
	})
}

// plainType writes MariaDB's types as MySQL does.
func (b *bench) plainType(column string) string {
	if !b.Server().MariaDB {
		return column
	}
	name, kind, _ := strings.Cut(column, " ")
	kind = regexp.MustCompile(`(int)\(\d+\)`).ReplaceAllString(kind, "$1")
	if kind == "longtext" {
		kind = "json" // the only way we use it
	}
	if kind == "tinyint" {
		kind = "tinyint(1)"
	}
	return name + " " + kind
}

func TestViewsCanBeRead(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		b.job(t, p, 2)
		b.node(t)
		if err := b.Pause(t.Context(), "dba", PauseAll, "a migration", p.CreatedAt.AddDate(1, 0, 0)); err != nil {
			t.Fatal(err)
		}

		for view, want := range map[string]int{
			"policies": 1, "jobs": 1, "tasks": 2, "history": 0, "errors": 0, "nodes": 1,
			"events": 2,
		} {
			if got := b.scalar(t, "SELECT COUNT(*) FROM {"+view+"}"); got != want {
				t.Errorf("%s: got %d rows, want %d", view, got, want)
			}
		}

		if n := b.scalar(t, "SELECT COUNT(*) FROM {policies} WHERE `expires at` = "+tables.Literal(p.Rule.Expiry())); n != 1 {
			t.Errorf("the view policies does not say %s", p.Rule.Expiry())
		}
		if n := b.scalar(t,
			"SELECT COUNT(*) FROM {policies} WHERE state = 'paused' AND reason LIKE 'everything, by dba until "+
				"%+00:00 a migration'"); n != 1 {
			t.Error("the view policies does not say what pauses the policy")
		}
	})
}

// TestViewTellsOfTheLastJob: of a table whose partitions have jobs of their own, too.
func TestViewTellsOfTheLastJob(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		end := func(partition string, state JobState) {
			t.Helper()
			job := b.begin(t, NewJob{Policy: p, Partition: partition, Tasks: make([]TaskRange, 1)})
			if err := b.FinishJob(t.Context(), job.ID, job.Fence, state, ""); err != nil {
				t.Fatal(err)
			}
			if n := b.scalar(t, "SELECT COUNT(*) FROM {policies} WHERE `last result` = ? AND `last started (UTC)` ="+
				" (SELECT last_started_at FROM {schedule} WHERE partition_name = ?)", state, partition); n != 1 {
				t.Errorf("after a job of %q that was %s the view policies tells of another, or of none", partition, state)
			}
		}

		if n := b.scalar(t, "SELECT COUNT(*) FROM {policies} WHERE `last result` IS NULL"); n != 1 {
			t.Error("the view policies tells of a job before there was one")
		}
		end("", JobFinished)
		end("p1", JobFailed)
		end("p0", JobCancelled)
	})
}
