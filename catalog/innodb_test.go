package catalog

import (
	"strings"
	"testing"
	"unicode"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Tables are found by their names, each by its own, whatever letters those are of.
func TestTableIDsOfNamesBeyondASCII(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		var names []string
		for _, alphabet := range []rune{0xC0, 0x100, 0x180, 0x370, 0x400, 0x530, 0x1E00, 0x1F00, 0x2160, 0x24B6, 0x4E00, 0xAC00, 0xFF21} {
			var name strings.Builder
			for c := alphabet; c < alphabet+48; c++ {
				if unicode.IsGraphic(c) {
					name.WriteRune(c)
				}
			}
			names = append(names, name.String())
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
		if len(ids) != 2*len(names) {
			t.Errorf("got %d ids of %d tables", len(ids), len(names))
		}
	})
}
