package model

import (
	"fmt"
	"maps"
	"slices"
)

// outcome is what became of an action as far as its client knows.
type outcome int

const (
	done    outcome = iota // the server said OK
	refused                // it said no
	unknown                // nobody said anything
)

// deed is an action that somebody tried, and what came of it.
type deed struct {
	action
	client  client
	in      string // the schema in which its names are read
	outcome outcome
	hidden  func(name) bool // whether a temporary table of the session hides another
	held    bool            // the clause came as from a dump
}

// apply follows a deed. Nothing follows from what was refused; where nobody knows, both may be.
func (w *world) apply(d deed) {
	if d.outcome == refused {
		return
	}

	w.doubt(d)
	w.spendFor(d)
	if d.client.direct || d.shadowed() || !w.allowed(d) {
		return // the server's tables change, no policy does
	}

	before := maps.Clone(w.policies)
	w.follow(d)
	if d.outcome == unknown {
		for n, ways := range before {
			w.set(n, slices.Concat(ways, w.policies[n]))
		}
	}

	if d.outcome == done {
		w.moved(d)
	}

	w.trust(d)
	w.expose()
}

// shadowed reports whether the deed is about a temporary table.
func (d deed) shadowed() bool {
	return d.verb == shadow || d.verb == unveil ||
		d.hidden != nil && (d.hidden(d.target()) || d.verb == like && d.hidden(d.source()))
}

func (d deed) target() name { return d.table.under(d.in) }

func (d deed) source() name { return d.other.under(d.in) }

// allowed reports whether the account has the rights that a statement of ours needs. An OK without
// them is a right gained.
func (w *world) allowed(d deed) bool {
	rights := needed(d.verb)
	if d.verb == replace && d.days > 0 {
		rights = []string{"CREATE", "DROP", "DELETE"}
	}
	if d.client.account == root || w.accounts[d.client.account].has(d.target(), rights...) {
		return true
	}
	if d.outcome == done {
		w.wrong = append(w.wrong, fmt.Sprintf("account %d was told OK for %q in %s, without %v on %s",
			d.client.account, d.text(), d.in, rights, d.target()))
	}
	return false
}

// spendFor sets rows free that an application takes away itself.
func (w *world) spendFor(d deed) {
	targets := []name{d.target()}
	if d.client.noSchema {
		targets = append(targets, name{d.in, d.table.table})
	}
	if d.hidden != nil && d.hidden(d.target()) {
		return
	}

	for _, t := range targets {
		switch d.verb {
		case drop, truncate, replace:
			w.spend(t, d.verb)
		case raze:
			w.spendSchema(t.schema)
		default:
		}
	}
}

func (w *world) spendSchema(schema string) {
	for n := range w.tables {
		if n.schema == schema {
			w.spend(n, raze)
		}
	}
}

// follow changes what is possible, for an action that was done.
func (w *world) follow(d deed) {
	t := d.target()
	switch d.verb {
	case declare:
		w.set(t, w.redeclared(t, d))
	case born:
		if _, exists := w.tables[t]; !exists {
			w.set(t, []policy{d.newborn(t)})
		}
	case replace:
		w.set(t, nil)
		if d.days > 0 {
			w.set(t, []policy{d.newborn(t)})
		}
	case like:
		w.copyRule(t, d.source(), d.client.account)
	case remove, drop:
		w.set(t, nil)
	case raze:
		maps.DeleteFunc(w.policies, func(n name, _ []policy) bool { return n.schema == d.table.schema })
	case rename:
		w.renamed(d.moves())
	case rebrand:
		w.renamed([]pair{{t, d.source()}})
	case exchange:
		w.exchanged(t, d.source())
	default:
		w.adjust(t, d)
	}
}

// newborn is the policy of a table that is being made.
func (d deed) newborn(t name) policy {
	return policy{days: d.days, column: d.column, enabled: true, held: d.held, asleep: t.isGhost(), home: unborn}
}

// redeclared is what ALTER TABLE … TTL makes: one rule, on the table that is there, still paused if
// it was.
func (w *world) redeclared(t name, d deed) []policy {
	made := policy{days: d.days, column: d.column, enabled: true, held: d.held, home: homeOf(w.tables[t])}
	if len(w.policies[t]) == 0 {
		return []policy{made}
	}
	var ways []policy
	for _, p := range w.policies[t] {
		made.paused, made.enabled = p.paused, p.enabled
		ways = append(ways, made)
	}
	return ways
}

// adjust changes every way in which a name may have a policy.
func (w *world) adjust(t name, d deed) {
	ways := slices.Clone(w.policies[t])
	for i := range ways {
		p, here := &ways[i], homeOf(w.tables[t])
		switch d.verb {
		case enable:
			p.enabled, p.asleep, p.copied, p.left, p.held, p.home = true, false, false, name{}, false, here
		case pace:
			p.home = bothHomes(p.home, here)
		case disable:
			p.enabled = false
		case truncate:
			p.home = bothHomes(p.home, unborn)
		case change:
			p.column = d.column
		case pause:
			p.paused = true
		case resume:
			p.paused = false
		case approve:
			p.held = false
		default:
		}
	}

	w.set(t, ways)
}

// copyRule is CREATE TABLE … LIKE: the copy has the rule, if its maker may delete from it.
func (w *world) copyRule(t, from name, account int) {
	if _, exists := w.tables[t]; exists {
		return
	}

	w.set(t, nil)
	if account != root && !w.accounts[account].has(t, "DELETE") {
		return
	}

	var ways []policy
	for _, p := range w.policies[from] {
		p.asleep, p.copied, p.left, p.paused, p.home = t.isGhost(), t.isGhost(), name{}, false, unborn
		ways = append(ways, p)
	}

	w.set(t, ways)
}

// exchanged is a partition that trades places with a table, through the proxy: each policy may go
// on with what it got.
func (w *world) exchanged(a, b name) {
	all := bothHomes(homeOf(w.tables[a]), homeOf(w.tables[b]))
	for _, n := range []name{a, b} {
		ways := slices.Clone(w.policies[n])
		for i := range ways {
			ways[i].home = bothHomes(ways[i].home, all)
		}
		w.set(n, ways)
	}
}

// doubt forgets what was beyond doubt about every table that the deed names.
func (w *world) doubt(d deed) {
	switch d.verb {
	case run, nothing:
		return
	case raze:
		clear(w.plainly)
	default:
	}

	delete(w.plainly, d.target())
	delete(w.plainly, d.source())
	for _, p := range d.moves() {
		delete(w.plainly, p.from)
		delete(w.plainly, p.to)
	}
}

// trust keeps in mind that the policy of a table is beyond doubt: it was just declared, and nothing
// speaks against it.
func (w *world) trust(d deed) {
	t := d.target()
	ways := w.policies[t]
	if (d.verb == declare || d.verb == born) && d.outcome == done && !t.isGhost() && len(ways) == 1 && ways[0].awake() {
		w.plainly[t] = true
	}
}

// awake reports whether a policy deletes anything.
func (p policy) awake() bool { return p.enabled && !p.paused && !p.held && !p.asleep }
