package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// exchange is one or more commands that are sent together.
type exchange struct {
	name     string
	commands [][]byte
	file     []byte // sent whenever the server asks for one
}

func sql(text string) []byte { return append([]byte{byte(wire.Query)}, text...) }

func cmd(c wire.Command, rest ...byte) []byte { return append([]byte{byte(c)}, rest...) }

func one(name string, command []byte) exchange {
	return exchange{name: name, commands: [][]byte{command}}
}

func queries(texts ...string) []exchange {
	var out []exchange
	for _, text := range texts {
		name, _, _ := strings.Cut(text, "\n")
		out = append(out, one(name[:min(len(name), 60)], sql(text)))
	}
	return out
}

// attribute is what stands in front of a query's text: one attribute, a string.
var attribute = slices.Concat([]byte{1, 1, 0, 1, 0xFE, 0}, wire.AppendString(nil, "name"),
	wire.AppendString(nil, "TTL = "))

// id is how a test names the n-th statement that was prepared; statements knows how the server
// does.
func id(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

func execute(n uint32, flags byte, rest ...byte) []byte {
	return append(append(cmd(wire.Execute, id(n)...), flags, 1, 0, 0, 0), rest...)
}

// script is everything that a client may say, in an order in which each answer is the same in every
// session.
func script(mariaDB bool, caps wire.Capability) []exchange {
	s := queries(
		"CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(100), b LONGBLOB) ENGINE=InnoDB",
		"INSERT INTO t (id, s) VALUES (1, 'a'), (2, NULL), (3, 'c')",
		"SELECT id, s FROM t ORDER BY id",
		"SELECT * FROM t WHERE FALSE",
		"SELECT nothing",
		"SELEC 1",
		"",
		"BEGIN", "UPDATE t SET s = 'x' WHERE id = 1", "ROLLBACK",
		"START TRANSACTION READ ONLY", "SELECT s FROM t WHERE id = 1", "COMMIT",
		"SET @x = 1", "SELECT @x", "SET NAMES latin1", "SELECT 'é'", "SET NAMES utf8mb4",
		"SELECT 'TTL = created_at + INTERVAL 1 DAY', 'ttl' AS ttl, 1 AS little",
		"SELECT REPEAT('x', 250), REPEAT('x', 251), REPEAT('x', 65535), REPEAT('x', 65536), NULL",
		"DROP PROCEDURE IF EXISTS p",
		"CREATE PROCEDURE p(IN a INT, OUT b INT) BEGIN SELECT a; SELECT id FROM t; SET b = a + 1; END",
		"CALL p(1, @b)", "SELECT @b",
		"SHOW WARNINGS", "SELECT 1/0", "SHOW WARNINGS",
		"SHOW CREATE TABLE t", "SHOW TABLES", "DESCRIBE t",
		"SELECT 1 FROM t WHERE id = (SELECT id FROM t)",
	)

	if mariaDB {
		s = append(s, queries("SELECT id FROM t LIMIT 1 PROCEDURE ANALYSE()",
			"BEGIN NOT ATOMIC DECLARE i INT; DECLARE c CURSOR FOR SELECT id FROM t; OPEN c; FETCH c INTO i; SELECT "+
				"i; CLOSE c; END")...)
	}

	s = append(s, exchange{
		name:     "pipelined",
		commands: [][]byte{sql("SELECT 1"), sql("nonsense"), cmd(wire.Ping), sql("SELECT 2")},
	})
	if caps.Has(wire.MultiStatements) {
		s = append(s, queries(
			"SELECT 1; SELECT 2; INSERT INTO t (id) VALUES (10); SELECT 3",
			"SELECT 1; nonsense; SELECT 2",
			"SELECT 1; SELECT * FROM missing; SELECT 2",
			"CALL p(5, @b); SELECT @b",
		)...)
		s = append(s, one("one statement a packet", cmd(wire.SetOption, 1, 0)),
			one("refused", sql("SELECT 1; SELECT 2")), one("many again", cmd(wire.SetOption, 0, 0)))
	}

	s = append(s, prepared(mariaDB)...)
	next := uint32(4) // the number of the next statement that is prepared
	if mariaDB {
		next++
	}
	if caps.Has(wire.OptionalMetadata) {
		s = append(s, queries("SET resultset_metadata = NONE", "SELECT id, s FROM t", "CALL p(1, @b)")...)
		s = append(s, one("prepare without definitions", append(cmd(wire.Prepare), "SELECT id, ? FROM t"...)),
			one("execute without definitions", execute(next, 0, 0, 1, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0)))
		s = append(s, queries("SET resultset_metadata = FULL")...)
		next++
	}

	if caps.Has(wire.BulkOperations) {
		row := func(n byte) []byte { return []byte{0, n, 0, 0, 0, 0, 0, 0, 0} }
		s = append(s, one("prepare", append(cmd(wire.Prepare), "INSERT INTO t (id) VALUES (?)"...)),
			one("many at once", slices.Concat(cmd(wire.BulkExecute, id(next)...), []byte{0x80, 0, 8, 0}, row(60), row(61),
				row(62))),
			one("an error among many", slices.Concat(cmd(wire.BulkExecute, id(next)...), []byte{0x80, 0, 8, 0}, row(63),
				row(60), row(64))))
		s = append(s, queries("SELECT id FROM t WHERE id BETWEEN 60 AND 69 ORDER BY id")...)
		next++
	}

	s = append(s, queries("CREATE PROCEDURE opens() BEGIN DECLARE i INT; DECLARE c CURSOR FOR SELECT id FROM t; OPEN c; "+
		"FETCH c INTO i; SELECT i; SELECT i + 1; CLOSE c; END")...)
	s = append(s, one("prepare a call of what opens a cursor", append(cmd(wire.Prepare), "CALL opens()"...)),
		one("execute it", execute(next, 0)), one("execute it with a cursor", execute(next, 1)))

	if caps.Has(wire.QueryAttributes) {
		s = append(s, one("an attribute", slices.Concat(cmd(wire.Query, attribute...), []byte("SELECT 'ttl_'"))))
	}
	if caps.Has(wire.LocalFiles) {
		s = append(s, files(caps)...)
	}

	s = append(s,
		one("ping", cmd(wire.Ping)),
		one("use", append(cmd(wire.InitDB), "test"...)),
		one("use nothing", append(cmd(wire.InitDB), "no such schema"...)),
		one("list of fields", append(cmd(wire.FieldList), "t\x00"...)),
		one("list of fields of nothing", append(cmd(wire.FieldList), "missing\x00"...)),
		one("unknown to every server", cmd(wire.CreateDB, 'x')),
		one("kill nobody", cmd(wire.ProcessKill, 255, 255, 255, 127)),
		bigValue(),
		one("big value back", sql("SELECT b FROM t WHERE id = 100")),
		exactlyFull(),
		one("exactly 16 MiB back", sql(fmt.Sprintf("SELECT REPEAT('x', %d)", wire.MaxPayload-4))),
		one("many rows", sql("SELECT a.id, b.id, REPEAT('r', 100) FROM t a, t b, t c, t d, t e ORDER BY 1, 2")),
		one("reset", cmd(wire.ResetConnection)),
		one("after the reset", sql("SELECT @x")),
		one("execute of what was reset", execute(1, 0)),
	)

	return s
}

// bigValue and exactlyFull are made once: under the race detector, 16 MiB anew for each session take
// longer than all the rest.
var (
	bigValue = sync.OnceValue(func() exchange {
		return one("big value there",
			sql("INSERT INTO t VALUES (100, NULL, '"+strings.Repeat("y", wire.MaxPayload+1000)+"')"))
	})
	exactlyFull = sync.OnceValue(func() exchange {
		return one("exactly 16 MiB there",
			sql("SELECT LENGTH('"+strings.Repeat("z", wire.MaxPayload-1-len("SELECT LENGTH('')"))+"')"))
	})
)

// prepared are the commands on prepared statements.
func prepared(mariaDB bool) []exchange {
	prepare := func(text string) []byte { return append(cmd(wire.Prepare), text...) }
	first := []exchange{
		one("prepare 1", prepare("SELECT id, s, ? FROM t ORDER BY id")),
		one("execute 1", execute(1, 0, 0, 1, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0)),
		one("execute 1 again", execute(1, 0, 0, 1, 8, 0, 8, 0, 0, 0, 0, 0, 0, 0)),
		one("execute 1 a third time, types known", execute(1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0)),
		one("execute 1 with a cursor", execute(1, 1, 0, 1, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0)),
		one("fetch", append(cmd(wire.Fetch, id(1)...), 2, 0, 0, 0)),
		one("fetch the rest", append(cmd(wire.Fetch, id(1)...), 200, 0, 0, 0)),
		one("fetch behind the end", append(cmd(wire.Fetch, id(1)...), 2, 0, 0, 0)),
		one("reset 1", cmd(wire.ResetStatement, id(1)...)),
		one("prepare 2", prepare("INSERT INTO t (id, b) VALUES (50, ?)")),
		{name: "long data", commands: [][]byte{
			append(cmd(wire.SendLongData, id(2)...), "\x00\x00long "...),
			append(cmd(wire.SendLongData, id(2)...), "\x00\x00data"...), execute(2, 0, 0, 1, 0xFB, 0),
		}},
		one("what arrived", sql("SELECT b FROM t WHERE id = 50")),
		one("prepare nonsense", prepare("SELEC")),
		one("prepare 3", prepare("CALL p(?, @out)")),
		{name: "close", commands: [][]byte{cmd(wire.CloseStatement, id(2)...), cmd(wire.Ping)}},
		one("execute what is closed", execute(2, 0, 0, 1, 0xFB, 0)),
	}

	if mariaDB {
		first = append(first, exchange{name: "execute before prepare's answer", commands: [][]byte{
			prepare("SELECT 42"), execute(wire.LastStatement, 0),
		}}, exchange{name: "the same in vain", commands: [][]byte{
			prepare("SELEC"), execute(wire.LastStatement, 0),
		}})
	}

	return first
}

// files are LOAD DATA LOCAL with a file in 600 packets: their numbers wrap, and each reads like a
// statement of ours.
func files(caps wire.Capability) []exchange {
	var file []byte
	seq := byte(2)
	for i := range 600 {
		file, _ = wire.AppendPacket(file, seq, fmt.Appendf(nil, "\x03ALTER TABLE t TTL = c + INTERVAL %d DAY\n", i))
		seq++
	}

	file = wire.AppendHeader(file, 0, seq)
	load := "LOAD DATA LOCAL INFILE 'f' INTO TABLE l (line)"
	s := queries("CREATE TABLE l (id INT AUTO_INCREMENT PRIMARY KEY, line TEXT)")
	s = append(s, exchange{name: load, commands: [][]byte{sql(load)}, file: file})
	s = append(s, queries("SELECT COUNT(*), MIN(line), MAX(line) FROM l")...)
	s = append(s, exchange{name: "an empty file", commands: [][]byte{sql(load)}, file: wire.AppendHeader(nil, 0, 2)})

	return append(s, queries("LOAD DATA LOCAL INFILE 'f' INTO TABLE missing (line)", "DROP TABLE l")...)
}

// statements translates between the test's numbers of prepared statements and the server's: MariaDB
// counts those of all sessions.
type statements []uint32

// toServer puts the server's ids into commands.
func (s statements) toServer(commands [][]byte) [][]byte {
	out := slices.Clone(commands)
	for i, c := range out {
		n, ok := wire.StatementID(c)
		switch wire.Command(c[0]) {
		case wire.Execute, wire.BulkExecute, wire.Fetch, wire.SendLongData, wire.CloseStatement, wire.ResetStatement:
			if ok && n >= 1 && int(n) <= len(s) {
				out[i] = append(append(cmd(wire.Command(c[0])), id(s[n-1])...), c[5:]...)
			}
		}
	}
	return out
}

// prepared takes note of an id in an answer, and puts the test's number there.
func (s *statements) prepared(answer []byte) {
	if payload, _, err := wire.NextPacket(answer); err == nil {
		if n, ok := wire.PreparedID(payload); ok {
			*s = append(*s, n)
			copy(payload[1:], id(uint32(len(*s))))
		}
	}
}

// differing is what no two sessions share: the time since the server's start, and the ids of
// prepared statements in messages, which change the packet's length when they grow by a digit.
var differing = regexp.MustCompile(`(?s)Uptime.*$|^.(...)(.{3}#HY000(?:The statement|Unknown prepared statement handler)) \([0-9]+\)`)

// comparable leaves out of an answer what differs between sessions. Those answers are short; to
// search the long ones, of 16 MiB, would take most of an hour under the race detector.
func comparable(answer []byte) []byte {
	const long = 1 << 12
	if len(answer) > long {
		return answer
	}
	return differing.ReplaceAll(answer, []byte("$1$2"))
}

// TestDifferential is the claim of the whole package, byte by byte.
func TestDifferential(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := s.Open(t, "")
		for _, q := range []string{
			"DROP USER IF EXISTS differential", "CREATE USER differential", "GRANT ALL ON *.* TO differential",
			"SET GLOBAL max_allowed_packet = 67108864", "SET GLOBAL local_infile = ON",
		} {
			if _, err := db.Exec(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}

		proxies := throughBoth(t, s.Addr())
		for name, caps := range capabilitySets(s.MariaDB()) {
			t.Run(name, func(t *testing.T) {
				direct := play(t, s.Addr(), s.MariaDB(), caps)
				for way, proxied := range proxies {
					if way == "held" && !heldToo(name) {
						continue
					}

					got := play(t, proxied, s.MariaDB(), caps)
					for i, e := range script(s.MariaDB(), caps) {
						if !bytes.Equal(direct[i], got[i]) {
							t.Errorf("%s: directly %d bytes %.300q, %s %d bytes %.300q", e.name,
								len(direct[i]), direct[i], way, len(got[i]), got[i])
						}
					}
				}
			})
		}
	})
}

