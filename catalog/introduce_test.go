package catalog

import (
	"fmt"
	"testing"
)

// TestHeldOnEveryServer: a partition that is held on one server is so on another that sees the
// table for the first time, as after a fail-over; where it is not found there, its rows may be in
// any other.
func TestHeldOnEveryServer(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for _, c := range []struct {
			held string
			want map[string]string
		}{
			{"p0", map[string]string{"": "", "p0": "exchanged", "p1": ""}},
			{"gone", map[string]string{"": "", "p0": "exchanged", "p1": "exchanged"}},
		} {
			table := b.named("parts_" + c.held)
			b.exec(t, "CREATE TABLE user."+table.Name+
				" (id BIGINT PRIMARY KEY, at DATE) PARTITION BY HASH (id) PARTITIONS 2")
			p := b.declare(t, table)
			b.exec(t,
				fmt.Sprintf("UPDATE {policy_identity} SET server = 'other', "+
					"held = IF(partition_name = 'p0', 'exchanged', NULL), "+
					"partition_name = IF(partition_name = 'p0', '%s', partition_name) WHERE policy_id = %d",
					c.held, p.ID))

			known, why, err := b.Recognize(t.Context(), "test", p)
			if err != nil || why != "" || len(known) != len(c.want) {
				t.Fatalf("got %+v, %q, %v", known, why, err)
			}

			for _, i := range known {
				if i.Held.Text != c.want[i.Partition] {
					t.Errorf("%s was held over there: partition %q is held by %q here, want %q",
						c.held, i.Partition, i.Held, c.want[i.Partition])
				}
			}
		}
	})
}
