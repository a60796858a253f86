package model

// shape makes steps that belong together.
type shape func(*dice) []step

// shapes are what scripts are made of.
func shapes() map[string]shape {
	return map[string]shape{
		"life": life, "online": online, "leftover": leftover, "elsewhere": elsewhere, "flagged": flagged,
		"replaced":  replaced,
		"exchanged": exchanged, "shadowed": shadowed, "renamed": renamedAround, "dump": dump, "reborn": reborn,
		"sneaked": sneaked, "killed": killed, "raced": raced,
	}
}

// plainest is a script in which rows have to go.
func plainest() script {
	n := name{"db1", "t"}
	steps := []step{{
		kind: say, in: n.schema,
		actions: []action{{verb: declare, table: n, column: "created", days: 30}},
	}, fillStep(n)}
	return script{accounts: []grants{{"db1.*": everything, "db2.*": everything}}, steps: steps, watch: true}
}

// life is a policy declared, changed and stopped, and its table altered in between.
func life(d *dice) []step {
	n := d.table()
	steps := []step{d.owner(d.policy(n))}
	for range 1 + d.IntN(5) {
		switch d.IntN(4) {
		case 0, 1:
			steps = append(steps, d.say(d.ours(n)))
		case 2:
			steps = append(steps, d.say(d.harmless(n)))
		case 3:
			steps = append(steps, fillStep(n))
		}
	}

	if d.one(3) {
		a := d.policy(n)
		a.extra = pick(d, []string{"ADD COLUMN y INT", "COMMENT 'y'", "ENGINE = InnoDB"})
		steps = append(steps, d.say(a))
	}

	return steps
}

// online is an online schema change: a copy LIKE the table, filled, swapped; and what is changed
// meanwhile.
func online(d *dice) []step {
	c := d.change()
	steps := []step{d.owner(d.policy(c.table)), d.owner(action{verb: like, table: c.copied, other: c.table})}
	if d.one(3) {
		steps = append(steps, d.owner(action{verb: change, table: c.copied, column: "made"}))
	}
	if d.one(3) {
		steps = append(steps, d.owner(d.harmless(c.copied)))
	}
	if !d.one(3) {
		steps = append(steps, d.owner(d.stop(c.table)))
	}

	steps = append(steps, fillStep(c.table), copyStep(c.table, c.copied))
	return append(steps, d.swapsIn(c)...)
}

// leftover is an online schema change, and what becomes of the old table and of the copy's name.
func leftover(d *dice) []step {
	c := d.change()
	steps := []step{
		d.owner(d.policy(c.table)), d.owner(action{verb: like, table: c.copied, other: c.table}),
		copyStep(c.table, c.copied),
	}
	return append(append(steps, d.swapsIn(c)...), d.aftermath(c)...)
}

// onlineChange are the names of an online schema change.
type onlineChange struct{ table, old, copied name }

func (d *dice) change() onlineChange {
	n := name{d.schema(), pick(d, []string{"t", "u"})}
	return onlineChange{
		table:  n,
		old:    name{n.schema, "_" + n.table + "_" + pick(d, []string{"del", "old"})},
		copied: name{n.schema, "_" + n.table + "_" + pick(d, []string{"gho", "new"})},
	}
}

// swapsIn ends an online schema change.
func (d *dice) swapsIn(c onlineChange) []step {
	both := action{verb: rename, pairs: []pair{{c.table, c.old}, {c.copied, c.table}}}
	switch d.IntN(8) {
	case 0:
		return []step{beside(both)}
	case 1:
		return []step{
			d.owner(action{verb: rename, pairs: both.pairs[:1]}),
			d.owner(action{verb: rename, pairs: both.pairs[1:]}),
		}
	case 2:
		return []step{beside(action{verb: drop, table: c.copied})} // given up
	default:
		return []step{d.owner(both)}
	}
}

// aftermath is what people do with the names that a change leaves behind.
func (d *dice) aftermath(c onlineChange) []step {
	backup, precious := name{c.table.schema, c.table.table + "_backup"}, name{c.table.schema, "precious"}
	switch d.IntN(4) {
	case 0:
		return []step{d.owner(action{verb: drop, table: c.old})}
	case 1:
		return []step{
			beside(action{verb: create, table: c.copied}), fillStep(c.copied),
			d.owner(action{verb: rename, pairs: []pair{{c.copied, precious}}}),
		}
	default:
		return []step{d.owner(action{verb: rename, pairs: []pair{{c.old, backup}}}), fillStep(backup)}
	}
}

