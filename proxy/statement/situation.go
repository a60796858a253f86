package statement

import (
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// situation is what the client's session says about itself. It is read for each statement that
// concerns us, and never remembered, so that no USE and no SET has to be tracked.
type situation struct {
	schema    string // to which names without one belong, empty for none
	current   string // the current one; a statement that was prepared in another schema runs in that
	mode      ddl.Mode
	results   string // character_set_results; empty means as stored
	account   string // user@host as the server knows it
	restoring bool   // foreign keys or unique keys are not checked, as while a dump is loaded
	// that the client has given its next transaction, which no statement of ours may use; empty for
	// none
	number string
	agreed map[string]bool // spellings that the server reads as we do
	// host and port are those of the client's server, which need not be the one that the catalog is
	// read from.
	host, port string
}

// askSituation is the question; the last value is the number that the client has given its next
// transaction, as somebody who plays a binary log back does.
func askSituation(mariaDB bool) string {
	number := "@@gtid_next"
	if mariaDB {
		number = "@@gtid_seq_no"
	}
	return proxy.SelectValues("DATABASE()", "@@sql_mode", "@@character_set_client", "@@character_set_results",
		"CURRENT_USER()",
		"@@foreign_key_checks + 0", "@@unique_checks + 0", "VERSION()", "@@hostname", "@@port", number)
}

// readSituation asks the client's session.
func readSituation(x *proxy.Exchange) (*situation, error) {
	v, err := x.AskValues(askSituation(x.MariaDB()))
	if err != nil {
		return nil, err
	}

	number := v[10]
	if number == "0" || strings.HasPrefix(number, "AUTOMATIC") {
		number = ""
	}

	return &situation{
		number:  number,
		schema:  v[0],
		current: v[0],
		mode: ddl.Mode{
			ANSIQuotes:         hasMode(v[1], "ANSI_QUOTES"),
			NoBackslashEscapes: hasMode(v[1], "NO_BACKSLASH_ESCAPES"),
			MariaDB:            x.MariaDB(),
			Version:            version(v[7]),
			Charset:            v[2],
		},
		results:   v[3],
		account:   v[4],
		restoring: v[5] != "1" || v[6] != "1",
		host:      v[8],
		port:      v[9],
	}, nil
}

func hasMode(modes, mode string) bool {
	for m := range strings.SplitSeq(modes, ",") {
		if m == mode {
			return true
		}
	}
	return false
}

// version turns "10.11.8-MariaDB" into 101108, as executable comments count.
func version(text string) int {
	n := 0
	for part := range strings.SplitSeq(text, ".") {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		number, err := strconv.Atoi(digits)
		if err != nil || n >= 10000 {
			break
		}

		n = n*100 + number
		if len(digits) < len(part) {
			break
		}
	}

	return n
}

// table resolves a name of the statement in the current schema. Without one it is no table, and the
// server says so.
func (s *situation) table(n ddl.Name) (catalog.Table, bool) {
	t := catalog.Table{Schema: n.Schema, Name: n.Table}
	if t.Schema == "" {
		t.Schema = s.schema
	}
	return t, t.Schema != ""
}

// client says who asks for a change of the catalog. On a server other than that of the catalog's
// own connection the client's number says nothing, so that server is named as another one.
func (q *request) client() catalog.Client {
	server := q.store.Server()
	if port := strconv.Itoa(server.Port); q.session.host != server.Host || q.session.port != port {
		other, _ := strconv.Atoi(q.session.port)
		server = catalog.Server{Host: q.session.host, Port: other}
	}
	return catalog.Client{
		Account: q.session.account, Server: server.Key(), Boot: server.Boot,
		Connection: uint64(q.x.ConnectionID()), Node: q.h.config.Node,
	}
}
