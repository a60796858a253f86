package tables

import (
	"strings"
	"testing"
)

// TestOutgrown: columns may be added and widened. Whatever the policy depends on stays as it is,
// and nobody loses a column, a place or a value; a new column that may be the TTL column under
// another name is a reason to ask.
func TestOutgrown(t *testing.T) {
	t.Parallel()
	const id, at, note, n = "`id` int(11) NOT NULL", "`at` datetime", "`note` varchar(50) COLLATE utf8mb4_bin",
		"`n` int(10) unsigned"
	shape := func(lines ...string) Shape { return Shape{Columns: strings.Join(lines, "\n"), PrimaryKey: "`id`"} }
	declared := shape(id, at, note, n)

	for name, c := range map[string]struct {
		now  Shape
		want Resemblance
	}{
		"the same":                      {declared, Same},
		"one more":                      {shape(id, at, note, n, "`x` int(11)"), Grown},
		"one more in between":           {shape(id, "`x` date", at, note, n), Grown},
		"one more of the TTL's type":    {shape(id, at, note, n, "`x` datetime(6)"), Unsure},
		"the TTL column's place taken":  {shape(id, at, "`was` datetime", note, n), Unsure},
		"longer":                        {shape(id, at, "`note` varchar(60) COLLATE utf8mb4_bin", n), Grown},
		"shorter":                       {shape(id, at, "`note` varchar(40) COLLATE utf8mb4_bin", n), Stranger},
		"other rules":                   {shape(id, at, "`note` varchar(50) COLLATE utf8mb4_general_ci", n), Stranger},
		"larger":                        {shape(id, at, note, "`n` bigint(20) unsigned"), Grown},
		"larger, signed":                {shape(id, at, note, "`n` bigint(20)"), Grown},
		"as large, signed":              {shape(id, at, note, "`n` int(10)"), Stranger},
		"not null":                      {shape(id, at, note, "`n` int(10) unsigned NOT NULL"), Stranger},
		"another type":                  {shape(id, at, note, "`n` varchar(10)"), Stranger},
		"gone":                          {shape(id, at, note), Stranger},
		"renamed":                       {shape(id, at, note, "`m` int(10) unsigned"), Stranger},
		"in another order":              {shape(id, note, at, n), Stranger},
		"in another order, and one new": {shape(id, note, at, n, "`x` int(11)"), Stranger},
		"a wider key column":            {shape("`id` bigint(20) NOT NULL", at, note, n), Stranger},
		"another key":                   {Shape{Columns: declared.Columns, PrimaryKey: "`id`,`n`"}, Stranger},
		"a finer TTL column":            {shape(id, "`at` datetime(3)", note, n), Stranger},
		"of another zone":               {shape(id, "`at` timestamp", note, n), Stranger},
		"computed":                      {shape(id, "`at` datetime AS (`n`)", note, n), Stranger},
	} {
		if how, why := declared.outgrown(c.now, "AT"); how != c.want || (how == Same) != (why == "") {
			t.Errorf("%s: got %v, %q, want %v", name, how, why, c.want)
		}
	}

	const computed, half = "`at` datetime AS (`half` + interval 1 day)", "`half` date AS (from_unixtime(`n`))"
	for line, want := range map[string]Resemblance{
		"`was` int(11) unsigned":    Unsure,
		"`was` bigint(20) unsigned": Unsure,
		"`was` bigint(20)":          Unsure,
		"`was` date":                Unsure,
		"`was` datetime":            Unsure,
		"`was` smallint(6)":         Grown,
		"`was` varchar(50)":         Grown,
	} {
		was, is := shape(id, note, n, half, computed), shape(id, note, n, line, half, computed)
		if how, why := was.outgrown(is, "at"); how != want {
			t.Errorf("%s beside a column that is computed: got %v, %q, want %v", line, how, why, want)
		}
	}

	if how, why := shape(id, "`at` datetime AS (`a`)").outgrown(shape(id, "`at` datetime AS (`b`)"),
		"at"); how != Stranger {
		t.Errorf("computed otherwise: got %v, %q", how, why)
	}
}

// TestWider: every value that fitted still fits, and means the same.
func TestWider(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, is string
		want    bool
	}{
		{"tinyint(4)", "smallint(6)", true},
		{"bigint(20)", "int(11)", false},
		{"int unsigned", "int", false},
		{"int", "bigint unsigned", false},
		{"int(11)", "int(10)", true}, // the width is for show
		{"text", "longtext", true},
		{"longtext", "text", false},
		{"text", "blob", false},
		{"float", "double", true},
		{"float(7,2)", "double", false},
		{"char(3)", "char(4)", true},
		{"char(3)", "varchar(4)", false},
		{"binary(3)", "binary(4)", false}, // its values are filled up
		{"varbinary(3)", "varbinary(4)", true},
		{"decimal(5,2)", "decimal(7,4)", true},
		{"decimal(5,2)", "decimal(6,4)", false},
		{"datetime", "datetime(6)", true},
		{"datetime(6)", "datetime(3)", false},
		{"datetime", "timestamp", false},
		{"date", "datetime", false},
		{"enum('a','b')", "enum('a','b','c')", true},
		{"enum('a','b')", "enum('b','a')", false},
		{"enum('a')", "enum('a)')", false},
		{"set('a b')", "set('a b','c, d')", true},
		{"varchar(9) NOT NULL", "varchar(9)", true},
		{"varchar(9) COLLATE utf8mb3_bin", "varchar(9) COLLATE utf8mb4_bin", true},
		{"varchar(9) COLLATE latin1_bin", "varchar(9) COLLATE utf8mb4_bin", false},
		{"json", "json", true},
		{"json", "text", false},
		{"", "", false},
	} {
		if got := wider(parseColumn("`c` "+c.was), parseColumn("`c` "+c.is), false); got != c.want {
			t.Errorf("from %s to %s: got %v, want %v", c.was, c.is, got, c.want)
		}
	}
}
