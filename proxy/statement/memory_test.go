package statement

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// An account without any right may prepare what it likes on the server, and each statement of ours
// takes many times its length here. All of the memory is ours, so one server is enough.
func TestWhatIsPreparedIsBounded(t *testing.T) {
	t.Parallel()
	stage := newTheatre(t, mysqltest.Shared(t, sandbox.MariaDB))
	long := "ALTER TABLE n.t COMMENT 'x'" + strings.Repeat(", COMMENT 'x'", 60_000)
	if size := ddl.Parse(long, ddl.Mode{})[0].Size(); size < 4<<20 || size > 32<<20 {
		t.Fatalf("the statement takes %d bytes, too little or too much for this test", size)
	}

	db := stage.open(stage.server.Account(t, "hoarder"))
	db.SetMaxOpenConns(1)
	var kept []*sql.Stmt
	prepare := func() error {
		s, err := db.PrepareContext(t.Context(), long) //nolint:sqlclosecheck // that it stays open is the test
		if err == nil {
			kept = append(kept, s)
		}
		return err
	}

	var err error
	for len(kept) < 9 && err == nil {
		err = prepare()
	}

	stage.want(ddl.CodeTooManyPrepared, "one more", err)
	if len(kept) == 0 {
		t.Fatal("nothing was prepared")
	}
	if err := kept[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := prepare(); err != nil {
		t.Errorf("after one was closed: %v", err)
	}

	_, err = db.ExecContext(t.Context(), "SET @s = ?", long)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "PREPARE s FROM @s")
	}

	stage.want(ddl.CodeTooManyPrepared, "PREPARE by a name", err)
}
