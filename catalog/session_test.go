package catalog

import (
	"database/sql"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestSessionsOfARepairedFormat: sessions that were opened under STATEMENT cannot write, and once an administrator
// has repaired that, only the first of them fails.
func TestSessionsOfARepairedFormat(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t, flavour)
			db := openDB(t, s.Config(""))
			store, err := Open(t.Context(), db, Config{})
			if err != nil {
				t.Fatal(err)
			}

			root := s.Open(t, "")
			setFormat := func(format string) {
				t.Helper()
				if _, err := root.ExecContext(t.Context(), "SET GLOBAL binlog_format = '"+format+"'"); err != nil {
					t.Fatal(err)
				}
			}

			db.SetMaxIdleConns(0) // those there are end
			db.SetMaxIdleConns(8)
			setFormat("STATEMENT")
			var opened []*sql.Conn
			for range 8 {
				c, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				opened = append(opened, c)
			}
			for _, c := range opened {
				c.Close()
			}
			setFormat("ROW")

			write := func() error {
				_, err := store.Join(t.Context(), Node{Name: "test"})
				return err
			}
			if err := write(); !isServerError(err, ddl.CodeBinlogFormat) {
				t.Fatalf("a session of the format STATEMENT writes: %v", err)
			}
			for range 16 {
				if err := write(); err != nil {
					t.Fatalf("when the format is ROW again: %v", err)
				}
			}
		})
	}
}
