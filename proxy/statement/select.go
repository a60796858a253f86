package statement

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
)

const (
	// rowsVariable holds the rows of a prepared statement while it runs.
	rowsVariable = "@`ttlproxy rows`"
	// everyRow keeps sql_select_limit, which is not meant for SHOW, from cutting a list short.
	everyRow = 1<<64 - 1
)

// query is the SELECT that shows a reply, where rows is an expression for its rows.
func (r *reply) query(rows string) string {
	var q strings.Builder
	q.WriteString("SELECT * FROM (" + selectRows(r.list.Columns, rows) + ") AS " + ddl.Quote(r.list.Name))

	switch {
	case r.filter.Like != "":
		q.WriteString(" WHERE " + ddl.Quote(r.list.Like) + " LIKE " + r.filter.Like)
	case r.filter.Where != "":
		q.WriteString(" WHERE (" + r.filter.Where + "\n)") // one condition, which may end in a comment
	}

	limit := uint64(everyRow)
	if r.limit != nil {
		limit = *r.limit
	}

	q.WriteString(" LIMIT " + strconv.FormatUint(limit, 10))
	return q.String()
}

const (
	// smallText is how long a statement may be without asking whether the server takes it.
	smallText = 64 << 10
	// beside is what may stand in a packet beside its text: query attributes of the client.
	beside = 4 << 10
)

// fits makes sure that the server takes a statement with rows of ours. Whoever sends it a longer one is disconnected.
func fits(x *proxy.Exchange, text string) error {
	if len(text) < smallText {
		return nil
	}
	v, err := x.AskValues(proxy.SelectValues("@@max_allowed_packet"))
	if err != nil {
		return err
	}
	if most, err := strconv.Atoi(v[0]); err == nil && len(text)+beside > most {
		return refuse("ttlproxy: the server would have to read %d bytes for this, and takes %d at once "+
			"(max_allowed_packet): ask for fewer lines, with FOR or LIMIT, or SELECT from the views of the catalog",
			len(text), most)
	}
	return nil
}

// prepared is the statement that the server prepares in place of ours.
func (r *reply) prepared() string {
	if r.list == nil {
		return "DO 0"
	}
	return r.query(rowsVariable)
}

// selectRows turns rows as JSON into a table with the right types. Times are shown in the session's
// zone, as TIMESTAMPs are. The paths state their character set because MySQL assumes none for a
// client that has said SET NAMES binary.
func selectRows(columns []report.Column, rows string) string {
	var names, definitions strings.Builder
	for i, c := range columns {
		if i > 0 {
			names.WriteString(", ")
			definitions.WriteString(", ")
		}

		name := ddl.Quote(c.Name)
		if c.Type == report.Time {
			names.WriteString("CONVERT_TZ(" + name + ", '+00:00', @@session.time_zone) AS ")
		}

		names.WriteString(name)
		definitions.WriteString(name + " " + string(c.Type))
		if c.Type.IsText() {
			definitions.WriteString(" CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
		}

		definitions.WriteString(" PATH _utf8mb4'$[" + strconv.Itoa(i) + "]'")
	}

	return "SELECT " + names.String() + " FROM JSON_TABLE(" + rows + ", _utf8mb4'$[*]' COLUMNS (" +
		definitions.String() + ")) AS r"
}

// literalRows writes the rows of a list as a JSON literal.
func literalRows(l *report.List) string {
	rows := make([][]any, len(l.Rows))
	for i, r := range l.Rows {
		rows[i] = make([]any, len(r.Values))
		for k, v := range r.Values {
			rows[i][k] = jsonValue(l.Columns[k].Type, v)
		}
	}
	document, err := json.Marshal(rows)
	if err != nil {
		return literal("[]") // not reached: the values are texts and numbers
	}
	return literal(string(document))
}

// jsonValue writes a value so that the server reads it into its column without a warning. One
// server would round a fraction of a second, the other truncates it.
func jsonValue(t report.Type, v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(timeLayout)
	case float64:
		if t == report.Decimal {
			return json.Number(strconv.FormatFloat(v, 'f', 1, 64))
		}
	}
	return v
}

// literal writes a text as a literal that means the same in every SQL mode and every character set:
// it goes to a client's own session, which [tables.Literal] does not know.
func literal(s string) string {
	return "_utf8mb4 X'" + hex.EncodeToString([]byte(s)) + "'"
}
