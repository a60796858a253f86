package mysqltest

import (
	"testing"
)

func TestBothGivesEachTestItsOwnDatabase(t *testing.T) {
	Both(t, func(t *testing.T, s *Server) {
		first, second := s.DB(t), s.DB(t)
		for _, db := range []interface{ Ping() error }{first, second} {
			if err := db.Ping(); err != nil {
				t.Fatal(err)
			}
		}
		run(t, first, "CREATE TABLE t (id INT)")
		run(t, second, "CREATE TABLE t (id INT)")
	})
}

func TestAccountHasOnlyItsGrants(t *testing.T) {
	Both(t, func(t *testing.T, s *Server) {
		name := s.Database(t)
		db := Open(t, s.Account(t, "reader", "SELECT ON "+name+".*"))
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+name+".t (id INT)"); err == nil {
			t.Error("an account with SELECT created a table")
		}
	})
}

// TestProcessesBesideAnyText: who waits for a process sees it in the end, whatever text another test runs meanwhile.
func TestProcessesBesideAnyText(t *testing.T) {
	Both(t, func(t *testing.T, s *Server) {
		odd, err := s.Open(t, "").Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer odd.Close()
		var id uint64
		if err := odd.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if _, err := odd.ExecContext(t.Context(), "SET character_set_client = cp1250"); err != nil {
			t.Fatal(err)
		}

		said := make(chan error, 1)
		go func() {
			_, err := odd.ExecContext(t.Context(), "DO SLEEP(1) /* \x83 */")
			said <- err
		}()
		db := s.Open(t, "")
		for len(said) == 0 {
			if n := len(Processes(t, db, "ID = ?", id)); n != 1 {
				t.Errorf("got %d processes, want the one", n)
			}
		}
		if err := <-said; err != nil {
			t.Error(err)
		}
	})
}

func TestWord(t *testing.T) {
	if got := word("TestÄ/b c"); got != "test__b_c" {
		t.Errorf("got %q", got)
	}
}
