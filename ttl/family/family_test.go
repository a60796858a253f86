package family

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// world is a random forest of tables, and a model of what is in them.
type world struct {
	*testing.T
	*rand.Rand
	db     *sql.DB
	schema string
	keys   []worldKey
	rows   []map[int][]int // by table and id: what each of the table's keys points at, 0 for NULL
	// circular: rows may depend on each other in a circle
	circular bool
}

type worldKey struct {
	child, parent int
	rule          string
	unique        bool // points at another unique key than the primary one
}

// The columns that keys point at. Like other names in this world they are one by Go's letters, and two by
// those of the servers.
const id, unique = "`s`", "`ſ`"

// nameOf is what a table is called: every other one like the one before it, but for case.
func nameOf(table int) string {
	return fmt.Sprintf("`%c%d`", "wW"[table%2], table/2*2)
}

// columnOf is the column of a key.
func columnOf(key int) string {
	return fmt.Sprintf("`%c%d`", []rune("Ɂɂ")[key%2], key/2*2)
}

var rules = []string{"", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT"}

// newWorld makes tables with one to three foreign keys each, to tables before them, to themselves, and
// now and then to ones behind them. If the server is to cascade, it is only to ones before them.
func newWorld(t *testing.T, db *sql.DB, seed uint64, rules []string) *world {
	t.Helper()
	w := &world{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), db: db}
	cascades := len(rules) == 2
	n := 2 + w.IntN(5)
	w.make(n)
	for child := range n {
		for range 1 + w.IntN(2) {
			k := worldKey{
				child: child, parent: w.IntN(child + 1), rule: rules[w.IntN(len(rules))], unique: w.IntN(4) == 0,
			}
			if w.IntN(8) == 0 {
				k.parent = w.IntN(n)
			}
			if child == 0 && k.parent == 0 && w.IntN(2) == 0 || cascades && k.parent >= child {
				continue
			}
			w.addKey(k)
		}
	}

	for table := range n {
		w.fill(table, 5+w.IntN(150))
	}
	if seed%4 == 0 && !cascades {
		w.turn()
	}
	return w
}

// make makes tables.
func (w *world) make(n int) {
	w.Helper()
	if err := w.db.QueryRowContext(w.Context(), "SELECT DATABASE()").Scan(&w.schema); err != nil {
		w.Fatal(err)
	}
	for table := range n {
		w.exec("DROP TABLE IF EXISTS " + nameOf(table))
		w.exec(fmt.Sprintf("CREATE TABLE %s (%s INT PRIMARY KEY, %s INT NOT NULL UNIQUE)", nameOf(table), id, unique))
		w.rows = append(w.rows, map[int][]int{})
	}
}

// addKey gives a table a foreign key.
func (w *world) addKey(k worldKey) {
	w.Helper()
	n, column, to := len(w.keys), columnOf(len(w.keys)), id
	w.keys = append(w.keys, k)
	if k.unique {
		to = unique
	}
	w.exec(fmt.Sprintf("ALTER TABLE %s ADD %s INT, ADD CONSTRAINT key%d FOREIGN KEY (%s) REFERENCES %s (%s)%s",
		nameOf(k.child), column, n, column, nameOf(k.parent), to, k.rule))
}

// point makes a row point at another along a key.
func (w *world) point(key, row, to int) {
	w.Helper()
	k := w.keys[key]
	w.exec(fmt.Sprintf("UPDATE %s SET %s = %d WHERE %s = %d", nameOf(k.child), columnOf(key), k.value(to), id, row))
	w.rows[k.child][row][key] = to
}

func (w *world) exec(statement string) {
	w.Helper()
	if _, err := w.db.ExecContext(w.Context(), statement); err != nil {
		w.Fatalf("%s: %v", statement, err)
	}
}

// turn makes some rows point at any other, perhaps in a circle.
func (w *world) turn() {
	w.circular = true
	for range 20 {
		n := w.IntN(len(w.keys))
		k := w.keys[n]
		id, to := 1+w.IntN(len(w.rows[k.child])), 1+w.IntN(len(w.rows[k.parent]))
		w.point(n, id, to)
	}

	for n, k := range w.keys { // and two of them at each other
		if k.child != k.parent || k.rule == rules[2] || len(w.rows[k.child]) < 2 {
			continue
		}
		for id := range 2 {
			w.point(n, 1+id, 2-id)
		}
	}
}

