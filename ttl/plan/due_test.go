package plan

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// divided are ways to divide rows from quarter to quarter of the years 2024 and 2025, and how many
// partitions may hold something due before 1 January 2025; 0 for all.
var divided = []struct {
	name, column, by, bound string // formatted with a date
	due                     int
}{
	{"to_days", "DATETIME", "RANGE (TO_DAYS(made))", "TO_DAYS('%s')", 5},
	{"to_days_of_a_date", "DATE NOT NULL", "RANGE (to_days(Made))", "TO_DAYS('%s')", 5},
	{
		"unix_timestamp", "TIMESTAMP NOT NULL DEFAULT '2024-01-01'", "RANGE (UNIX_TIMESTAMP(made))",
		"UNIX_TIMESTAMP('%s 00:00:00')", 5,
	},
	{"columns", "DATETIME(6) NOT NULL", "RANGE COLUMNS (made)", "'%s 00:00:00.000001'", 5},
	{"columns_of_a_date", "DATE", "RANGE COLUMNS (made)", "'%s'", 5},
	{"columns_of_days", "DATETIME", "RANGE COLUMNS (made)", "'%s'", 5},
	{"two_columns", "DATETIME NOT NULL", "RANGE COLUMNS (made, id)", "'%s', 50", 5},
	{"second_column", "DATETIME NOT NULL", "RANGE COLUMNS (note, made)", "'a', '%s'", 0},
	{"to_seconds", "DATETIME", "RANGE (TO_SECONDS(made))", "TO_SECONDS('%s')", 5},
	{"other_function", "DATETIME", "RANGE (FLOOR(TO_DAYS(made)))", "TO_DAYS('%s')", 0},
	{"calculated", "DATETIME", "RANGE (TO_DAYS(made) + 1000)", "TO_DAYS('%s')", 0},
	{"other_column", "DATETIME", "RANGE (TO_DAYS(other))", "TO_DAYS('%s')", 0},
	{
		"subpartitions", "DATETIME", "RANGE (TO_DAYS(made)) SUBPARTITION BY HASH (id) SUBPARTITIONS 2", "TO_DAYS('%s')",
		5,
	},
}

// TestPartitionsThatMayHoldWhatIsDue: those whose bounds lie wholly after the cutoff are left out,
// and nothing that is due is in them, dates at the bounds and missing ones included.
func TestPartitionsThatMayHoldWhatIsDue(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "divided", 1000)
		for _, d := range divided {
			var parts []string
			for i := range 8 {
				day := time.Date(2024, time.Month(1+3*i), 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
				parts = append(parts, fmt.Sprintf("PARTITION p%d VALUES LESS THAN ("+d.bound+")", i, day))
			}

			last := strings.Repeat(", MAXVALUE", strings.Count(d.bound, ","))
			parts = append(parts, "PARTITION p8 VALUES LESS THAN (MAXVALUE"+last+")")
			makeDivided(t, db, d.name, d.column, d.by, parts)
			checkDivided(t, db, d.name, d.due)
		}

		makeDivided(t, db, "years", "DATE", "RANGE (YEAR(made))", []string{
			"PARTITION p0 VALUES LESS THAN (2024)", "PARTITION p1 VALUES LESS THAN (2025)",
			"PARTITION p2 VALUES LESS THAN (2026)",
		})
		checkDivided(t, db, "years", 2)
		makeDivided(t, db, "hashes", "DATE", "HASH (id) PARTITIONS 3", nil)
		checkDivided(t, db, "hashes", 0)
		makeDivided(t, db, "lists", "DATE", "LIST (YEAR(made))", []string{
			"PARTITION p0 VALUES IN (2025)", "PARTITION p1 VALUES IN (2026, NULL)",
			"PARTITION p2 VALUES IN (2023, 2024)",
		})
		checkDivided(t, db, "lists", 0)
	})
}

// makeDivided makes a table with rows from 2023 to the end of 2025, some of them at the bounds and
// some without a date.
func makeDivided(t *testing.T, db *sql.DB, name, column, by string, parts []string) {
	t.Helper()
	divide := ""
	if parts != nil {
		divide = " (" + strings.Join(parts, ", ") + ")"
	}

	mustExec(t, db, "DROP TABLE IF EXISTS divided."+name,
		fmt.Sprintf("CREATE TABLE divided.%s (id INT, made %s, other DATETIME, note CHAR(1)) PARTITION BY %s%s",
			name, column, by, divide),
		fmt.Sprintf("INSERT INTO divided.%s SELECT n, '2023-01-01' + INTERVAL n DAY, '2025-12-31' - INTERVAL n DAY, 'a'"+
			" FROM divided.numbers WHERE n < 1000", name))

	if !strings.Contains(column, "NOT NULL") {
		mustExec(t, db, fmt.Sprintf("INSERT INTO divided.%s (id, made) VALUES (1, NULL)", name))
	}
}

// checkDivided looks at the partitions that are left out before a cutoff.
func checkDivided(t *testing.T, db *sql.DB, table string, want int) {
	t.Helper()
	f, err := tables.ReadFacts(t.Context(), db, "divided", table)
	if err != nil {
		t.Fatal(err)
	}
	if want == 0 {
		want = len(f.Partitions)
	}

	c, _ := f.Column("made")
	cutoff, err := NewCutoff(time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC), time.UTC,
		ddl.Span{Micros: 24 * 60 * 60 * 1e6}, c.Kind, c.Digits)
	if err != nil {
		t.Fatal(err)
	}

	due := DuePartitions(f, "MADE", cutoff)
	if len(due) != want || !slices.Equal(due, f.Partitions[:len(due)]) {
		t.Errorf("%s: %d partitions of %d, want %d", table, len(due), len(f.Partitions), want)
	}
	if len(due) == len(f.Partitions) {
		return
	}

	var others []string
	for _, p := range f.Partitions[len(due):] {
		others = append(others, p.Name)
	}

	left := fmt.Sprintf("SELECT COUNT(*) FROM divided.%s PARTITION (%s) WHERE made < %s OR made IS NULL",
		table, strings.Join(others, ", "), cutoff.Literal())
	if n := count(t, db, left); n != 0 {
		t.Errorf("%s: %d rows that are due, or without a date, in partitions that are left out", table, n)
	}
}
