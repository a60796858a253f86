package model

import (
	"math/rand/v2"
	"slices"
)

// generate makes the script of a seed: a few shapes, shuffled into each other.
func generate(seed uint64, names []string) script {
	d, known := &dice{rand.New(rand.NewPCG(seed, 1))}, shapes()
	s := script{seed: seed, watch: d.one(3)}
	s.accounts = []grants{{"db1.*": everything, "db2.*": everything}, d.grants(), d.grants()}
	var threads [][]step
	for range 1 + d.IntN(3) {
		threads = append(threads, known[pick(d, names)](d))
	}
	s.steps = d.shuffle(threads)
	return s
}

// dice throws everything that is random in a script.
type dice struct{ *rand.Rand }

// one is true once in n times.
func (d *dice) one(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *dice, from []T) T { return from[d.IntN(len(from))] }

// shuffle mixes threads, each of which keeps its order.
func (d *dice) shuffle(threads [][]step) []step {
	var mixed []step
	for {
		threads = slices.DeleteFunc(threads, func(t []step) bool { return len(t) == 0 })
		if len(threads) == 0 {
			return mixed
		}
		i := d.IntN(len(threads))
		n := 1 + d.IntN(len(threads[i])) // some stay together, or nothing of length would ever succeed
		mixed = append(mixed, threads[i][:n]...)
		threads[i] = threads[i][n:]
	}
}

// grants are those of somebody who owns one schema, or rights by chance: on one schema all, on
// another some, on a table others.
func (d *dice) grants() grants {
	g := grants{}
	if d.one(3) {
		return grants{d.schema() + ".*": everything}
	}

	for _, scope := range []string{"db1.*", "db2.*", "db1.t", "db2.t", "db1.u"} {
		switch {
		case d.one(4):
			g[scope] = everything
		case d.one(2):
			g[scope] = d.some(rightsKnown)
		}

		if len(scope) > 0 && scope[len(scope)-1] != '*' {
			g[scope] = slices.DeleteFunc(slices.Clone(g[scope]),
				func(r string) bool { return r == "CREATE TEMPORARY TABLES" })
		}
		if len(g[scope]) == 0 {
			delete(g, scope)
		}
	}

	return g
}

// some is a part of a list, at least one of it.
func (d *dice) some(from []string) []string {
	var some []string
	for _, s := range from {
		if d.one(2) {
			some = append(some, s)
		}
	}
	if len(some) == 0 {
		return []string{pick(d, from)}
	}
	return some
}

// client is the owner most of the time.
func (d *dice) client() client {
	c := client{}
	if d.one(4) {
		c.account = 1 + d.IntN(2)
	}
	if d.one(20) {
		c.noSchema = true
	}
	if d.one(20) {
		c.charset = pick(d, []string{"latin1", "utf8mb3", "swe7", "cp932"})
	}
	return c
}

// elsewhere is the schema that a table is not in.
func (n name) elsewhere() string {
	if n.schema == "db1" {
		return "db2"
	}
	return "db1"
}

func (d *dice) schema() string { return pick(d, []string{"db1", "db2"}) }

// table is a base table in any schema; most of the time db1, so that steps meet.
func (d *dice) table() name {
	schema := "db1"
	if d.one(4) {
		schema = "db2"
	}
	return name{schema, pick(d, []string{"t", "t", "u", "p"})}
}

// spelt writes a name with or without its schema, and returns the schema that has to be the current
// one.
func (d *dice) spelt(n name) (name, string) {
	if d.one(2) {
		return name{"", n.table}, n.schema
	}
	return n, d.schema()
}

func (d *dice) manner() manner {
	if d.one(2) {
		return plain
	}
	return pick(d, []manner{binary, packet, immediate, commented, versioned, skipped, delimiting})
}

// say is a step with one action on a table, written somehow.
func (d *dice) say(a action) step {
	s := step{kind: say, client: d.client(), manner: d.manner(), in: d.schema()}
	if a.verb == rename {
		a.pairs, s.in = d.speltPairs(a.pairs)
	} else {
		a.table, s.in = d.spelt(a.table)
	}
	s.actions = []action{a}
	return s
}

// speltPairs leaves the schema away, sometimes, where it is the current one.
func (d *dice) speltPairs(pairs []pair) ([]pair, string) {
	in, bare := d.schema(), d.one(2)
	var spelt []pair
	for _, p := range pairs {
		for _, n := range []*name{&p.from, &p.to} {
			if bare && n.schema == in {
				n.schema = ""
			}
		}
		spelt = append(spelt, p)
	}
	return spelt, in
}

// owner is say for what has to succeed if the rest is to mean anything.
func (d *dice) owner(a action) step {
	s := d.say(a)
	s.client.account, s.client.noSchema = 0, false
	if s.manner == immediate {
		s.manner = plain
	}
	return s
}

// beside is an action around the proxy.
func beside(a action) step { return step{kind: say, client: around, in: "db1", actions: []action{a}} }

func fillStep(n name) step {
	return step{kind: fill, client: around, in: n.schema, actions: []action{{table: n}}}
}

func copyStep(from, to name) step {
	return step{kind: duplic, client: around, in: from.schema, actions: []action{{table: to, other: from}}}
}

// policy is a declaration on a table.
func (d *dice) policy(n name) action {
	return action{verb: declare, table: n, column: "created", days: pick(d, []int{10, 10, 30, 30, 90})}
}

// stop is something after which fewer rows may go, or none.
func (d *dice) stop(n name) action {
	return pick(d, []action{
		{verb: remove, table: n},
		{verb: disable, table: n},
		{verb: pause, table: n},
		{verb: declare, table: n, column: "created", days: 365},
	})
}

// ours is any statement about a policy.
func (d *dice) ours(n name) action {
	if d.one(3) {
		return d.stop(n)
	}
	return pick(d, []action{
		d.policy(n),
		{verb: enable, table: n},
		{verb: pace, table: n},
		{verb: resume, table: n},
		{verb: approve, table: n},
		{verb: run, table: n},
		{verb: run, table: n, extra: " WAIT"},
		{verb: cancel, table: n},
	})
}

// fails is an ALTER that the marker of every table has fail, when the server has begun to copy it.
const fails = "ALTER TABLE %s ADD CONSTRAINT never CHECK (id = 0), ALGORITHM = COPY"

// harmless is a statement that changes the table but no row.
func (d *dice) harmless(n name) action {
	return action{verb: touch, table: n, format: pick(d, []string{
		"ALTER TABLE %s COMMENT 'x'",
		"ALTER TABLE %s ENGINE = InnoDB",
		"ALTER TABLE %s MODIFY tag VARCHAR(30) NULL",
		"ALTER TABLE %s MODIFY tag VARCHAR(20) NULL",
		"ALTER TABLE %s ADD COLUMN z INT, ALGORITHM = COPY",
		"ALTER TABLE %s ADD COLUMN z2 INT",
		"ALTER TABLE %s DROP COLUMN z",
		"ALTER TABLE %s DROP INDEX by_time",
		fails,
		"CREATE INDEX by_tag ON %s (tag)",
		"DROP INDEX by_tag ON %s",
		"OPTIMIZE TABLE %s",
		"ANALYZE TABLE %s",
		"REPAIR TABLE %s",
		"SHOW CREATE TABLE %s",
	})}
}

// waits is the engine's turn.
func (d *dice) waits(n name) step {
	return step{kind: say, in: n.schema, actions: []action{{verb: run, table: n, extra: " WAIT"}}}
}