// value is what points at a row.
func (k worldKey) value(id int) int {
	if k.unique && id != 0 {
		return id + 1000
	}
	return id
}

// fill adds rows that point at rows which are there, or at themselves, but never in a circle.
func (w *world) fill(table, rows int) {
	for row := 1; row <= rows; row++ {
		columns, values, points := id+", "+unique, fmt.Sprintf("%d, %d", row, row+1000), make([]int, len(w.keys))
		for n, k := range w.keys {
			there := slices.Sorted(maps.Keys(w.rows[k.parent]))
			if k.child != table || len(there) == 0 || w.IntN(4) == 0 {
				continue
			}
			points[n] = there[w.IntN(len(there))]
			if k.parent == table && w.IntN(6) == 0 && (k.rule == rules[1] || k.rule == rules[2]) {
				points[n] = row
			}
			columns += ", " + columnOf(n)
			values += fmt.Sprintf(", %d", k.value(points[n]))
		}
		w.exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", nameOf(table), columns, values))
		w.rows[table][row] = points
	}
}

// remove takes rows of the first table and everything below them out of the model.
func (w *world) remove(table int, ids []int) {
	for _, id := range ids {
		if _, there := w.rows[table][id]; !there {
			continue
		}
		delete(w.rows[table], id)
		for n, k := range w.keys {
			if k.parent != table {
				continue
			}
			var below []int
			for child, points := range w.rows[k.child] {
				if points[n] != id {
					continue
				}
				if k.rule == " ON DELETE SET NULL" {
					points[n] = 0
				} else {
					below = append(below, child)
				}
			}
			w.remove(k.child, below)
		}
	}
}

// check compares all tables with the model.
func (w *world) check(when string) {
	w.Helper()
	for table := range w.rows {
		columns := id
		for n, k := range w.keys {
			if k.child == table {
				columns += fmt.Sprintf(", COALESCE(%s, 0)", columnOf(n))
			}
		}
		got := map[int]string{}
		query := fmt.Sprintf("SELECT %s, CONCAT_WS(',', %s) FROM %s", id, columns, nameOf(table))
		err := tables.EachRow(w.Context(), w.db, query, nil, func(rows *sql.Rows) error {
			var id int
			var text string
			err := rows.Scan(&id, &text)
			got[id] = text
			return err
		})
		if err != nil {
			w.Fatal(err)
		}

		want := map[int]string{}
		for id, points := range w.rows[table] {
			want[id] = fmt.Sprint(id)
			for n, k := range w.keys {
				if k.child == table {
					want[id] += fmt.Sprintf(",%d", k.value(points[n]))
				}
			}
		}
		if !maps.Equal(got, want) {
			w.Fatalf("%s: %s has %v, want %v; keys %+v", when, nameOf(table), got, want, w.keys)
		}
	}
}

// TestRandomForests deletes random rows of a random table with all that depends on them, at once or
// in parts, and compares every table with a model. The statements have to find exactly as many rows
// as they say.
func TestRandomForests(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		gone, circles, refused := 0, 0, map[string]int{}
		for seed := range uint64(9) {
			w := newWorld(t, s.DB(t), seed, rules)
			forest, why := w.forest()
			if why != "" {
				_, reason, _ := strings.Cut(why, ": ")
				refused[reason]++
				continue
			}
			if forest.Empty() {
				continue
			}

			for len(w.rows[0]) > 0 {
				n, err := w.deleteSome(forest)
				if errors.Is(err, ErrCircle) && w.circular {
					circles++
					break
				}
				if err != nil {
					t.Fatalf("seed %d: %v; keys %+v", seed, err, w.keys)
				}
				gone += n
			}
		}
		if gone == 0 || circles == 0 || len(refused) > 2 {
			t.Errorf("%d rows went, %d circles were met, and forests were refused for %v", gone, circles, refused)
		}
	})
}

