package transcript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "Text.\n\n```sql root\n-- a remark before anything\nSELECT\n  1;   -- why\n-- +---+\n-- | 1 |\n\n-- a " +
	"remark\nSELECT 2\\G\n-- …\nDO 0\n```\n" +
	"1. In a list:\n\n   ```console\n   $ mysql\n   mysql> SELECT 3\n       -> FROM t;\n   +---+\n   mysql> DO 0;\n " +
	"  ```\n"

func TestBlocksAndSteps(t *testing.T) {
	blocks := Blocks(page)
	if len(blocks) != 2 || blocks[0].Language != "sql" || blocks[0].Words[0] != "root" ||
		blocks[1].Language != "console" {
		t.Fatalf("blocks are %+v", blocks)
	}

	want := [][]Step{
		{
			{Statement: "SELECT\n  1", Shown: []string{"+---+", "| 1 |"}},
			{Statement: "SELECT 2", Vertical: true, Shown: []string{"…"}},
			{Statement: "DO 0"},
		},
		{{Statement: "SELECT 3\nFROM t", Shown: []string{"+---+"}}, {Statement: "DO 0"}},
	}

	for i, b := range blocks {
		if diff := cmp.Diff(want[i], Steps(b)); diff != "" {
			t.Errorf("block %d: wanted (-) and got (+):\n%s", i, diff)
		}
	}
}

func TestMatches(t *testing.T) {
	printed := "+---+\n| a |\n+---+\n| 2026-01-02 03:04:05 | about 12 rows |\n+---+\n"
	for shown, want := range map[string]bool{
		"+---+\n| a |\n+---+\n| 2020-02-02 02:02:02 | about 12 rows |\n+---+": true,
		"…\n| … | about …\n…":                                                 true,
		"…\n|   …   12 rows |\n+---+":                                         true,
		"…":                                                                   true,
		"…\n| b |\n…":                                                         false,
		"+---+\n| a |":                                                        false,
		"…\n| … about 13 rows …\n…":                                           false,
	} {
		if got := Matches(strings.Split(shown, "\n"), printed); got != want {
			t.Errorf("%q: got %v, want %v", shown, got, want)
		}
	}
}

func TestPrint(t *testing.T) {
	names, rows := []string{"id", "name"}, [][]string{{"1", "é"}, {"22", "NULL"}}
	const boxes = "+----+------+\n| id | name |\n+----+------+\n| 1  | é    |\n| 22 | NULL |\n+----+------+\n"
	if got := Print(names, rows, false); got != boxes {
		t.Errorf("got\n%s", got)
	}
	stars := strings.Repeat("*", 27)
	if got, want := Print(names, rows[:1], true), stars+" 1. row "+stars+"\n  id: 1\nname: é\n"; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if got := Print(names, nil, true); got != "Empty set\n" {
		t.Errorf("got %q", got)
	}
}