// elsewhere prepares in one schema and executes in another.
func elsewhere(d *dice) []step {
	here, there := "db1", "db2"
	if d.one(2) {
		here, there = there, here
	}

	n := name{here, pick(d, []string{"t", "u"})}
	c := d.client()
	s := step{kind: prepare, client: c, in: here, slot: pick(d, []string{"s1", "s2"}), binary: d.one(2)}
	s.actions = []action{d.ours(name{table: n.table})}
	again := step{kind: execute, client: c, in: there, slot: s.slot, binary: s.binary}
	steps := []step{d.owner(d.policy(n)), s}

	if d.one(2) {
		steps = append(steps, beside(action{verb: drop, table: name{there, n.table}}))
	}

	return append(steps, again, fillStep(n))
}

// flagged is a client with a flag few have, at somebody else's table, while its own schema has one
// of that name.
func flagged(d *dice) []step {
	n := name{d.schema(), pick(d, []string{"t", "u"})}
	c := client{account: 1 + d.IntN(2), noSchema: true}
	own := name{n.elsewhere(), n.table}
	a := d.ours(n)
	if d.one(4) {
		a = action{verb: rename, pairs: []pair{{n, name{n.schema, "orders"}}}}
	}
	steps := []step{{
		kind: say, client: c, in: own.schema, actions: []action{a},
		manner: pick(d, []manner{plain, plain, binary, packet}),
	}}
	if d.one(2) {
		steps = append([]step{d.owner(d.policy(n))}, steps...)
	}
	return append(steps, fillStep(n), fillStep(own))
}

// replaced is a table that another takes the place of, around the proxy.
func replaced(d *dice) []step {
	n := name{"db1", pick(d, []string{"t", "u", "p", "p"})}
	before, next := name{"db1", n.table + "_before"}, name{"db1", n.table + "_next"}
	extra := ""
	if d.one(3) {
		extra = partitioned
	}

	steps := []step{d.owner(d.policy(n)), d.waits(n)}
	if !d.one(3) {
		steps = append(steps, step{kind: tick})
	}

	switch d.IntN(3) {
	case 0:
		steps = append(steps, beside(action{verb: rename, pairs: []pair{{n, before}}}),
			beside(action{verb: create, table: n, extra: extra}))
	case 1:
		steps = append(steps, beside(action{verb: create, table: next, extra: extra}), fillStep(next),
			beside(action{verb: rename, pairs: []pair{{n, before}, {next, n}}}))
	case 2:
		steps = append(steps, beside(action{verb: drop, table: n}),
			beside(action{verb: create, table: n, extra: extra}))
	}

	steps = append(steps, fillStep(n), d.waits(n))
	if d.one(2) {
		steps = append(steps, d.say(d.harmless(n)))
	}
	if d.one(4) {
		steps = append(steps, beside(action{verb: rename, pairs: []pair{{n, next}, {before, n}}}))
	}

	return steps
}

// raced is a table that is swapped around the proxy while an ALTER of the proxy has it.
func raced(d *dice) []step {
	n := name{"db1", pick(d, []string{"t", "u"})}
	next, old := name{"db1", n.table + "_next"}, name{"db1", n.table + "_past"}
	steps := []step{
		d.owner(d.policy(n)), beside(action{verb: create, table: next}), fillStep(next),
	}
	if d.one(2) {
		steps = append(steps, d.waits(n), step{kind: tick})
	}

	s := step{
		kind: race, client: client{}, in: "db1", kill: d.one(2),
		actions: []action{{verb: touch, table: n, format: pick(d, []string{
			"ALTER TABLE %s ADD COLUMN z INT, ALGORITHM = COPY",
			fails,
			"ALTER TABLE %s ENGINE = InnoDB",
			"OPTIMIZE TABLE %s",
			"CREATE INDEX by_tag ON %s (tag)",
		})}},
	}

	s.abort = s.kill && d.one(2) || d.one(6)
	if !d.one(4) {
		s.swap = &action{verb: rename, pairs: []pair{{n, old}, {next, n}}}
	}

	return append(steps, s, fillStep(n))
}

// exchanged is a partition that trades places with a table.
func exchanged(d *dice) []step {
	p, s := name{"db1", "p"}, name{"db1", pick(d, []string{"t", "u"})}
	steps := []step{d.owner(d.policy(pick(d, []name{p, s})))}
	if d.one(2) {
		steps = append(steps, d.waits(s), step{kind: tick})
	}
	a := action{verb: exchange, table: p, other: s}
	if d.one(2) {
		steps = append(steps, beside(a))
	} else {
		steps = append(steps, d.owner(a))
	}
	return append(steps, fillStep(p), fillStep(s))
}

// shadowed is a temporary table that hides another.
func shadowed(d *dice) []step {
	n := d.table()
	c := client{account: d.IntN(3)}
	steps := []step{}
	if d.one(2) {
		steps = append(steps, d.owner(d.policy(n)))
	}

	steps = append(steps, step{kind: say, client: c, in: n.schema, actions: []action{{verb: shadow, table: n}}})
	for range 1 + d.IntN(3) {
		a := pick(d, []action{
			d.ours(n), d.ours(n), d.harmless(n),
			{verb: like, table: name{n.schema, "twin"}, other: n},
			{verb: truncate, table: n},
		})
		steps = append(steps, step{kind: say, client: c, in: n.schema, actions: []action{a}, manner: d.manner()})
	}

	if d.one(2) {
		steps = append(steps, step{kind: say, client: c, in: n.schema, actions: []action{{verb: unveil, table: n}}},
			d.say(d.ours(n)))
	}

	return append(steps, fillStep(n))
}