// TestCirclesThatNull: tables point at each other in circles, and so do their rows, but each circle has a
// key that only lets rows lose their parent. All of them can go.
func TestCirclesThatNull(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		for seed := range uint64(3) {
			w := &world{T: t, Rand: rand.New(rand.NewPCG(seed, 2)), db: s.DB(t)}
			w.make(3)
			for _, k := range []worldKey{
				{child: 1, parent: 0, rule: rules[0]},
				{child: 0, parent: 1, rule: rules[2]},
				{child: 2, parent: 1, rule: rules[1]},
				{child: 1, parent: 2, rule: rules[2], unique: true},
				{child: 0, parent: 2, rule: rules[2]},
				{child: 2, parent: 2, rule: rules[2]},
			} {
				w.addKey(k)
			}
			for table := range w.rows {
				w.fill(table, 40)
			}
			for range 100 {
				if n := w.IntN(len(w.keys)); w.keys[n].rule == rules[2] {
					w.point(n, 1+w.IntN(40), 1+w.IntN(40))
				}
			}

			forest, why := w.forest()
			if why != "" {
				t.Fatal(why)
			}
			for len(w.rows[0]) > 0 {
				if _, err := w.deleteSome(forest); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
	})
}

// TestCirclesAreOpened: rows point at themselves and at each other in circles, by keys of which none lets
// them lose a parent. Where that is agreed to, one of those is made NULL, and all of them go.
func TestCirclesAreOpened(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		opened := 0
		for _, seed := range []uint64{0, 4, 8, 12, 16} {
			w := newWorld(t, s.DB(t), seed, rules)
			forest, why := w.forest()
			if why != "" || forest.Empty() {
				continue
			}
			var agreed []string
			for _, r := range forest.Openings() {
				agreed = append(agreed, r.Consent())
			}
			if err := forest.Open(t.Context(), w.db, agreed); err != nil {
				t.Fatal(err)
			}
			opened += len(agreed)
			for len(w.rows[0]) > 0 {
				ids := slices.Sorted(maps.Keys(w.rows[0]))
				ids = ids[:1+w.IntN(len(ids))]
				if _, err := w.delete(forest, ids, []int{60, 10_000}[w.IntN(2)]); err != nil {
					t.Fatalf("seed %d: %v; keys %+v", seed, err, w.keys)
				}
				w.remove(0, ids)
				w.check(fmt.Sprintf("without %v", ids))
			}
		}
		if opened < 3 {
			t.Errorf("circles were opened in %d tables, want more", opened)
		}
	})
}

// TestCrowded: the rows that most others point at come first, whichever key that is along, and it is
// told if not all others were counted.
func TestCrowded(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		w := &world{T: t, db: s.DB(t)}
		if err := w.db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&w.schema); err != nil {
			t.Fatal(err)
		}
		w.exec("CREATE TABLE w0 (g INT, id INT, u VARCHAR(9) NOT NULL UNIQUE, PRIMARY KEY (g, id))")
		w.exec("CREATE TABLE w1 (id INT PRIMARY KEY AUTO_INCREMENT, g INT, t INT, FOREIGN KEY (g, t) REFERENCES w0 (g, id))")
		w.exec("CREATE TABLE w2 (id INT PRIMARY KEY AUTO_INCREMENT, u VARCHAR(9), FOREIGN KEY (u) REFERENCES w0 (u))")
		w.exec("INSERT INTO w0 VALUES (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'c')")
		w.exec("INSERT INTO w1 (g, t) VALUES (1, 1), (2, 1), (2, 1), (1, 2), (2, 1), (1, 2), (1, NULL), (1, NULL), " +
			"(1, NULL), (1, NULL)")
		w.exec("INSERT INTO w2 (u) VALUES ('b'), ('b'), ('a'), (NULL), (NULL), (NULL)")
		forest, why := w.forest()
		if why != "" {
			t.Fatal(why)
		}

		for limit, want := range map[int]string{
			100: "[[[2 1] [1 2] [1 1]] [[1 2] [1 1]]] true", 6: "[[[2 1] [1 2] [1 1]] [[1 2] [1 1]]] false",
		} {
			keys, whole, err := forest.Crowded(t.Context(), w.db, limit)
			if got := fmt.Sprint(keys, whole); err != nil || got != want {
				t.Errorf("of %d entries: got %s (%v), want %s", limit, got, err, want)
			}
		}
	})
}

