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
		db := s.Open(t, "")
		id, said := RunOddText(t, db, 1)
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
