package catalog

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestFileNamesOfEveryCharacter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		if !b.Server().MariaDB {
			t.Skip("MySQL does not tell")
		}
		rows, err := b.db.QueryContext(t.Context(), `SELECT seq, CAST(CONVERT(CONVERT(UNHEX(LPAD(HEX(seq), 4, '0')) USING ucs2) USING filename) AS BINARY)
 FROM mysql.seq_1_to_65535 WHERE seq NOT BETWEEN 0xD800 AND 0xDFFF`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		n := 0
		for rows.Next() {
			var c rune
			var want string
			if err := rows.Scan(&c, &want); err != nil {
				t.Fatal(err)
			}
			if got := fileName(string(c)); got != want {
				t.Errorf("%U: got %s, want %s", c, got, want)
			}
			n++
		}
		if err := rows.Err(); err != nil || n < 60000 {
			t.Errorf("got %d characters, %v", n, err)
		}
	})
}

// Tables are named with all letters that have a code, and found by those names, each by its own.
func TestTableIDsOfNamesBeyondASCII(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		var letters []string
		for _, a := range alphabets {
			for i := range len(a.codes) / 2 {
				if c := a.first + rune(i); shortCode(c) != "" {
					letters = append(letters, string(c))
				}
			}
		}
		var names []string
		for len(letters) > 0 {
			n := min(len(letters), 60)
			names, letters = append(names, strings.Join(letters[:n], "")), letters[n:]
		}
		names = append(names, "表 日本語", "a-b.c/d#p#e", "tab", "TAB", "été", "Été", "$x`y")
		ids := map[uint64]string{}
		for _, name := range names {
			b.exec(t, "CREATE TABLE user."+ddl.Quote(name)+" (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION `Pé` VALUES LESS THAN (10), PARTITION q VALUES LESS THAN (20))")
			seen, err := b.Look(t.Context(), b.named(name))
			if err != nil || len(seen.Identities) != 3 {
				t.Fatalf("%s: got %+v, %v", name, seen, err)
			}
			for _, i := range seen.Identities[1:] {
				if other, known := ids[i.TableID]; known || i.TableID == 0 {
					t.Errorf("%s, partition %s: got id %d, which is that of %q", name, i.Partition, i.TableID, other)
				}
				ids[i.TableID] = name
				condition, ok := b.TableIDCondition(b.named(name), i)
				if !ok || b.scalar(t, "SELECT "+condition) != 1 {
					t.Errorf("%s, partition %s: the condition does not hold: %s", name, i.Partition, condition)
				}
			}
		}
		if n := len(names); utf8.RuneCountInString(names[0]) != 60 || len(ids) != 2*n {
			t.Errorf("got %d ids of %d tables", len(ids), n)
		}
	})
}