// TestNobodyGetsBetween: as soon as a family has been read, none of its rows can be given another parent,
// and nothing can be added to it, whichever of its keys that would point at.
func TestNobodyGetsBetween(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		w := &world{T: t, db: s.DB(t)}
		if err := w.db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&w.schema); err != nil {
			t.Fatal(err)
		}
		w.exec("CREATE TABLE w0 (id INT PRIMARY KEY, u INT NOT NULL UNIQUE)")
		w.exec("CREATE TABLE w1 (id INT PRIMARY KEY, t INT NULL, FOREIGN KEY (t) REFERENCES w0 (id))")
		w.exec("CREATE TABLE w2 (id INT PRIMARY KEY, u INT NULL, FOREIGN KEY (u) REFERENCES w0 (u))")
		w.exec("CREATE TABLE w3 (id INT PRIMARY KEY, c INT NULL, FOREIGN KEY (c) REFERENCES w1 (id))")
		w.exec("INSERT INTO w0 VALUES (1, 101), (2, 102)")
		w.exec("INSERT INTO w1 VALUES (1, 1), (2, 2)")
		w.exec("INSERT INTO w2 VALUES (1, 101)")
		w.exec("INSERT INTO w3 VALUES (1, 1)")
		facts, err := tables.ReadFacts(t.Context(), w.db, w.schema, "w0")
		if err != nil {
			t.Fatal(err)
		}
		forest, why, err := Read(t.Context(), w.db, &facts.Layout, facts.Children)
		if why != "" || err != nil {
			t.Fatal(why, err)
		}

		tx, err := w.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		some, err := forest.Gather(t.Context(), tx, []tables.Key{{"1"}}, 100)
		if err != nil || some.Size() != 4 {
			t.Fatalf("%d rows, %v; want 4", some.Size(), err)
		}
		other, err := w.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.ExecContext(t.Context(), "SET innodb_lock_wait_timeout = 1"); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			"SELECT * FROM w1 WHERE id = 1 FOR UPDATE NOWAIT", "SELECT * FROM w2 WHERE id = 1 FOR UPDATE NOWAIT",
			"SELECT * FROM w3 WHERE id = 1 FOR UPDATE NOWAIT", "INSERT INTO w2 VALUES (2, 101)",
		} {
			if _, err := other.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("%s: nobody has it locked", statement)
			}
		}
		if _, err := other.ExecContext(t.Context(), "INSERT INTO w2 VALUES (3, 102)"); err != nil {
			t.Errorf("a row of another family: %v", err)
		}
	})
}

// TestRandomCascades is TestRandomForests where the server deletes what depends on rows: at once, and
// exactly what was counted.
func TestRandomCascades(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		gone := 0
		for seed := range uint64(5) {
			w := newWorld(t, s.DB(t), seed, rules[1:3])
			forest, why := w.forest()
			if why != "" || forest.Empty() {
				continue
			}
			if why := forest.Cascade(); why != "" {
				t.Fatalf("seed %d: %s; keys %+v", seed, why, w.keys)
			}
			for len(w.rows[0]) > 0 {
				n, err := w.deleteSome(forest)
				if err != nil {
					t.Fatalf("seed %d: %v; keys %+v", seed, err, w.keys)
				}
				gone += n
			}
		}
		if gone < 500 {
			t.Errorf("%d rows went, want more", gone)
		}
	})
}

// deleteSome deletes random rows of the first table, and checks what is left.
func (w *world) deleteSome(forest *Forest) (gone int, err error) {
	w.Helper()
	ids := slices.Sorted(maps.Keys(w.rows[0]))
	w.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:1+w.IntN(len(ids))]

	if gone, err = w.delete(forest, ids, []int{1, 7, 60, 10_000}[w.IntN(4)]); err != nil {
		return 0, fmt.Errorf("without %v: %w", ids, err)
	}
	w.remove(0, ids)
	w.check(fmt.Sprintf("without %v", ids))
	return gone, nil
}