// renamedAround is tables that change their names: one, several, in a circle, to another schema.
func renamedAround(d *dice) []step {
	t, u, x := name{"db1", "t"}, name{"db1", "u"}, name{d.schema(), "spare"}
	steps := []step{d.owner(d.policy(t))}
	if d.one(2) {
		steps = append(steps, d.owner(d.policy(u)))
	}
	if d.one(2) {
		steps = append(steps, d.owner(d.stop(pick(d, []name{t, u}))))
	}

	for range 1 + d.IntN(3) {
		a := pick(d, []action{
			{verb: rename, pairs: []pair{{t, x}, {u, t}, {x, u}}},
			{verb: rename, pairs: []pair{{t, x}}},
			{verb: rename, pairs: []pair{{x, t}}},
			{verb: rename, pairs: []pair{{t, x}, {u, t}}},
			{verb: rename, pairs: []pair{{t, name{"db1", "_t_old"}}}},
			{verb: rename, pairs: []pair{{name{"db1", "_t_old"}, t}}},
			{verb: rebrand, table: t, other: x},
			{verb: rebrand, table: x, other: t},
		})

		if d.one(4) {
			steps = append(steps, beside(a))
			continue
		}

		steps = append(steps, d.say(a))
	}

	return append(steps, fillStep(t), fillStep(u), fillStep(x))
}

// dump is a table that comes back from a dump, and copies of it.
func dump(d *dice) []step {
	n := name{d.schema(), pick(d, []string{"t", "u"})}
	c := action{verb: born, table: n, column: "created", days: 10}
	steps := []step{
		d.owner(action{verb: drop, table: n}),
		{kind: say, in: n.schema, actions: []action{c}, manner: dumped},
		fillStep(n),
	}

	if d.one(2) {
		to := name{n.schema, pick(d, []string{"twin", "_" + n.table + "_gho"})}
		steps = append(steps, d.say(action{verb: like, table: to, other: n}), fillStep(to))
		if to.isGhost() {
			steps = append(steps, d.swapsIn(onlineChange{n, name{n.schema, "_" + n.table + "_del"}, to})...)
		}
	}

	for range d.IntN(3) {
		steps = append(steps, d.say(pick(d,
			[]action{{verb: approve, table: n}, {verb: run, table: n}, d.harmless(n), d.ours(n)})))
	}

	return append(steps, fillStep(n))
}

// reborn is tables that are dropped, truncated and recreated.
func reborn(d *dice) []step {
	n := d.table()
	if n.table == "p" {
		n.table = "t"
	}

	steps := []step{d.owner(d.policy(n))}
	for range 1 + d.IntN(4) {
		a := pick(d, []action{
			{verb: drop, table: n},
			{verb: truncate, table: n},
			{verb: create, table: n},
			{verb: born, table: n, column: "created", days: pick(d, []int{10, 90})},
			{verb: replace, table: n},
			{verb: replace, table: n, column: "created", days: 30},
			{verb: like, table: n, other: name{"db1", "u"}},
			{verb: like, table: n, other: name{"db1", "u"}, extra: "IF NOT EXISTS "},
		})
		if d.one(4) && a.verb != born && a.days == 0 {
			steps = append(steps, beside(a), fillStep(n))
			continue
		}

		steps = append(steps, d.say(a), fillStep(n))
	}

	return steps
}

// sneaked is a prepared statement whose name gets another text in a way that is easily missed.
func sneaked(d *dice) []step {
	n := d.table()
	c := client{account: d.IntN(3)}
	in := n.schema
	first := step{kind: prepare, client: c, in: in, slot: "s", actions: []action{d.ours(n)}}
	second := step{kind: prepare, client: c, in: in, slot: "s", manner: skipped, actions: []action{pick(d, []action{
		{verb: nothing}, d.ours(n), {verb: shadow, table: n},
	})}}
	return []step{
		d.owner(d.policy(n)), first, second,
		{kind: execute, client: c, in: d.schema(), slot: "s"},
		fillStep(n),
	}
}

// killed is a proxy that dies between statements, and what goes on without it.
func killed(d *dice) []step {
	n := d.table()
	steps := []step{d.owner(d.policy(n)), d.say(d.ours(n)), {kind: kill}, d.say(d.ours(n)), d.say(d.harmless(n))}
	if d.one(2) {
		steps = append(steps, step{kind: kill}, d.say(d.stop(n)))
	}
	return append(steps, fillStep(n))
}
