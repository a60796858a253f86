package statement

import "testing"

// TestClearedThroughTheProxy: what takes rows out of a table ends a person's word about them; other statements do
// not.
func TestClearedThroughTheProxy(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT, created DATETIME) TTL = created + INTERVAL 10 HOUR PARTITION BY RANGE (id) " +
			"(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN " +
			"(30))")
		for _, c := range []struct {
			statement         string
			approved, consent bool
		}{
			{"ALTER TABLE t COMMENT = 'x'", true, true},
			{"ALTER TABLE t REBUILD PARTITION p0", true, true},
			{"ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN (40))", true, true},
			{"ALTER TABLE t DROP PARTITION p3", true, false},
			{"ALTER TABLE t TRUNCATE PARTITION p0", true, false},
			{"ALTER TABLE t TRUNCATE PARTITION p0, p1, p2", false, false},
			{"TRUNCATE TABLE t", false, false},
		} {
			t.approve("t")
			t.exec(c.statement)
			p := t.found("t")
			_, consent := p.Approval.Consented(nil)
			if p.Approved() != c.approved || p.Approved() && consent != c.consent || !p.Armed() {
				t.Errorf("%s: approved %t, by a person %t; want %t, %t", c.statement, p.Approved(), consent, c.approved,
					c.consent)
			}
		}
	})
}
