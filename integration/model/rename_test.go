package model

import (
	"maps"
	"slices"
)

// moves are the pairs of a RENAME, with their schemas.
func (d deed) moves() []pair {
	var moves []pair
	for _, p := range d.pairs {
		moves = append(moves, pair{p.from.under(d.in), p.to.under(d.in)})
	}
	return moves
}

// renamed moves policies with their tables. Where a copy that slept takes a name, the name keeps
// what it had, and what left it keeps nothing.
func (w *world) renamed(moves []pair) {
	ends, before := endsOf(moves), maps.Clone(w.policies)
	for from := range ends {
		w.set(from, nil)
	}

	for from, to := range ends {
		awake, kept := before[from], []policy(nil)
		if incoming := before[cameTo(ends, from)]; slices.ContainsFunc(incoming, asleep) && from != to {
			awake, kept = nil, before[from]
			if slices.ContainsFunc(incoming, awakened) {
				awake = before[from]
			}
		}

		w.set(from, slices.Concat(w.policies[from], w.stay(kept, cameTo(ends, from))))
		if len(before[to]) > 0 && from != to {
			awake = slices.DeleteFunc(slices.Clone(awake), asleep) // the name has a policy of its own
		}

		w.set(to, slices.Concat(w.policies[to], w.arrive(awake, pair{from, to}, waiting(before, to))))
	}
}

// moved takes tables and rows along that were renamed for certain: rows may be gone before anybody
// has seen them under the new name.
func (w *world) moved(d deed) {
	moves := d.moves()
	if d.verb == rebrand {
		moves = []pair{{d.target(), d.source()}}
	}

	ends, before := endsOf(moves), maps.Clone(w.tables)
	for from := range ends {
		delete(w.tables, from)
	}

	for from, to := range ends {
		if t, there := before[from]; there {
			w.tables[to] = t
		}
	}

	for _, r := range w.rows {
		if to, moves := ends[r.table]; moves {
			r.table = to
		}
	}
}

// waiting are the policies that sleep elsewhere since their table has left a name.
func waiting(policies map[name][]policy, n name) []policy {
	var found []policy
	for _, ways := range policies {
		for _, p := range ways {
			if p.asleep && p.left == n {
				found = append(found, p)
			}
		}
	}
	return found
}

// endsOf tells for each table that moves where it ends.
func endsOf(moves []pair) map[name]name {
	ends := map[name]name{}
	for _, m := range moves {
		start := m.from
		for from, to := range ends {
			if to == m.from {
				start = from
			}
		}
		ends[start] = m.to
	}
	return ends
}

// cameTo is the table that ends under a name.
func cameTo(ends map[name]name, n name) name {
	for from, to := range ends {
		if to == n {
			return from
		}
	}
	return name{}
}

func asleep(p policy) bool { return p.asleep }

func awakened(p policy) bool { return !p.asleep }

// stay is what a name keeps when a copy takes it: all but the table, and the name that the copy
// gave the column.
func (w *world) stay(ways []policy, incoming name) []policy {
	var kept []policy
	for _, p := range ways {
		p.home = bothHomes(p.home, homeOf(w.tables[incoming]))
		kept = append(kept, p)
		if p.column = w.tables[incoming].column; p.column != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// arrive is what comes along with a table. It falls asleep under a ghost's name, and wakes under
// the name that it has left, or gives way to what waits for that name if it is a copy.
func (w *world) arrive(ways []policy, moved pair, waiting []policy) []policy {
	var all []policy
	for _, p := range ways {
		switch {
		case !p.asleep && moved.to.isGhost():
			p.asleep, p.left = true, moved.from
		case p.asleep && p.left == moved.to:
			p.asleep, p.left = false, name{}
		case p.asleep && p.copied && !moved.to.isGhost():
			all = append(all, w.stay(woken(waiting), moved.from)...)
		}
		all = append(all, p)
	}

	return all
}

// woken are policies whose name a copy has taken.
func woken(ways []policy) []policy {
	all := slices.Clone(ways)
	for i := range all {
		all[i].asleep, all[i].left = false, name{}
	}
	return all
}
