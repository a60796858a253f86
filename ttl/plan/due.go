package plan

import "github.com/ttlproxy/ttlproxy/catalog/tables"

// DuePartitions lists the partitions of a table that may hold rows from before a cutoff. Those whose bounds lie wholly
// after it are left out without a look at them. Partitions by range rise, so that the others are
// the first ones; where a bound cannot be read for certain, it rules nothing out. The lowest one
// has rows without a date, too, and is always among them.
func DuePartitions(f *tables.Facts, column string, cutoff Cutoff) []tables.Partition {
	c, found := f.Column(column)
	if !found || c.Kind != cutoff.Kind {
		return f.Partitions
	}
	for i := 1; i < len(f.Partitions); i++ {
		if lowest, known := f.Partitions[i-1].End(c); known && !lowest.Before(cutoff.upper()) {
			return f.Partitions[:i]
		}
	}
	return f.Partitions
}
