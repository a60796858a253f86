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

var rules = []string{"", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT"}

// newWorld makes tables with one to three foreign keys each, to tables before them, to themselves, and
// now and then to ones behind them.
func newWorld(t *testing.T, db *sql.DB, seed uint64) *world {
	t.Helper()
	w := &world{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), db: db}
	if err := db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&w.schema); err != nil {
		t.Fatal(err)
	}

	n := 2 + w.IntN(5)
	for child := range n {
		w.exec(fmt.Sprintf("DROP TABLE IF EXISTS w%d", child))
		w.exec(fmt.Sprintf("CREATE TABLE w%d (id INT PRIMARY KEY, u INT NOT NULL UNIQUE)", child))
		w.rows = append(w.rows, map[int][]int{})
	}
	for child := range n {
		for range 1 + w.IntN(2) {
			k := worldKey{
				child: child, parent: w.IntN(child + 1), rule: rules[w.IntN(len(rules))], unique: w.IntN(4) == 0,
			}
			if w.IntN(8) == 0 {
				k.parent = w.IntN(n)
			}
			if child == 0 && k.parent == 0 && w.IntN(2) == 0 {
				continue
			}
			w.keys = append(w.keys, k)
			column := "id"
			if k.unique {
				column = "u"
			}
			w.exec(fmt.Sprintf("ALTER TABLE w%d ADD k%d INT, ADD FOREIGN KEY (k%d) REFERENCES w%d (%s)%s", child,
				len(w.keys)-1, len(w.keys)-1, k.parent, column, k.rule))
		}
	}

	for table := range n {
		w.fill(table, 5+w.IntN(150))
	}
	if seed%4 == 0 {
		w.turn()
	}
	return w
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
		w.exec(fmt.Sprintf("UPDATE w%d SET k%d = %d WHERE id = %d", k.child, n, k.value(to), id))
		w.rows[k.child][id][n] = to
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
	for id := 1; id <= rows; id++ {
		columns, values, points := "id, u", fmt.Sprintf("%d, %d", id, id+1000), make([]int, len(w.keys))
		for n, k := range w.keys {
			there := slices.Sorted(maps.Keys(w.rows[k.parent]))
			if k.child != table || len(there) == 0 || w.IntN(4) == 0 {
				continue
			}
			points[n] = there[w.IntN(len(there))]
			if k.parent == table && w.IntN(6) == 0 && (k.rule == rules[1] || k.rule == rules[2]) {
				points[n] = id
			}
			columns += fmt.Sprintf(", k%d", n)
			values += fmt.Sprintf(", %d", k.value(points[n]))
		}
		w.exec(fmt.Sprintf("INSERT INTO w%d (%s) VALUES (%s)", table, columns, values))
		w.rows[table][id] = points
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
		columns := "id"
		for n, k := range w.keys {
			if k.child == table {
				columns += fmt.Sprintf(", COALESCE(k%d, 0)", n)
			}
		}
		got := map[int]string{}
		query := fmt.Sprintf("SELECT id, CONCAT_WS(',', %s) FROM w%d", columns, table)
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
			w.Fatalf("%s: w%d has %v, want %v; keys %+v", when, table, got, want, w.keys)
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
			w := newWorld(t, s.DB(t), seed)
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
				ids := slices.Sorted(maps.Keys(w.rows[0]))
				w.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
				ids = ids[:1+w.IntN(len(ids))]

				limit := []int{1, 7, 60, 10_000}[w.IntN(4)]
				n, err := w.delete(forest, ids, limit)
				if errors.Is(err, ErrCircle) && w.circular {
					circles++
					break
				}
				if err != nil {
					t.Fatalf("seed %d, without %v: %v; keys %+v", seed, ids, err, w.keys)
				}

				gone += n
				w.remove(0, ids)
				w.check(fmt.Sprintf("seed %d, without %v", seed, ids))
			}
		}
		if gone == 0 || circles == 0 || len(refused) > 2 {
			t.Errorf("%d rows went, %d circles were met, and forests were refused for %v", gone, circles, refused)
		}
	})
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
	if tooMany != nil && len(keys) > 1 {
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

	statements, err := family.Statements(func(tables.Target) string { return "TRUE" }, 0)
	if err != nil {
		return 0, err
	}
	if tops := family.Tops(); len(tops) > 0 {
		in, err := forest.tables[0].key.In(tops)
		if err != nil {
			w.Fatal(err)
		}
		statements = append(statements, Statement{SQL: "DELETE FROM w0 WHERE " + in, Rows: int64(len(tops))})
	}
	for _, s := range statements {
		result, err := tx.ExecContext(w.Context(), s.SQL)
		if err != nil {
			w.Fatalf("%s: %v; keys %+v", s.SQL, err, w.keys)
		}
		if n, _ := result.RowsAffected(); n != s.Rows {
			w.Fatalf("%s: %d rows, want %d; keys %+v", s.SQL, n, s.Rows, w.keys)
		}
		gone += int(s.Rows)
	}
	if err := tx.Commit(); err != nil {
		w.Fatal(err)
	}
	return gone, tooMany
}