// forest reads the forest below the first table.
func (w *world) forest() (*Forest, string) {
	w.Helper()
	w.check("at first")
	facts, err := tables.ReadFacts(w.Context(), w.db, w.schema, "w0")
	if err != nil {
		w.Fatal(err)
	}
	forest, why, err := Read(w.Context(), w.db, &facts.Layout, facts.Children)
	if err != nil {
		w.Fatal(err)
	}
	return forest, why
}

// delete deletes rows of the first table with what depends on them, limit rows of that at a time.
func (w *world) delete(forest *Forest, ids []int, limit int) (gone int, err error) {
	w.Helper()
	keys := make([]tables.Key, len(ids))
	for i, id := range ids {
		keys[i] = tables.Key{tables.Value(fmt.Sprint(id))}
	}

	for {
		n, err := w.deleteOnce(forest, keys, limit)
		gone += n
		switch {
		case !errors.Is(err, ErrTooMany):
			return gone, err
		case len(ids) > 1:
			n, err := w.delete(forest, ids[:len(ids)/2], limit)
			if err != nil {
				return gone, err
			}
			more, err := w.delete(forest, ids[len(ids)/2:], limit)
			return gone + n + more, err
		case forest.Cascades():
			limit *= 10 // the server deletes no part of it
		}
	}
}

// deleteOnce deletes rows with what depends on them; of a single one, if that is too much, a part.
func (w *world) deleteOnce(forest *Forest, keys []tables.Key, limit int) (gone int, err error) {
	w.Helper()
	tx, err := w.db.BeginTx(w.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()

	family, tooMany := forest.Gather(w.Context(), tx, keys, limit)
	if tooMany != nil && !errors.Is(tooMany, ErrTooMany) {
		w.Fatal(tooMany)
	}
	if tooMany != nil && (len(keys) > 1 || forest.Cascades()) {
		return 0, tooMany
	}
	if tooMany != nil {
		if family, err = forest.Part(w.Context(), tx, keys[0], limit); err != nil {
			return 0, err
		}
		if family.Size() == 0 || family.Size() > limit || len(family.Tops()) > 0 {
			w.Fatalf("a part has %d rows, and takes %v along; want 1 to %d", family.Size(), family.Tops(), limit)
		}
	}

	statements, err := family.Statements("TRUE", 0)
	if err != nil {
		return 0, err
	}
	if tops := family.Tops(); len(tops) > 0 {
		in, err := forest.tables[0].key.In(tops)
		if err != nil {
			w.Fatal(err)
		}
		looks, alone, err := family.LookBelow(tops)
		if err != nil {
			w.Fatal(err)
		}
		statements = append(append(statements, looks...),
			Statement{SQL: "DELETE FROM w0 WHERE " + in + alone, Rows: int64(len(tops))})
	}
	for _, s := range statements {
		result, err := tx.ExecContext(w.Context(), s.SQL)
		if err != nil {
			w.Fatalf("%s: %v; keys %+v", s.SQL, err, w.keys)
		}
		if n, _ := result.RowsAffected(); n != s.Rows && !s.Looks {
			w.Fatalf("%s: %d rows, want %d; keys %+v", s.SQL, n, s.Rows, w.keys)
		}
		gone += int(s.Rows)
	}
	if forest.Cascades() {
		w.behind(tx, family)
		gone = family.Size()
	}
	if err := tx.Commit(); err != nil {
		w.Fatal(err)
	}
	return gone, tooMany
}

// behind makes sure that nothing points at a row of a family that has gone.
func (w *world) behind(tx *sql.Tx, family *Family) {
	w.Helper()
	looks, alone, err := family.LookBehind()
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range looks {
		if _, err := tx.ExecContext(w.Context(), s.SQL); err != nil {
			w.Fatalf("%s: %v", s.SQL, err)
		}
	}
	var isAlone bool
	if err := tx.QueryRowContext(w.Context(), "SELECT TRUE"+alone).Scan(&isAlone); err != nil || !isAlone {
		w.Fatalf("something still points at rows that have gone (%v); keys %+v", err, w.keys)
	}
}
