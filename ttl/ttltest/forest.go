package ttltest

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Forest is a random forest of tables, w0 at its root, with rows in them, and for each table an l of
// the same number: a ledger of all rows that applications have committed, as they left them. What the
// engine may do to the tables follows from the ledgers alone.
type Forest struct {
	ForestConfig
	t      *testing.T
	tables []*forestTable
	last   atomic.Int64 // id that was given to a row; ids are those of one table only
}

// ForestConfig says what a forest is like.
type ForestConfig struct {
	DB     *sql.DB
	Schema string
	Seed   uint64

	Skip   bool // rows of the root stay that others point at; otherwise those go along
	Rows   int  // that each table begins with
	Most   int  // how many rows point at one expired row of the root
	Parts  bool // families go in parts, so that a row whose date changes meanwhile may lose some of its own
	Deaths bool // the server may die: applications are told anything
}

type forestTable struct {
	number  int
	grouped bool // the primary key is (g, id), and not id
	depth   int
	keys    []forestKey // those that the table has
	born    atomic.Pointer[[]int]
}

// forestKey is a foreign key from its child's side.
type forestKey struct {
	number int
	parent *forestTable
	at     pointsAt
	rule   string
}

// pointsAt is which unique key of its parent a foreign key points at.
type pointsAt int

const (
	atPrimary pointsAt = iota
	atUnique
	atPair
)

const setNull = " ON DELETE SET NULL"

var forestRules = []string{"", " ON DELETE CASCADE", setNull, " ON DELETE RESTRICT"}

// deepestForest is how many tables stand one below the other, the root not counted.
const deepestForest = 5

// NewForest makes one.
func NewForest(t *testing.T, c ForestConfig) *Forest {
	t.Helper()
	f := &Forest{ForestConfig: c, t: t}
	random := rand.New(rand.NewPCG(c.Seed, 7))

	n := 2 + random.IntN(5)
	for number := range n {
		f.tables = append(f.tables, &forestTable{number: number, grouped: random.IntN(3) == 0})
		f.create(f.tables[number])
	}
	for number, table := range f.tables {
		for range 1 + random.IntN(2) {
			f.plant(random, table, random.IntN(number+1))
		}
		if number > 0 && random.IntN(6) == 0 { // perhaps two tables that point at each other
			f.plant(random, table, random.IntN(n))
		}
	}
	if len(f.pointing(f.tables[0])) == 0 {
		f.plant(random, f.tables[1], 0)
	}

	for _, table := range f.tables {
		f.fill(random, table)
	}
	f.crowd(random)
	t.Logf("forest of seed %d: %s", c.Seed, f)
	return f
}

// String lists the foreign keys.
func (f *Forest) String() string {
	var all []string
	for _, table := range f.tables {
		for _, k := range table.keys {
			all = append(all, fmt.Sprintf("w%d (%s) → w%d%s", table.number, strings.Join(k.columns(), ", "),
				k.parent.number, k.rule))
		}
	}
	return strings.Join(all, "; ")
}

func (f *Forest) create(t *forestTable) {
	f.t.Helper()
	primary := "PRIMARY KEY (id)"
	if t.grouped {
		primary = "PRIMARY KEY (g, id), UNIQUE (id)"
	}
	f.exec(fmt.Sprintf("CREATE TABLE %s.w%d (id INT NOT NULL, g INT NOT NULL, u INT NOT NULL UNIQUE, v INT NOT NULL, "+
		"at DATETIME NULL, %s, UNIQUE (v, u))", f.Schema, t.number, primary))
	f.exec(fmt.Sprintf("CREATE TABLE %[1]s.l%[2]d LIKE %[1]s.w%[2]d", f.Schema, t.number))
	t.born.Store(new([]int))
}

