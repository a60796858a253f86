package work

import (
	"math"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// TestMostRows: a file tells of rows that statistics do not know of, and never that there are fewer.
func TestMostRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows        int64
		bytes, file uint64
		want        int
	}{
		{24_754, 1_980_000, 41_900_000, 1_047_669},
		{24_754, 1_980_000, 1_980_000, 49_508},
		{24_754, 1_980_000, 100_000, 49_508},
		{1 << 62, 1, 1 << 62, math.MaxInt / 2},
	} {
		got := mostRows(tables.Partition{Rows: c.rows, Bytes: c.bytes}, c.file)
		if math.Abs(float64(got-c.want)) > 1 {
			t.Errorf("%d rows in %d of %d bytes: got at most %d, want %d", c.rows, c.bytes, c.file, got, c.want)
		}
	}
}
