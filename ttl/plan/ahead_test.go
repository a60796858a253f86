package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// TestAheadGoesOnAsBefore: coming partitions are as far apart as the last ones, and are named like them.
func TestAheadGoesOnAsBefore(t *testing.T) {
	t.Parallel()
	date := tables.Column{Name: "at", Kind: tables.Date}
	clock := tables.Column{Name: "at", Kind: tables.Datetime}
	instant := tables.Column{Name: "at", Kind: tables.Timestamp}
	for _, c := range []struct {
		name, method, expression string
		by                       tables.Column
		parts, until, want       string
	}{
		{
			"days by where they begin", "RANGE COLUMNS", "`at`", date,
			"p_older '2026-01-30' p20260130 '2026-01-31' p20260131 '2026-02-01' later MAXVALUE", "2026-02-02",
			"p20260201 '2026-02-02' p20260202 '2026-02-03' later MAXVALUE",
		},
		{
			"days by where they end", "RANGE", "to_days(`at`)", clock,
			"a 740011 p_2026_01_31_x 740012 p_2026_02_01_x 740013", "2026-02-02",
			"p_2026_02_02_x 740014 p_2026_02_03_x 740015",
		},
		{
			"weeks", "RANGE COLUMNS", "`at`", clock,
			"old '2026-12-07' p2026w50 '2026-12-14' p2026w51 '2026-12-21'", "2027-01-05",
			"p2026w52 '2026-12-28' p2026w53 '2027-01-04' p2027w01 '2027-01-11'",
		},
		{
			"months by their days", "RANGE COLUMNS", "`at`", clock,
			"p0 '2025-12-01 00:00:00' m2025_12 '2026-01-01 00:00:00' m2026_01 '2026-02-01 00:00:00'", "2026-03-31",
			"m2026_02 '2026-03-01 00:00:00' m2026_03 '2026-04-01 00:00:00'",
		},
		{
			"years", "RANGE", "year(`at`)", date, "p2024 2025 p2025 2026 pmax MAXVALUE", "2027-06-01",
			"p2026 2027 p2027 2028 pmax MAXVALUE",
		},
		{
			"years by their end", "RANGE", "year(`at`)", date, "p0 2024 y2025 2025 y2026 2026", "2026-06-01",
			"y2027 2027",
		},
		{"numbers", "RANGE", "year(`at`)", date, "p098 2024 p099 2025 p100 2026", "2027-06-01", "p101 2027 p102 2028"},
		{
			"no pattern", "RANGE", "year(`at`)", date, "alpha 2024 beta 2025 p2026 2026", "2027-06-01",
			"p2026_2 2027 p2027 2028",
		},
		{
			"hours", "RANGE", "unix_timestamp(`at`)", instant,
			"p0 1767218400 p2025123122 1767222000 p2025123123 1767225600", "2026-01-01 01:30:00",
			"p2026010100 1767229200 p2026010101 1767232800",
		},
		{
			"seconds", "RANGE", "to_seconds(`at`)", clock, "p1 63934444800 p2 63934531200", "2026-01-02 12:00:00",
			"p3 63934617600",
		},
		{"enough", "RANGE", "year(`at`)", date, "p2024 2025 p2025 2026", "2025-12-31", ""},
	} {
		f := &tables.Facts{
			Layout: tables.Layout{Schema: "s", Table: "t", Columns: tables.Columns{c.by}}, Type: "BASE TABLE",
			Engine: "InnoDB", Partitions: parted(c.method, c.expression, c.parts),
		}
		until := timeOf(t, c.until)
		a, why := AheadOf(f, "at", until)
		if why != "" {
			t.Errorf("%s: %s", c.name, why)
			continue
		}

		var want []string
		words := strings.Fields(strings.ReplaceAll(c.want, " 00:00:00", "+00:00:00"))
		for i := 0; i+1 < len(words); i += 2 {
			below := "(" + strings.ReplaceAll(words[i+1], "+", " ") + ")"
			if below == "(MAXVALUE)" && c.method == "RANGE" {
				below = "MAXVALUE"
			}
			want = append(want, fmt.Sprintf("PARTITION `%s` VALUES LESS THAN %s", words[i], below))
		}
		got := a.Statement
		if i := strings.Index(got, "(PARTITION"); i >= 0 {
			got = got[i+1 : len(got)-1]
		}
		if got != strings.Join(want, ", ") {
			t.Errorf("%s: got %s\nwant %s", c.name, got, strings.Join(want, ", "))
		}
	}
}

func parted(method, expression, text string) (all []tables.Partition) {
	words := strings.Fields(strings.ReplaceAll(text, " 00:00:00", "+00:00:00"))
	for i := 0; i+1 < len(words); i += 2 {
		all = append(all, tables.Partition{
			Name: words[i], Below: strings.ReplaceAll(words[i+1], "+", " "), Method: method, Expression: expression,
		})
	}
	return all
}

func timeOf(t *testing.T, text string) time.Time {
	t.Helper()
	for _, layout := range []string{time.DateOnly, time.DateTime} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	t.Fatalf("%s is no time", text)
	return time.Time{}
}

// TestAheadIsBounded: after a long pause some partitions are made, more are to follow, and of too many
// none.
func TestAheadIsBounded(t *testing.T) {
	t.Parallel()
	f := &tables.Facts{
		Layout: tables.Layout{Schema: "s", Table: "t", Columns: tables.Columns{{Name: "at", Kind: tables.Date}}},
		Type:   "BASE TABLE", Engine: "InnoDB",
		Partitions: parted("RANGE COLUMNS", "`at`", "p20260101 '2026-01-02' p20260102 '2026-01-03'"),
	}
	a, why := AheadOf(f, "at", timeOf(t, "2026-06-01"))
	if why != "" || len(a.Names) != 50 || a.Left != 100 {
		t.Errorf("got %d partitions and %d left, %s", len(a.Names), a.Left, why)
	}
	if a, why = AheadOf(f, "at", timeOf(t, "2030-06-01")); why == "" || a.Statement != "" {
		t.Errorf("got %s, %s, want too many", a.Statement, why)
	}
	f.Partitions = parted("RANGE COLUMNS", "`at`", "a '2026-01-02' b '2026-01-03' c '2026-01-05'")
	a, why = AheadOf(f, "at", timeOf(t, "2030-06-01"))
	if !strings.Contains(why, "not as far apart") || a.Statement != "" {
		t.Errorf("got %s, %s, want no pattern", a.Statement, why)
	}
}
