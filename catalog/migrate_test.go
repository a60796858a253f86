package catalog

import (
	"testing"
	"testing/fstest"
)

func TestSplitStatements(t *testing.T) {
	t.Parallel()
	got := splitStatements("-- why\nCREATE TABLE a (\n  b INT -- c\n);\n\nINSERT INTO a VALUES (';');\n")
	if len(got) != 2 || got[1] != "INSERT INTO a VALUES (';')" {
		t.Errorf("got %q, want the two statements", got)
	}
}

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	if _, err := migrations(migrationFiles); err != nil {
		t.Errorf("embedded migrations: %v", err)
	}
	gap := fstest.MapFS{
		"migrations/0001_a.sql": {Data: []byte("DO 1;\n")},
		"migrations/0003_b.sql": {Data: []byte("DO 1;\n")},
	}
	if _, err := migrations(gap); err == nil {
		t.Error("got no error for a missing number")
	}
}