// heldToo reports whether statements are also held back with a set of capabilities: of all that
// takes minutes, so some of them stand for the rest unless make wire asks for all.
func heldToo(set string) bool {
	switch set {
	case "old client", "MariaDB's extensions without EOF", "optional metadata without EOF":
		return true
	}
	return os.Getenv("TTLPROXY_TEST_WIRE") == "all"
}

// capabilitySets are what kinds of client ask for.
func capabilitySets(mariaDB bool) map[string]wire.Capability {
	const old = wire.LongFlag | wire.MultiResults | wire.LocalFiles
	const usual = old | wire.MultiStatements | wire.PSMultiResults | wire.ConnectAttrs
	sets := map[string]wire.Capability{
		"old client":                 old,
		"usual client":               usual,
		"found rows":                 usual | wire.FoundRows,
		"without EOF":                usual | wire.DeprecateEOF,
		"with session state":         usual | wire.SessionTrack,
		"session state, without EOF": usual | wire.SessionTrack | wire.DeprecateEOF,
	}

	if mariaDB {
		const extended = wire.Progress | wire.BulkOperations | wire.ExtendedMetadata | wire.CacheMetadata
		sets["MariaDB's extensions"] = usual | extended
		sets["MariaDB's extensions without EOF"] = usual | extended | wire.DeprecateEOF | wire.SessionTrack
	} else {
		sets["optional metadata"] = usual | wire.OptionalMetadata
		sets["query attributes"] = usual | wire.QueryAttributes | wire.DeprecateEOF
		sets["optional metadata without EOF"] = usual | wire.OptionalMetadata | wire.DeprecateEOF | wire.SessionTrack
	}

	return sets
}

// play plays the script in a new session and in a new schema of always the same name.
func play(t *testing.T, address string, mariaDB bool, caps wire.Capability) [][]byte {
	t.Helper()
	c := logIn(t, address, "differential", "", caps)
	defer c.Close()

	for _, q := range []string{
		"DROP DATABASE IF EXISTS differential", "CREATE DATABASE differential",
		"USE differential",
	} {
		if _, err := c.ask(nil, sql(q)); err != nil {
			t.Fatal(err)
		}
	}

	var answers [][]byte
	var ids statements
	for _, e := range script(mariaDB, c.caps) {
		answer, err := c.ask(e.file, ids.toServer(e.commands)...)
		if err != nil {
			t.Fatalf("at %s, %s: %v; the answer so far: %.300q", address, e.name, err, answer)
		}
		if wire.Command(e.commands[0][0]) == wire.Prepare {
			ids.prepared(answer)
		}

		answers = append(answers, comparable(answer))
	}

	return answers
}
