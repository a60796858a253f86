package tables

import (
	"strings"
	"testing"
	"time"
)

// TestCompareIdentities: ids decide, and what was not known and is now is a stranger. The time
// alone never makes a table the same.
func TestCompareIdentities(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	later := noon.Add(time.Second)
	plain := func(id uint64, at time.Time) Incarnation { return Incarnation{{TableID: id, CreateTime: at}} }
	parts := func(at time.Time, ids ...uint64) Incarnation {
		all := plain(0, at)
		for n, id := range ids {
			all = append(all, Identity{Partition: string(rune('a' + n)), TableID: id, CreateTime: at})
		}
		return all
	}

	for name, c := range map[string]struct {
		known, now Incarnation
		want       Resemblance
		why        string // of a stranger, or of the partition that is held
	}{
		"the same":                     {plain(7, noon), plain(7, noon), Same, ""},
		"altered":                      {plain(7, noon), plain(7, later), Changed, ""},
		"replaced":                     {plain(7, noon), plain(8, later), Unsure, "was 7, is 8"},
		"replaced, of the same time":   {plain(7, noon), plain(8, noon), Unsure, "was 7, is 8"},
		"known for the first time":     {plain(0, noon), plain(7, later), Stranger, "could not be read before"},
		"known, of the same time":      {plain(0, noon), plain(7, noon), Stranger, "could not be read before"},
		"never known":                  {plain(0, noon), plain(0, noon), Same, ""},
		"never known, another time":    {plain(0, noon), plain(0, later), Stranger, "GRANT PROCESS"},
		"not known any more":           {plain(7, noon), plain(0, noon), Same, ""},
		"not known any more, of later": {plain(7, noon), plain(0, later), Stranger, "GRANT PROCESS"},
		"partitions are gone": {
			parts(noon, 7, 8), plain(9, noon), Unsure,
			"it had partitions, and has none",
		},
		"partitions are gone, unknown": {
			parts(noon, 7, 8), plain(0, noon), Stranger,
			"it had partitions, and has none",
		},
		"partitions are new": {
			plain(7, noon), parts(noon, 7, 8), Unsure,
			"it has partitions, and had none",
		},
		"the same partitions":             {parts(noon, 7, 8), parts(noon, 7, 8), Same, ""},
		"a partition is new":              {parts(noon, 7), parts(later, 7, 8), Changed, ""},
		"a partition is gone":             {parts(noon, 7, 8), parts(later, 7), Changed, ""},
		"a partition was exchanged":       {parts(noon, 7, 8), parts(noon, 7, 9), Changed, "was 8, is 9"},
		"a partition is known now":        {parts(noon, 7, 0), parts(noon, 7, 9), Changed, "was 0, is 9"},
		"a partition is not known now":    {parts(noon, 7, 8), parts(noon, 7, 0), Same, ""},
		"all partitions are others":       {parts(noon, 7, 8), parts(noon, 9, 10), Unsure, "none of its partitions"},
		"partitions are known now":        {parts(noon, 0, 0), parts(noon, 7, 8), Stranger, "could not be read before"},
		"partitions are not known now":    {parts(noon, 7, 8), parts(noon, 0, 0), Same, ""},
		"partitions are of another time":  {parts(noon, 7, 8), parts(later, 0, 0), Stranger, "GRANT PROCESS"},
		"an id in place of another's":     {parts(noon, 7, 8), parts(noon, 8, 9), Unsure, "none of its partitions"},
		"nothing is known on this server": {nil, plain(7, noon), Changed, ""},
	} {
		got := Compare(Shape{}, "", c.known, Seen{Exists: true, Incarnation: c.now})
		why := got.Why
		for _, i := range got.Now {
			why += i.Held.Text
		}

		if got.How != c.want || c.why == "" && why != "" || !strings.Contains(why, c.why) {
			t.Errorf("%s: got %v, %q, want %v, %q", name, got.How, why, c.want, c.why)
		}
		if got.How == Same && c.known.HasID() && !got.Now.HasID() {
			t.Errorf("%s: an id that cannot be read now is forgotten", name)
		}
	}
}

// TestGonePartitionConcerns: what was planned for a partition that is gone ends, even if the table was altered in the
// same second before; a partition that is held, or new, concerns nobody else.
func TestGonePartitionConcerns(t *testing.T) {
	t.Parallel()
	parts := func(names ...string) Incarnation {
		all := Incarnation{{}}
		for n, name := range names {
			all = append(all, Identity{Partition: name, TableID: uint64(n + 7)})
		}
		return all
	}
	exchanged := parts("a", "b")
	exchanged[2].TableID++
	for name, c := range map[string]struct {
		now  Incarnation
		want bool
	}{
		"the same":      {parts("a", "b"), false},
		"one is gone":   {parts("a"), true},
		"one is new":    {parts("a", "b", "c"), false},
		"one exchanged": {exchanged, false},
	} {
		known := parts("a", "b")
		if got := Compare(Shape{}, "", known, Seen{Exists: true, Incarnation: c.now}); got.Concerns(known) != c.want {
			t.Errorf("%s: got %v, want %v", name, !c.want, c.want)
		}
	}
}
