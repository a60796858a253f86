package statement

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// The server turns JSON into rows at some 30 µs each. So a list as text, which most clients ask
// for, gets from the server what only the server knows (the definitions of the columns, the rows
// that a condition leaves, the session's zone), and its rows from here. What would not come out as
// the server writes it is left to the server.

// sendList answers with a list. It returns false, and has answered nothing, when the server has to
// do it.
func (a *admin) sendList(r *reply) (bool, error) {
	if a.q.x.Command != wire.Query || !a.asStored(r.list) {
		return false, nil
	}

	kept, plain, err := a.matching(r)
	if err != nil || !plain {
		return false, err
	}
	if kept == nil {
		return true, nil // the condition fails, which has been answered
	}

	offsets, known, err := a.offsets(kept)
	if err != nil || !known {
		return false, err
	}

	rows, plain := writeRows(kept, offsets)
	if !plain {
		return false, nil
	}

	none := &reply{list: &report.List{Name: r.list.Name, Columns: r.list.Columns, Like: r.list.Like}}
	h, err := a.q.x.Hold(none.query(literalRows(none.list)))
	if err != nil {
		return false, err
	}

	return true, a.q.x.SendWith(h, rows)
}

// asStored reports whether the client gets the texts of a list unchanged: it wants UTF-8, or all of
// them are ASCII.
func (a *admin) asStored(l *report.List) bool {
	switch a.q.session.results {
	case "", "binary", "utf8mb4":
		return true
	case "utf8mb3", "utf8", "latin1", "ascii":
		return !slices.ContainsFunc(l.Rows, func(r report.Row) bool { return slices.ContainsFunc(r.Values, isForeign) })
	default:
		return false
	}
}

