package report

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Type is the type of a column as SQL knows it.
type Type string

// The types of columns.
const (
	Text     Type = "VARCHAR(1024)"
	Name     Type = "VARCHAR(64)"
	LongText Type = "LONGTEXT"
	Integer  Type = "BIGINT"
	Unsigned Type = "BIGINT UNSIGNED"
	Decimal  Type = "DECIMAL(20,1)"
	Time     Type = "DATETIME"
)

// IsText reports whether values are texts, which have a character set.
func (t Type) IsText() bool { return t == Text || t == LongText || t == Name }

// Length is how many characters a text may have.
func (t Type) Length() int {
	switch t {
	case Name:
		return 64
	case Text:
		return 1024
	default:
		return 1<<31 - 1
	}
}

// Column is one column of a list.
type Column struct {
	Name string
	Type Type
	// Secret values are keys or dates of rows: only for readers who may read the table itself.
	Secret bool
	// Raw values are texts of rows, which are shown as they are.
	Raw bool
}

// Row is one line of a list. Values stand in the order of the columns: nil, string, int64, uint64,
// float64 or time.Time.
type Row struct {
	Table  catalog.Table // it is about; zero for none in particular
	Values []any
}

// List is a result set, ready to be shown.
type List struct {
	Name    string
	Columns []Column
	// Like is the column which LIKE compares.
	Like string
	Rows []Row
}

// Keep removes the rows for which keep is false.
func (l *List) Keep(keep func(Row) bool) {
	kept := l.Rows[:0]
	for _, r := range l.Rows {
		if keep(r) {
			kept = append(kept, r)
		}
	}
	l.Rows = kept
}

// Hide empties the secret values of the rows for which hide is true.
func (l *List) Hide(hide func(Row) bool) {
	for _, r := range l.Rows {
		if !hide(r) {
			continue
		}
		for i, c := range l.Columns {
			if c.Secret {
				r.Values[i] = nil
			}
		}
	}
}

// HasSecret reports whether a row has anything that Hide would empty.
func (l *List) HasSecret(r Row) bool {
	for i, c := range l.Columns {
		if c.Secret && r.Values[i] != nil {
			return true
		}
	}
	return false
}

// sentences calls a function for each text that does not come from rows and is more than a name.
func (l *List) sentences(each func(row *Row, at int, text string)) {
	var columns []int
	for i, c := range l.Columns {
		if c.Type.IsText() && c.Type != Name && !c.Raw {
			columns = append(columns, i)
		}
	}

	for n := range l.Rows {
		for _, i := range columns {
			if text, ok := l.Rows[n].Values[i].(string); ok {
				each(&l.Rows[n], i, text)
			}
		}
	}
}

// rewrite changes sentences.
func (l *List) rewrite(change func(text string) string) {
	l.sentences(func(r *Row, i int, text string) {
		if changed := change(text); changed != text {
			r.Values[i] = changed
		}
	})
}

// HasMoment reports whether a sentence of the list contains a time.
func (l *List) HasMoment() (has bool) {
	l.sentences(func(_ *Row, _ int, text string) { has = has || catalog.HasMoment(text) })
	return has
}

// Localize writes the times in the list's sentences in a zone, as those in columns of their own are
// shown.
func (l *List) Localize(zone *time.Location) {
	l.rewrite(func(text string) string { return catalog.Localize(text, zone) })
}

// Mentions lists the tables that the list's sentences name.
func (l *List) Mentions() (tables []catalog.Table) {
	l.sentences(func(_ *Row, _ int, text string) { tables = append(tables, catalog.Mentions(text)...) })
	return tables
}

// Veil removes the names of tables that the reader may not see from the list's sentences.
func (l *List) Veil(visible func(catalog.Table) bool) {
	l.rewrite(func(text string) string { return catalog.Veil(text, visible) })
}

// fill makes the rows of a list, whose values are NULL, and lets write fill in each of them. Lists of
// many tables take time: they are written side by side, and their values stand together.
func (l *List) fill(rows int, write func(row *Row, n int)) {
	l.Rows = make([]Row, rows)
	columns := len(l.Columns)
	values := make([]any, rows*columns)

	Share(rows, func(from, to int) {
		for n := from; n < to; n++ {
			l.Rows[n].Values = values[n*columns : (n+1)*columns : (n+1)*columns]
			write(&l.Rows[n], n)
		}
	})
}

// add appends a row.
func (l *List) add(t catalog.Table, values ...any) {
	l.Rows = append(l.Rows, Row{Table: t, Values: values})
}
