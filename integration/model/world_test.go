package model

import (
	"fmt"
	"slices"
	"strconv"
)

// world is what the model knows: the policies that may be in force, and the rows.
type world struct {
	accounts []grants
	policies map[name][]policy // under each name, the ways things may be; no entry means surely none
	tables   map[name]table    // as last seen
	rows     map[int]*row
	wrong    []string
	plainly  map[name]bool // tables whose policy is beyond doubt: what has expired in them must go
}

// policy is one way in which a name may have a policy.
type policy struct {
	days    int
	column  string
	enabled bool
	paused  bool
	held    bool   // came with a dump, and nobody has approved it
	asleep  bool   // on a copy that an online schema change works on, or has left behind
	copied  bool   // by LIKE for such a copy: it is never the owner's own
	left    name   // of one asleep: the name that its table has left, and may take back
	home    string // the markers of the table that was meant; unborn if it is being made
}

// unborn is the home of a policy whose table has just been made and has no marker yet.
const unborn = "unborn"

// table is what was seen under a name.
type table struct {
	column  string      // created or made, or empty when it has neither
	markers map[int]int // by partition
	split   bool        // it has partitions
}

// row is a row that the model has seen.
type row struct {
	id, part int
	days     int // its age; 0 has not expired, or never does
	table    name
	marker   int    // of its table or partition
	free     string // why it may be gone; empty while it has to be there
}

func newWorld(accounts []grants) *world {
	return &world{
		accounts: accounts, policies: map[name][]policy{}, tables: map[name]table{}, rows: map[int]*row{},
		plainly: map[name]bool{},
	}
}

// covers reports whether a policy lets a row of a table go.
func (p policy) covers(r *row, t table) bool {
	return p.awake() && r.days > p.days && t.column == p.column && isHome(p.home, r.marker)
}

// expose sets rows free that some possible policy covers.
func (w *world) expose() {
	for _, r := range w.rows {
		for _, p := range w.policies[r.table] {
			if r.free == "" && p.covers(r, w.tables[r.table]) {
				r.free = fmt.Sprintf("%s + %d DAY of %s", p.column, p.days, r.table)
			}
		}
	}
}

// spend sets the rows of a table free that somebody drops or truncates.
func (w *world) spend(t name, how verb) {
	for _, r := range w.rows {
		if r.table == t && r.free == "" {
			r.free = string(how)
		}
	}
}

// seen takes what is in the tables now, and finds out what is missing. It returns the tables and
// partitions without a marker.
func (w *world) seen(tables map[name]table, rows []row) []unmarked {
	present := map[int]bool{}
	for _, r := range rows {
		present[r.id] = true
	}

	for id, r := range w.rows {
		if present[id] {
			continue
		}
		if r.free == "" {
			w.convict(r)
		}
		delete(w.rows, id)
	}

	w.tables = tables
	for _, r := range rows {
		r.marker = tables[r.table].markerOf(r.part)
		if known := w.rows[r.id]; known != nil {
			known.table, known.part, known.marker = r.table, r.part, r.marker
			continue
		}
		w.rows[r.id] = &r
	}

	w.expose()
	return w.unmarked()
}

func (w *world) convict(r *row) {
	w.wrong = append(w.wrong,
		fmt.Sprintf("a row of %s is gone, %d days old, and no policy that may be in force there covers it: %s",
			r.table, r.days, w.describe(r)))
}

// describe says what is possible under the name of the table a row was in.
func (w *world) describe(r *row) string {
	ways := w.policies[r.table]
	if len(ways) == 0 {
		return "there is none"
	}
	return fmt.Sprintf("the table is %d, has the column %s; possible %+v", r.marker, w.tables[r.table].column, ways)
}

// unmarked is a table, or a partition of one, that nobody has marked yet.
type unmarked struct {
	table name
	part  int
}

func (w *world) unmarked() []unmarked {
	var missing []unmarked
	for n, t := range w.tables {
		for part := range t.parts() {
			if _, marked := t.markers[part]; !marked {
				missing = append(missing, unmarked{n, part})
			}
		}
	}
	return missing
}

// parts is how many markers a table has.
func (t table) parts() int {
	if t.split {
		return 2
	}
	return 1
}

// markerOf is the marker that moves together with the rows of a partition.
func (t table) markerOf(part int) int {
	if m, ok := t.markers[part]; ok {
		return m
	}
	return t.markers[0]
}

// marked says which markers a table has got. A policy whose table was just made is now at home
// there. What had no marker had no rows: where it came around the proxy, the policy of its name may
// have gone on with it.
func (w *world) marked(n name, part, marker int) {
	w.tables[n].markers[part] = marker
	ways := slices.Clone(w.policies[n])
	for i := range ways {
		ways[i].home = bothHomes(ways[i].home, strconv.Itoa(marker))
	}
	w.set(n, ways)
	w.rows[marker] = &row{id: marker, part: part, table: n, marker: marker}
	for _, r := range w.rows {
		if r.table == n {
			r.marker = w.tables[n].markerOf(r.part)
		}
	}
}

// settle gives every policy whose table was just made a home, or forgets it if there is no such
// table.
func (w *world) settle() {
	for n, ways := range w.policies {
		t, exists := w.tables[n]
		ways = slices.DeleteFunc(ways, func(p policy) bool { return p.home == unborn && !exists })
		for i := range ways {
			ways[i].home = atHome(ways[i].home, t)
		}
		w.set(n, ways)
	}
	w.expose()
}

// set replaces what is possible under a name.
func (w *world) set(n name, ways []policy) {
	if len(ways) == 0 {
		delete(w.policies, n)
		return
	}
	w.policies[n] = slices.Compact(slices.SortedFunc(slices.Values(ways), comparePolicies))
}
