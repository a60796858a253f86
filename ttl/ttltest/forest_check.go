package ttltest

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// forestRow is a row by its table and id.
type forestRow struct{ table, id int }

// Check compares what is left with what the ledgers say, when nobody writes any more and all that has
// expired is gone. It returns how many rows have gone, or if that does not follow, because some may
// have lost one parent after the other, -1.
func (f *Forest) Check() (gone int) {
	f.t.Helper()
	was, is := f.read('l'), f.read('w')
	want := f.left(was)

	for at, values := range want {
		if got, there := is[at]; !there {
			f.t.Errorf("seed %d: w%d: row %d is gone (%v); it should be %v", f.Seed, at.table, at.id, was[at], values)
		} else if !slices.Equal(got, values) {
			f.t.Errorf("seed %d: w%d: row %d is %v; it should be %v", f.Seed, at.table, at.id, got, values)
		}
	}
	for at, values := range is {
		if _, stays := want[at]; !stays {
			f.t.Errorf("seed %d: w%d: row %d is left, %v, and was %v; it should have gone%s", f.Seed, at.table, at.id,
				values, was[at], f.parents(at, values, is))
		}
	}
	if f.t.Failed() {
		f.t.Logf("keys: %s", f)
	}

	if !f.Skip && slices.ContainsFunc(f.keys(), func(k forestKey) bool { return k.rule == setNull }) {
		return -1
	}
	return len(was) - len(is)
}

// parents says which rows one points at, and how they are.
func (f *Forest) parents(at forestRow, values []string, is map[forestRow][]string) (text string) {
	for _, k := range f.tables[at.table].keys {
		from := f.tables[at.table].column(k)
		if id := k.target(values[from : from+len(k.columns())]); id != 0 {
			text += fmt.Sprintf("; it points at %d of w%d, which is %v", id, k.parent.number,
				is[forestRow{k.parent.number, id}])
		}
	}
	return text
}

// read reads all tables of a letter: of each row, its columns.
func (f *Forest) read(letter rune) map[forestRow][]string {
	f.t.Helper()
	all := map[forestRow][]string{}
	for _, t := range f.tables {
		query := f.insert(letter, t)
		query = "SELECT " + query[strings.Index(query, "(")+1:strings.Index(query, ")")] +
			fmt.Sprintf(" FROM %s.%c%d", f.Schema, letter, t.number)
		rows, err := f.DB.QueryContext(f.t.Context(), query)
		if err != nil {
			f.t.Fatal(err)
		}
		defer rows.Close()

		names, err := rows.Columns()
		if err != nil {
			f.t.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]sql.NullString, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				f.t.Fatal(err)
			}
			texts := make([]string, len(names))
			for i, v := range values {
				if texts[i] = v.String; !v.Valid {
					texts[i] = null
				}
			}
			all[forestRow{t.number, number(texts[0])}] = texts
		}
		if err := rows.Err(); err != nil {
			f.t.Fatal(err)
		}
	}
	return all
}

// left is what has to be left of rows when all that has expired is gone.
func (f *Forest) left(was map[forestRow][]string) map[forestRow][]string {
	left, below := map[forestRow][]string{}, map[forestRow][]forestChild{}
	for at, values := range was {
		left[at] = slices.Clone(values)
		t := f.tables[at.table]
		for _, k := range t.keys {
			from := t.column(k)
			if id := k.target(values[from : from+len(k.columns())]); id != 0 {
				parent := forestRow{k.parent.number, id}
				below[parent] = append(below[parent], forestChild{at, k})
			}
		}
	}

	var going []forestRow
	for at, values := range was {
		due := at.table == 0 && values[4] != null && values[4] < "2025"
		if due && (!f.Skip || len(below[at]) == 0) {
			going = append(going, at)
		}
	}
	for len(going) > 0 {
		at := going[0]
		going = going[1:]
		if _, there := left[at]; !there {
			continue
		}
		delete(left, at)
		for _, child := range below[at] {
			row, there := left[child.forestRow]
			switch from := f.tables[child.table].column(child.forestKey); {
			case !there:
			case child.rule == setNull:
				for i := range child.columns() {
					row[from+i] = null
				}
			default:
				going = append(going, child.forestRow)
			}
		}
	}
	return left
}

// forestChild is a row that points at another.
type forestChild struct {
	forestRow
	forestKey
}
