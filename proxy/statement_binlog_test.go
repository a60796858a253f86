package proxy

import (
	"slices"
	"strings"
	"testing"
)

// Pitfall 35: what is run in the client's name is in the binlog: the statement without our clause, and the empty ALTER that
// checks rights; nothing else of ours.
func TestBinlogShowsWhatWeRun(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"ALTER TABLE t TTL = created + INTERVAL 10 HOUR")
		var got []string
		for _, q := range t.binlog() {
			if strings.Contains(q, " t ") || strings.HasSuffix(q, " t") || strings.Contains(q, "`t`") {
				got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(q, "`", "")), " "))
			}
		}
		for _, q := range got {
			if strings.Contains(q, "TTL") {
				t.Errorf("our clause is in the binlog: %s", q)
			}
		}
		if len(got) == 0 || !strings.HasPrefix(got[0], "CREATE TABLE t (id INT PRIMARY KEY, created DATETIME)") {
			t.Errorf("got %q, want the CREATE first", got)
		}
		if !slices.ContainsFunc(got[1:], func(q string) bool { return strings.HasPrefix(q, "ALTER TABLE") }) {
			t.Errorf("got %q, want the empty ALTER", got)
		}
	})
}

// binlog lists the statements which the server has logged for the test's schema.
func (t *theatre) binlog() []string {
	t.Helper()
	rows, err := t.direct.QueryContext(t.Context(), "SHOW BINLOG EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var file, kind, info string
		var at, server, end uint64
		if err := rows.Scan(&file, &at, &kind, &server, &end, &info); err != nil {
			t.Fatal(err)
		}
		if _, statement, ok := strings.Cut(info, "use `"+t.schema+"`; "); ok {
			statement, _, _ = strings.Cut(statement, " /* xid=")
			out = append(out, statement)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
