package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// mark begins every statement of the application, so that the judge can tell its deletions from the
// engine's.
const mark = "/* app */ "

// binlogEnd is where the server's binary log ends now.
func binlogEnd(t *testing.T, s *mysqltest.Server) mysql.Position {
	t.Helper()
	status := "SHOW BINARY LOG STATUS"
	if s.MariaDB() {
		status = "SHOW MASTER STATUS"
	}
	var p mysql.Position
	p.Name, p.Pos = logFile(t, s.Open(t, ""), status)
	return p
}

// judgeBinlog reads the server's binary log from a position to its end and returns the judge who
// followed it.
func judgeBinlog(t *testing.T, s *mysqltest.Server, schema string, from mysql.Position) *judge {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	end := binlogEnd(t, s)

	c := s.Config("")
	_, text, err := net.SplitHostPort(c.Addr)
	if err != nil {
		t.Fatal(err)
	}

	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}

	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: 4242, Flavor: string(s.Flavour), Host: "127.0.0.1", Port: uint16(port), User: c.User,
		Password:        c.Passwd, // MariaDB sends statements only to who asks for them
		DumpCommandFlag: replication.BINLOG_SEND_ANNOTATE_ROWS_EVENT,
		Logger:          slog.New(slog.DiscardHandler),
	})
	defer syncer.Close()

	stream, err := syncer.StartSync(from)
	if err != nil {
		t.Fatal(err)
	}

	r := reader{judge: newJudge(schema)}
	for file := from.Name; ; {
		e, err := stream.GetEvent(ctx)
		if err != nil {
			t.Fatalf("read the binary log %s: %v", file, err)
		}
		if rotate, ok := e.Event.(*replication.RotateEvent); ok {
			file = string(rotate.NextLogName)
			continue
		}

		r.event(e)
		if file == end.Name && e.Header.LogPos >= end.Pos {
			return r.judge
		}
	}
}

// logFile returns the first two columns of a statement's first row: a file of the binary log, and a
// size or position.
func logFile(t *testing.T, db *sql.DB, statement string) (string, uint32) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		t.Fatal(err, rows.Err())
	}

	var name string
	var position uint32
	into := []any{&name, &position}
	for range columns[2:] {
		into = append(into, new(sql.RawBytes))
	}

	if err := rows.Scan(into...); err != nil {
		t.Fatal(err)
	}

	return name, position
}

// reader turns the events of the binary log into what the judge hears.
type reader struct {
	judge     *judge
	statement string // whose rows follow
}

func (r *reader) event(e *replication.BinlogEvent) {
	switch v := e.Event.(type) {
	case *replication.RowsQueryEvent:
		r.statement = string(v.Query)
	case *replication.MariadbAnnotateRowsEvent:
		r.statement = string(v.Query)
	case *replication.QueryEvent:
		if string(v.Schema) == r.judge.schema {
			r.judge.ddl(string(v.Query))
		}
		r.statement = ""
	case *replication.XIDEvent:
		r.statement = ""
	case *replication.RowsEvent:
		r.rows(e, v)
	}
}

func (r *reader) rows(e *replication.BinlogEvent, v *replication.RowsEvent) {
	schema, table := string(v.Table.Schema), string(v.Table.Table)
	switch {
	case schema == "ttlproxy" && (table == "policy" || table == "pause"):
		for before, after := range changes(e.Header.EventType, v) {
			if table == "policy" {
				r.judge.policy(before, after)
			} else {
				r.judge.pause(after)
			}
		}
	case schema == r.judge.schema && !strings.HasPrefix(r.statement, mark):
		for before, after := range changes(e.Header.EventType, v) {
			if after == nil {
				before["by"] = head(r.statement, 60)
				delete(before, "v") // says nothing and is long
				r.judge.delete(table, before, time.Unix(int64(e.Header.Timestamp), 0).UTC())
			} else {
				r.judge.fault("%s: somebody who is not the application wrote %v: %s", table, after, r.statement)
			}
		}
	}
}

// changes yields each row of an event as it was and as it became; nil where it was not, or is no
// more.
func changes(kind replication.EventType, v *replication.RowsEvent) func(yield func(before, after row) bool) {
	return func(yield func(before, after row) bool) {
		for i := 0; i < len(v.Rows); i++ {
			var before, after row
			switch kind {
			case replication.WRITE_ROWS_EVENTv1, replication.WRITE_ROWS_EVENTv2:
				after = columns(v, i)
			case replication.DELETE_ROWS_EVENTv1, replication.DELETE_ROWS_EVENTv2:
				before = columns(v, i)
			default: // an update has both, one after the other
				before, after = columns(v, i), columns(v, i+1)
				i++
			}

			if !yield(before, after) {
				return
			}
		}
	}
}

// columns reads a row by the names that the server put in the log (binlog_row_metadata=FULL).
func columns(v *replication.RowsEvent, i int) row {
	r := row{}
	for n, name := range v.Table.ColumnNameString() {
		switch value := v.Rows[i][n].(type) {
		case nil:
			r[name] = null
		case []byte:
			r[name] = string(value)
		default:
			r[name] = fmt.Sprint(value)
		}
	}
	return r
}