// plant gives a table a foreign key, unless it would be one that a policy refuses.
func (f *Forest) plant(random *rand.Rand, child *forestTable, parent int) {
	f.t.Helper()
	k := forestKey{
		number: len(f.keys()), parent: f.tables[parent], at: pointsAt(random.IntN(3)),
		rule: forestRules[random.IntN(len(forestRules))],
	}
	switch root := parent == 0; {
	case k.parent.depth == deepestForest, f.Skip && root && child == k.parent:
		return
	case f.Skip && root && k.at != atPrimary:
		k.rule = ""
	case child == k.parent:
		// MySQL 9.7 takes a row to point at itself if the first column of such a key does, and accepts
		// whatever the others say.
		k.at = atUnique
	}
	if k.parent.number < child.number && child.depth <= k.parent.depth {
		child.depth = k.parent.depth + 1
	}

	columns := k.columns()
	for _, letter := range "wl" {
		f.exec(fmt.Sprintf("ALTER TABLE %s.%c%d ADD %s INT NULL", f.Schema, letter, child.number,
			strings.Join(columns, " INT NULL, ADD ")))
	}
	f.exec(fmt.Sprintf("ALTER TABLE %s.w%d ADD FOREIGN KEY (%s) REFERENCES %s.w%d (%s)%s", f.Schema, child.number,
		strings.Join(columns, ", "), f.Schema, parent, strings.Join(k.references(), ", "), k.rule))
	child.keys = append(child.keys, k)
}

func (f *Forest) keys() (all []forestKey) {
	for _, t := range f.tables {
		all = append(all, t.keys...)
	}
	return all
}

// pointing are the tables that have a foreign key to one.
func (f *Forest) pointing(parent *forestTable) (all []*forestTable) {
	for _, t := range f.tables {
		if slices.ContainsFunc(t.keys, func(k forestKey) bool { return k.parent == parent }) {
			all = append(all, t)
		}
	}
	return all
}

// references are the columns that a key points at; the last of them tells the row.
func (k forestKey) references() []string {
	switch {
	case k.at == atUnique:
		return []string{"u"}
	case k.at == atPair:
		return []string{"v", "u"}
	case k.parent.grouped:
		return []string{"g", "id"}
	default:
		return []string{"id"}
	}
}

func (k forestKey) columns() (names []string) {
	for _, to := range k.references() {
		names = append(names, fmt.Sprintf("k%d%s", k.number, to))
	}
	return names
}

// What other columns have for an id.
const (
	groups    = 3
	uniquesAt = 1_000_000
	pairs     = 7
)

// values point at a row.
func (k forestKey) values(id int) (all []string) {
	for _, to := range k.references() {
		all = append(all, fmt.Sprint(map[string]int{
			"id": id, "g": id % groups, "u": id + uniquesAt, "v": id % pairs,
		}[to]))
	}
	return all
}

// target is the row at which values point; 0 for none.
func (k forestKey) target(values []string) (id int) {
	if slices.Contains(values, null) {
		return 0
	}
	if _, err := fmt.Sscan(values[len(values)-1], &id); err != nil {
		panic(err) // our own columns
	}
	if k.at != atPrimary {
		id -= uniquesAt
	}
	return id
}

// null is how NULL reads.
const null = "NULL"

func (f *Forest) exec(statement string) {
	f.t.Helper()
	if _, err := f.DB.ExecContext(f.t.Context(), statement); err != nil {
		f.t.Fatalf("%s: %v", statement, err)
	}
}

// fill gives a table its first rows.
func (f *Forest) fill(random *rand.Rand, t *forestTable) {
	f.t.Helper()
	for left := f.Rows; left > 0; left -= 50 { // later ones may point at earlier ones
		f.add(t, min(left, 50), func() []string { return f.row(random, t, false) })
	}
}

// crowd makes many rows point at one that has expired.
func (f *Forest) crowd(random *rand.Rand) {
	f.t.Helper()
	t := f.pointing(f.tables[0])[0]
	at := slices.IndexFunc(t.keys, func(k forestKey) bool { return k.parent == f.tables[0] })
	var top int
	err := f.DB.QueryRowContext(f.t.Context(), "SELECT MIN(id) FROM "+f.Schema+".w0 WHERE at < NOW()").Scan(&top)
	if err != nil {
		f.t.Fatal(err)
	}

	for left := f.Most; left > 0; left -= 1000 {
		f.add(t, min(left, 1000), func() []string {
			row := f.row(random, t, false)
			for i, v := range t.keys[at].values(top) {
				row[t.column(t.keys[at])+i] = v
			}
			return row
		})
	}
}

