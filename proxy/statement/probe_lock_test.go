package statement

import (
	"testing"
)

// TestQuestionsHoldNothing: what we ask in the session of a client leaves no transaction and no lock on his table behind,
// also where every statement of his begins a transaction (autocommit = 0, as Python's drivers have it).
func TestQuestionsHoldNothing(t *testing.T) {
	for name, statement := range map[string]string{
		"declared":  "ALTER TABLE t TTL = at + INTERVAL 2 DAY",
		"altered":   "ALTER TABLE t ADD n INT, TTL = at + INTERVAL 2 DAY",
		"interval":  "ALTER TABLE t TTL_JOB_INTERVAL = '2h'",
		"removed":   "ALTER TABLE t REMOVE TTL",
		"paused":    "PAUSE TTL FOR t",
		"resumed":   "RESUME TTL FOR t",
		"approved":  "APPROVE TTL JOB FOR t",
		"shown":     "SHOW TTL TABLES",
		"explained": "EXPLAIN TTL t",
		"created":   "CREATE TABLE u LIKE t",
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *theatre) {
				t.exec(ttlOfADay)
				client := t.conn(t.open(t.server.Config(t.schema)))
				for _, s := range []string{"SET autocommit = 0", statement} {
					if _, err := client.ExecContext(t.Context(), s); err != nil {
						t.Fatalf("%s: %v", s, err)
					}
				}
				other := t.conn(t.direct)
				for _, s := range []string{"SET lock_wait_timeout = 2", "ALTER TABLE t ADD x INT"} {
					if _, err := other.ExecContext(t.Context(), s); err != nil {
						t.Errorf("%s: %v", s, err)
					}
				}
			})
		})
	}
}
