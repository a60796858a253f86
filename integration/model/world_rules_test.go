package model

import (
	"slices"
	"testing"
)

// stand is a world with tables t and u, one old row in t, and an account without rights.
func stand() *world {
	w := newWorld([]grants{{"db1.*": everything}, {}})
	w.seen(map[name]table{
		{"db1", "t"}: {column: "created", markers: map[int]int{0: -1}},
		{"db1", "u"}: {column: "created", markers: map[int]int{0: -2}},
	}, []row{
		{id: -1, table: name{"db1", "t"}},
		{id: -2, table: name{"db1", "u"}},
		{id: 1, days: 40, table: name{"db1", "t"}},
	})
	return w
}

// TestRules says what the model makes of what it is told: whether the old row of t may go.
func TestRules(t *testing.T) {
	t.Parallel()
	here, other, ghost := name{"db1", "t"}, name{"db1", "u"}, name{"db1", "_t_gho"}
	rule := action{verb: declare, table: here, column: "created", days: 30}
	for what, c := range map[string]struct {
		deeds []deed
		free  bool
	}{
		"no policy":         {nil, false},
		"a policy":          {[]deed{{action: rule}}, true},
		"refused":           {[]deed{{action: rule, outcome: refused}}, false},
		"nobody knows":      {[]deed{{action: rule, outcome: unknown}}, true},
		"no right":          {[]deed{{action: rule, client: client{account: 1}, outcome: unknown}}, false},
		"a temporary table": {[]deed{{action: rule, hidden: func(n name) bool { return n == here }}}, false},
		"too young": {
			[]deed{{action: action{verb: declare, table: here, column: "created", days: 90}}},
			false,
		},
		"another column": {[]deed{{action: action{verb: declare, table: here, column: "made", days: 30}}}, false},
		"from a dump":    {[]deed{{action: rule, held: true}}, false},
		"on another table": {
			[]deed{{action: action{verb: declare, table: other, column: "created", days: 30}}},
			false,
		},
		"copied to a ghost": {[]deed{
			{action: rule, held: true},
			{action: action{verb: like, table: ghost, other: here}},
		}, false},
		"dropped by its owner": {[]deed{{action: action{verb: drop, table: here}}}, true},
		"the drop of a policy's table was refused": {[]deed{
			{action: rule},
			{action: action{verb: drop, table: here}, outcome: refused},
		}, true},
		"the drop was refused": {[]deed{{
			action:  action{verb: drop, table: here},
			outcome: refused,
		}}, false},
		"exchanged with the row": {[]deed{{action: action{
			verb: declare, table: other,
			column: "created", days: 30,
		}}, {action: action{verb: exchange, table: other, other: here}}}, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := stand()
			for _, d := range c.deeds {
				w.apply(d)
				w.expose()
			}

			if free := w.rows[1].free != ""; free != c.free || len(w.wrong) > 0 {
				t.Errorf("the row may go: %v, want %v; wrong: %v", free, c.free, w.wrong)
			}
		})
	}
}

// TestSwap says what the model makes of RENAME TABLE t TO _t_del, _t_gho TO t, for a copy that was
// made of t.
func TestSwap(t *testing.T) {
	t.Parallel()
	here, ghost, old, backup := name{"db1", "t"}, name{"db1", "_t_gho"}, name{"db1", "_t_del"}, name{"db1", "t_backup"}
	for what, c := range map[string]struct {
		meanwhile []action
		armed     bool // the name t, afterwards
	}{
		"nothing happened": {nil, true},
		"removed":          {[]action{{verb: remove, table: here}}, false},
		"switched off":     {[]action{{verb: disable, table: here}}, false},
		"paused":           {[]action{{verb: pause, table: here}}, false},
		"removed and made": {[]action{
			{verb: remove, table: here},
			{verb: declare, table: here, column: "created", days: 90},
		}, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := stand()
			steps := append([]action{
				{verb: declare, table: here, column: "created", days: 30},
				{verb: like, table: ghost, other: here},
			}, c.meanwhile...)

			steps = append(steps, action{verb: rename, pairs: []pair{{here, old}, {ghost, here}}},
				action{verb: rename, pairs: []pair{{old, backup}}})
			for _, a := range steps {
				w.apply(deed{action: a})
			}

			if got := w.armed(here); got != c.armed {
				t.Errorf("t is armed: %v, want %v: %+v", got, c.armed, w.policies[here])
			}
			if w.armed(ghost) || w.armed(old) || w.armed(backup) {
				t.Errorf("a copy or what it replaced is armed: %+v", w.policies)
			}
		})
	}
}

// TestSwapInTwo says the same of a cut-over in two statements.
func TestSwapInTwo(t *testing.T) {
	t.Parallel()
	here, ghost, old, backup := name{"db1", "t"}, name{"db1", "_t_gho"}, name{"db1", "_t_del"}, name{"db1", "t_backup"}
	w := stand()

	steps := []action{
		{verb: declare, table: here, column: "created", days: 30},
		{verb: like, table: ghost, other: here},
		{verb: rename, pairs: []pair{{here, old}}},
	}
	for _, a := range steps {
		w.apply(deed{action: a})
	}

	if len(w.policies[old]) == 0 || w.armed(old) || w.armed(here) {
		t.Errorf("the policy does not sleep with its table: %+v", w.policies)
	}

	w.apply(deed{action: action{verb: rename, pairs: []pair{{ghost, here}}}})
	w.apply(deed{action: action{verb: rename, pairs: []pair{{old, backup}}}})
	if !w.armed(here) || w.armed(backup) || w.armed(ghost) {
		t.Errorf("not the name alone is armed: %+v", w.policies)
	}
}

// armed reports whether a name may have a policy that deletes.
func (w *world) armed(n name) bool { return slices.ContainsFunc(w.policies[n], policy.awake) }

// TestMissingRowConvicts is the verdict itself.
func TestMissingRowConvicts(t *testing.T) {
	t.Parallel()
	w := stand()
	w.seen(w.tables, []row{{id: -1, table: name{"db1", "t"}}, {id: -2, table: name{"db1", "u"}}})
	if len(w.wrong) != 1 {
		t.Errorf("got %q, want one conviction", w.wrong)
	}
}

// TestRightGainedConvicts is the other.
func TestRightGainedConvicts(t *testing.T) {
	t.Parallel()
	w := stand()
	w.apply(deed{action: action{verb: remove, table: name{"db1", "t"}}, client: client{account: 1, noSchema: true}})
	if len(w.wrong) != 1 {
		t.Errorf("got %q, want one conviction", w.wrong)
	}
}