// add writes rows to a table and its ledger.
func (f *Forest) add(t *forestTable, n int, row func() []string) {
	f.t.Helper()
	rows := make([]string, n)
	var ids []int
	for i := range rows {
		values := row()
		rows[i] = "(" + strings.Join(values, ", ") + ")"
		ids = append(ids, number(values[0]))
	}
	for _, letter := range "wl" {
		f.exec(f.insert(letter, t) + strings.Join(rows, ", "))
	}
	t.gave(ids...)
}

func (f *Forest) insert(letter rune, t *forestTable) string {
	names := []string{"id", "g", "u", "v", "at"}
	for _, k := range t.keys {
		names = append(names, k.columns()...)
	}
	return fmt.Sprintf("INSERT INTO %s.%c%d (%s) VALUES ", f.Schema, letter, t.number, strings.Join(names, ", "))
}

// gave remembers rows that were committed.
func (t *forestTable) gave(ids ...int) {
	for {
		old := t.born.Load()
		all := append(slices.Clone(*old), ids...)
		if t.born.CompareAndSwap(old, &all) {
			return
		}
	}
}

// any is some row that was once there; 0 if there was none.
func (t *forestTable) any(random *rand.Rand) int {
	all := *t.born.Load()
	if len(all) == 0 {
		return 0
	}
	return all[random.IntN(len(all))]
}

// column is where the columns of a key begin in a row.
func (t *forestTable) column(of forestKey) int {
	n := 5
	for _, k := range t.keys {
		if k.number == of.number {
			break
		}
		n += len(k.columns())
	}
	return n
}

// row makes up a row that points at others, which may be gone by now. As long as nobody else writes,
// some point at themselves, where the server lets such a row go.
func (f *Forest) row(random *rand.Rand, t *forestTable, busy bool) []string {
	id := int(f.last.Add(1))
	at := []string{"'2020-01-01'", "'2020-01-01'", "'2037-01-01'", null}[random.IntN(4)]
	row := []string{
		fmt.Sprint(id), fmt.Sprint(id % groups), fmt.Sprint(id + uniquesAt), fmt.Sprint(id % pairs), at,
	}
	for _, k := range t.keys {
		target := k.parent.any(random)
		if k.parent == t && !busy && random.IntN(6) == 0 && (k.rule == forestRules[1] || k.rule == setNull) {
			target = id
		}
		values := k.values(target)
		switch none := random.IntN(4) == 0; {
		case target == 0, none && random.IntN(2) == 0:
			values = slices.Repeat([]string{null}, len(values))
		case none:
			values[random.IntN(len(values))] = null
		}
		row = append(row, values...)
	}
	return row
}

func number(text string) (n int) {
	if _, err := fmt.Sscan(text, &n); err != nil {
		panic(err) // our own columns
	}
	return n
}

// Policy are the options with which the root is declared, for a client.
func (f *Forest) Policy() string {
	if f.Skip {
		return "TTL_FK = 'SKIP'"
	}
	return "TTL_FK = 'CHILDREN'"
}

// Expired is how many rows of the root have expired and do not have to stay.
func (f *Forest) Expired(ctx context.Context) (n int, err error) {
	var stays strings.Builder
	for _, child := range f.pointing(f.tables[0]) {
		for _, k := range child.keys {
			if !f.Skip || k.parent != f.tables[0] {
				continue
			}
			var same []string
			for i, column := range k.columns() {
				same = append(same, "c."+column+" = w0."+k.references()[i])
			}
			fmt.Fprintf(&stays, " AND NOT EXISTS (SELECT 1 FROM %s.w%d c WHERE %s)", f.Schema, child.number,
				strings.Join(same, " AND "))
		}
	}
	query := "SELECT COUNT(*) FROM " + f.Schema + ".w0 WHERE at < '2025-01-01'" + stays.String()
	err = f.DB.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}