// isForeign reports whether a value is a text beyond ASCII.
func isForeign(v any) bool {
	s, ok := v.(string)
	return ok && !isASCII(s)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// rowNumber is a column that no condition names.
const rowNumber = "ttlproxy row"

// matching returns the list with the rows that the client has asked for. The server judges
// conditions by the columns that they name. It returns no list if the server has refused the
// condition, and false if the server has warned about it.
func (a *admin) matching(r *reply) (*report.List, bool, error) {
	if r.filter == (ddl.Filter{}) {
		return r.list, true, nil
	}

	l := *r.list
	named := narrow(&l, r.filter)
	text := (&reply{list: named, filter: r.filter, limit: r.limit}).query(literalRows(named))
	if err := fits(a.q.x, text); err != nil {
		return nil, false, err
	}
	h, err := a.q.x.Hold(text)
	if err != nil {
		return nil, false, err
	}
	if h.Failed() {
		return nil, true, a.q.x.Send(h)
	}

	found, err := h.Result()
	if err != nil || found.OK.Warnings > 0 {
		return nil, false, err
	}

	l.Rows = make([]report.Row, 0, len(found.Rows))
	for _, row := range found.Rows {
		at, err := strconv.Atoi(string(row[0]))
		if err != nil || at < 0 || at >= len(r.list.Rows) {
			return nil, false, err
		}
		l.Rows = append(l.Rows, r.list.Rows[at])
	}

	return &l, true, nil
}

// narrow is a list with the columns that a filter can mean, after the row numbers. A column whose
// name is not part of the condition's text is left out: names cannot be escaped, and where letters
// beyond ASCII could stand for others, all columns are there.
func narrow(l *report.List, f ddl.Filter) *report.List {
	text := strings.ToLower(f.Where)
	n := &report.List{Name: l.Name, Like: l.Like, Columns: []report.Column{{Name: rowNumber, Type: report.Unsigned}}}
	var columns []int
	for i, c := range l.Columns {
		if f.Like != "" && c.Name == l.Like || !isASCII(text) || strings.Contains(text, strings.ToLower(c.Name)) {
			n.Columns, columns = append(n.Columns, c), append(columns, i)
		}
	}

	n.Rows = make([]report.Row, len(l.Rows))
	for i, row := range l.Rows {
		values := make([]any, 0, len(n.Columns))
		values = append(values, uint64(i)) //nolint:gosec // not negative
		for _, at := range columns {
			values = append(values, row.Values[at])
		}
		n.Rows[i].Values = values
	}

	return n
}

const (
	// spell is for how many seconds a zone surely keeps its offset: clocks are changed on the
	// quarter of an hour. If they are not, the two ends of a spell differ.
	spell = 15 * 60
	// mostSpells is how many may be asked about.
	mostSpells = 1000

	timeLayout = "2006-01-02 15:04:05"
)

// spells are the offsets of the session's zone in seconds, by the spells' numbers since 1970.
type spells map[int64]int64

// offsets asks the server for the session's offset at the times of a list. It returns false if the
// answer is not complete.
func (a *admin) offsets(l *report.List) (spells, bool, error) {
	known := spells{}
	var last int64 // spell: times that stand together are often of one
	for _, row := range l.Rows {
		for i, v := range row.Values {
			if l.Columns[i].Type != report.Time {
				continue
			}
			if t, ok := v.(time.Time); ok && (len(known) == 0 || spellOf(t) != last) {
				last = spellOf(t)
				known[last] = 0
			}
		}
	}

	if len(known) == 0 || len(known) > mostSpells {
		return known, len(known) == 0, nil
	}

	ends := &report.List{Columns: []report.Column{{Name: "at", Type: report.Time}}}
	for n := range known {
		begin, end := endsOf(n)
		ends.Rows = append(ends.Rows, report.Row{Values: []any{begin}}, report.Row{Values: []any{end}})
	}

	r, err := askAll(a.q.x, "SELECT CAST(at AS CHAR),"+
		" TIMESTAMPDIFF(SECOND, at, CONVERT_TZ(at, '+00:00', @@session.time_zone)) FROM JSON_TABLE("+literalRows(ends)+
		", _utf8mb4'$[*]' COLUMNS (at DATETIME PATH _utf8mb4'$[0]')) AS r")
	if err != nil {
		return nil, false, err
	}

	offsets := map[string]string{}
	for _, row := range r.Rows {
		offsets[string(row[0])] = string(row[1])
	}

	for n := range known {
		begin, end := endsOf(n)
		offset := offsets[begin.Format(timeLayout)]
		seconds, err := strconv.ParseInt(offset, 10, 64)
		if err != nil || offset != offsets[end.Format(timeLayout)] {
			return nil, false, nil //nolint:nilerr // no such zone, or an odd one
		}
		known[n] = seconds
	}

	return known, true, nil
}

// spellOf is the number of the spell that a time belongs to.
func spellOf(t time.Time) int64 {
	n := t.Unix() / spell
	if t.Unix()%spell < 0 {
		n-- // before 1970
	}
	return n
}

// endsOf are the first and the last second of a spell.
func endsOf(n int64) (begin, end time.Time) {
	return time.Unix(n*spell, 0).UTC(), time.Unix(n*spell+spell-1, 0).UTC()
}

// writer writes some rows of a list.
type writer struct {
	offsets spells
	spell   int64 // of the time before: times that stand together are often of one
	offset  int64
	known   bool // spell is one, and offset its own
	digits  []byte
}

// writeRows writes the rows of a list as the server would, with times in the session's zone, and
// returns false if the server would write something differently.
func writeRows(l *report.List, offsets spells) (packets []byte, plain bool) {
	parts := make([][]byte, len(l.Rows)+1) // by the first row of each
	var odd atomic.Bool

	report.Share(len(l.Rows), func(from, to int) {
		part, plain := (&writer{offsets: offsets}).rows(l, l.Rows[from:to])
		parts[from] = part
		if !plain {
			odd.Store(true)
		}
	})

	return slices.Concat(parts...), !odd.Load()
}

func (w *writer) rows(l *report.List, rows []report.Row) (packets []byte, plain bool) {
	var payload []byte
	for _, row := range rows {
		payload = payload[:0]
		for i, v := range row.Values {
			if payload, plain = w.append(payload, l.Columns[i].Type, v); !plain {
				return nil, false
			}
		}

		if packets == nil {
			packets = make([]byte, 0, len(rows)*(len(payload)+len(payload)/4)) // rows are much alike
		}
		packets, _ = wire.AppendPacket(packets, 0, payload)
	}

	return packets, true
}

// append writes a value.
func (w *writer) append(row []byte, t report.Type, v any) (_ []byte, plain bool) {
	digits := w.digits[:0]
	switch v := v.(type) {
	case nil:
		return wire.AppendNull(row), true
	case string:
		plain = t.IsText() && utf8.ValidString(v) && (len(v) <= t.Length() || utf8.RuneCountInString(v) <= t.Length())
		return wire.AppendString(row, v), plain
	case uint64:
		digits, plain = strconv.AppendUint(digits, v, 10), t == report.Unsigned
	case int64:
		digits, plain = strconv.AppendInt(digits, v, 10), t == report.Integer || t == report.Unsigned && v >= 0
	case float64:
		digits, plain = strconv.AppendFloat(digits, v, 'f', 1, 64), t == report.Decimal && v >= 0 && v < 1e15
	case time.Time:
		local := time.Unix(v.Unix()+w.offsetAt(v), 0).UTC()
		if plain = t == report.Time && local.Year() > 0 && local.Year() < 10000; plain {
			digits = appendTime(digits, local)
		}
	}

	w.digits = digits
	return wire.AppendString(row, digits), plain
}

// offsetAt is the offset of the session's zone at a time, in seconds.
func (w *writer) offsetAt(t time.Time) int64 {
	if n := spellOf(t); !w.known || n != w.spell {
		w.spell, w.offset, w.known = n, w.offsets[n], true
	}
	return w.offset
}

// appendTime writes a time in UTC as the servers do. The standard layout for machines takes a third
// of the time that others take.
func appendTime(dst []byte, t time.Time) []byte {
	const day = len("2006-01-02")
	began := len(dst)
	dst = t.AppendFormat(dst, time.RFC3339)
	dst[began+day] = ' '
	return dst[:len(dst)-len("Z")]
}
