package chaos

import (
	"maps"
	"testing"
	"time"
)

// TestJudgeConvicts: a judge that lets everything pass would make the property test worthless.
func TestJudgeConvicts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	policy := func(change row) row {
		r := row{
			"id": "1", "version": "1", "schema_name": "app", "table_name": "a", "column_name": "at", "armed": "1",
			"interval_literal": "60", "interval_unit": "SECOND",
		}
		maps.Copy(r, change)
		return r
	}
	due := row{"id": "7", "at": "2026-05-04 11:58:59"}
	for name, c := range map[string]struct {
		events func(j *judge)
		wrong  bool
	}{
		"due":           {func(j *judge) { j.delete("a", due, now) }, false},
		"at the cutoff": {func(j *judge) { j.delete("a", row{"at": "2026-05-04 11:59:00"}, now) }, true},
		"fresh":         {func(j *judge) { j.delete("a", row{"at": "2026-05-04 11:59:30"}, now) }, true},
		"never expires": {func(j *judge) { j.delete("a", row{"at": null}, now) }, true},
		"no policy":     {func(j *judge) { j.delete("b", due, now) }, true},
		"removed":       {func(j *judge) { j.policy(policy(nil), nil); j.delete("a", due, now) }, true},
		"longer": {func(j *judge) {
			j.policy(policy(nil), policy(row{"version": "2", "interval_literal": "600"}))
			j.delete("a", due, now)
		}, true},
		"switched off": {func(j *judge) {
			j.policy(policy(nil), policy(row{"version": "2", "armed": "0"}))
			j.delete("a", due, now)
		}, true},
		"paused":     {func(j *judge) { j.pause(row{"policy_id": "1", "paused": "1"}); j.delete("a", due, now) }, true},
		"all paused": {func(j *judge) { j.pause(row{"policy_id": "0", "paused": "1"}); j.delete("a", due, now) }, true},
		"resumed": {func(j *judge) {
			j.pause(row{"policy_id": "1", "paused": "1"})
			j.pause(row{"policy_id": "1", "paused": "0"})
			j.delete("a", due, now)
		}, false},
		"swapped outside": {func(j *judge) { j.ddl("RENAME TABLE a TO x, b TO a, x TO b"); j.delete("a", due, now) }, true},
		"renamed through us": {func(j *judge) {
			j.policy(policy(nil), policy(row{"version": "2", "armed": "0"}))
			j.ddl("RENAME TABLE a TO c")
			j.policy(policy(row{"armed": "0"}), policy(row{"version": "3", "table_name": "c"}))
			j.delete("c", due, now)
		}, false},
		"swapped and armed again": {func(j *judge) {
			j.ddl("RENAME TABLE a TO x, b TO a, x TO b")
			j.policy(policy(nil), policy(row{"version": "2", "armed": "0"}))
			j.policy(policy(row{"armed": "0"}), policy(row{"version": "3"}))
			j.delete("a", due, now)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJudge("app")
			j.ddl("CREATE TABLE a (id INT)")
			j.ddl("CREATE TABLE b (id INT)")
			j.policy(nil, policy(nil))
			c.events(j)
			if got := len(j.wrong) > 0; got != c.wrong {
				t.Errorf("got %q, want a conviction: %v", j.wrong, c.wrong)
			}
		})
	}
}
