package ddl

import (
	"strings"
	"testing"
	"time"
)

func TestCandidate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                                    false,
		"SELECT 1":                            false,
		"select * from bottle where little=1": false,
		"SELECT * FROM createtable":           false,
		"INSERT INTO t VALUES (1)":            false,
		"SET NAMES utf8mb4":                   false,
		"SET STATEMENT a=1 FOR ALTER TABLE t": true,
		"create table t (a int)":              true,
		"  \n\t ALTER TABLE t FORCE":          true,
		"/* hello */ drop table t":            true,
		"-- x\nDROP TABLE t":                  true,
		"# x\nDROP TABLE t":                   true,
		"/*!40000 DROP TABLE t */":            true,
		"/*M!100100 DROP TABLE t */":          true,
		"/*! */ TRUNCATE t":                   true,
		"SELECT 1; DROP TABLE t":              true,
		"SELECT 1;;; /* x */ rename table t":  true,
		"SELECT 1; SELECT 2":                  false,
		"SELECT @@ttl_job_enable":             true,
		"SET GLOBAL TTL_JOB_ENABLE = 1":       true,
		"SELECT @@tidb_ttl_job_enable":        true,
		"SELECT 1, @@global.TiDB_TTL_x":       true,
		"SELECT * FROM mysql.tidb_ttl_task":   true,
		"SELECT nottl_x":                      false,
		"SELECT ttl_x FROM t":                 false,
		"UPDATE t SET ttl_x = 1; SELECT 1":    false,
		"SET @a = 1; SET GLOBAL ttl_x = 1":    true,
		"SELECT 1; /* x */ SET ttl_x = 1":     true,
		"SELECT TTL_x, @@ttl_job_enable":      true,
		"SELECT x_ttl_y FROM t":               false,
		"EXECUTE IMMEDIATE 'ALTER TABLE t'":   true,
		"PREPARE s FROM 'ALTER TABLE t'":      true,
		"RUN TTL JOB FOR t":                   true,
		"\xA0ALTER\xA0TABLE t":                true,
		"RUN\xFFTTL JOB FOR t":                true,
		"SET\xA0ttl_x = 1":                    true,
		"altering":                            false,
		"DESC t":                              false,
		"DESCRIBE ttl_of":                     true,
		"EXPLAIN SELECT * FROM t":             false,
		"EXPLAIN /* x */ TTL t":               true,
		"SHOW TABLES":                         false,
		"SHOW /* x */ ttl jobs":               true,
		"SHOW/*!TTL*/JOBS":                    true,
		"show create table t":                 true,
		"SHOW GLOBAL VARIABLES":               true,
		"SHOW WARNINGS":                       true,
		"SHOW ERRORS":                         true,
		"SHOW STATUS LIKE 'x'":                false,
		"SET STATEMENT a=1 FOR SELECT b DESC": false,
		"SET STATEMENT a=1 FOR (SELECT 1)":    false,
		"SET STATEMENT a=1 for\t(drop t)":     true,
		"SET STATEMENT a=1 FOR/**/DROP t":     true,
		"SET STATEMENT a=1 /*!FOR*/ DROP t":   true,
		"SET /*!STATEMENT a=1 FOR*/ DROP t":   true,
		"SET STATEMENT a='FOR' FOR SHOW TTL":  true,
		"SET STATEMENT a=1 FOR SHOW TABLES":   false,
		"TRUST TTL SERVER":                    true,
		"RESTORE TTL PARTITION p FOR t":       true,
		"RESTORE TABLE t FROM '/x'":           false,
		"/* unfinished":                       false,
		"SELECT 'a' FROM t /*T![ttl] x */":    false,
		"/*T![ttl] ALTER TABLE t */ SELECT 1": true,
	} {
		if got := Candidate([]byte(text)); got != want {
			t.Errorf("Candidate(%q): got %v, want %v", text, got, want)
		}
	}
}

// TestCandidateEverywhere moves the name through every alignment of the four-byte steps.
func TestCandidateEverywhere(t *testing.T) {
	t.Parallel()
	for n := range 32 {
		for _, name := range []string{"ttl_a", "TTL_a", "tidb_ttl_a", "`ttl_a"} {
			text := "SET" + strings.Repeat(" ", n+1) + name
			if !Candidate([]byte(text)) {
				t.Errorf("Candidate(%q): got false, want true", text)
			}
		}
	}
}

func TestCandidateAllocates(t *testing.T) {
	text := []byte("SELECT id, title, little FROM settle WHERE total = 3; SELECT 2 /* x */")
	if n := testing.AllocsPerRun(100, func() { Candidate(text) }); n != 0 {
		t.Errorf("got %v allocations per call, want 0", n)
	}
}

// Whoever knows no name has nothing to do with EXECUTE name.
func TestExecutesName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"EXECUTE s": true, " execute\ts USING @a, @b": true, "EXECUTE `immediately`": false, "EXECUTE": false,
		"EXECUTE IMMEDIATE 'DROP TABLE t'": false, "EXECUTE/**/s": false, "EXECUTE /*!IMM*/ s": false,
		"EXECUTE s; DROP TABLE t": false, "EXECUTEs": false, "SHOW TABLES": false,
	} {
		if got := ExecutesName([]byte(text)); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
		for _, st := range Parse(text, Mode{MariaDB: true}) {
			if _, named := st.Action.(*Execute); want && !named {
				t.Errorf("%q is read as %T", text, st.Action)
			}
		}
	}
}

// A text full of beginnings of comments that never end is not read once for each of them.
func TestCandidateIsLinear(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{";/*", ";--", ";#", "FOR/*", "FOR "} {
		for _, head := range []string{"SELECT 1", "SET STATEMENT a=1 "} {
			text := []byte(head + strings.Repeat(piece, 1<<20/len(piece)))
			began := time.Now()
			Candidate(text)
			if took := time.Since(began); took > 20*time.Second { // once for each, it would be minutes
				t.Errorf("%s and 1 MiB of %q: took %s", head, piece, took)
			}
		}
	}
}

func BenchmarkCandidate(b *testing.B) {
	point := []byte("SELECT c FROM sbtest1 WHERE id=50193")
	bulk := []byte("INSERT INTO t VALUES " + strings.Repeat("(12345,'some title; and text'),", 10_000))
	show := []byte("SHOW GLOBAL STATUS LIKE 'Threads%'")
	set := []byte("SET STATEMENT max_statement_time=5 FOR SELECT page_id, page_title FROM page WHERE page_id = 12345")
	for name, text := range map[string][]byte{"point": point, "bulk": bulk, "show": show, "set": set} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Candidate(text)
			}
		})
	}
}
