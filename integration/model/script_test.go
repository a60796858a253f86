package model

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// script is what happens to two schemas, db1 and db2, which have other names on the server.
type script struct {
	seed     uint64
	accounts []grants // the first may do everything in both schemas
	steps    []step
	watch    bool // wait in the end for what must go
}

// step is one thing that somebody does.
type step struct {
	kind    stepKind
	client  client
	in      string // the current schema
	actions []action
	manner  manner
	slot    string  // of a prepared statement
	binary  bool    // prepared by the protocol, not by PREPARE
	swap    *action // of a race: what waits, around the proxy, behind the action
	kill    bool    // of a race: the proxy dies in the middle of the action
	abort   bool    // of a race: so does the statement itself, on the server
}

type stepKind string

const (
	say     stepKind = "say"     // run the actions
	prepare stepKind = "prepare" // prepare the action
	execute stepKind = "execute" // run what was prepared
	race    stepKind = "race"    // run the action while somebody reads the table, and let others queue behind it
	kill    stepKind = "kill"    // of the proxy, which comes back
	fill    stepKind = "fill"    // put rows of all ages into the table
	duplic  stepKind = "copy"    // copy the rows of one table to another
	tick    stepKind = "tick"    // wait for the next second
)

// client says who speaks, and how the connection was made. Equal ones share a connection.
type client struct {
	account  int // of the script
	direct   bool
	noSchema bool   // logs in with a flag that has the server ignore the schema of a name
	charset  string // of SET NAMES; utf8mb4 if empty
}

// around is root on the server itself.
var around = client{account: root, direct: true}

const root = -1

// manner is how a statement is dressed.
type manner string

const (
	plain      manner = ""
	binary     manner = "binary"     // prepared and executed at once
	packet     manner = "packet"     // among others
	immediate  manner = "immediate"  // MariaDB's EXECUTE IMMEDIATE
	commented  manner = "commented"  // with a comment in front and one inside
	versioned  manner = "versioned"  // in a comment that both servers execute
	skipped    manner = "skipped"    // behind a comment that both servers skip, and which holds a statement
	dumped     manner = "dumped"     // as a dump does: foreign_key_checks off, the clause in TiDB's comment
	delimiting manner = "delimiting" // with a semicolon and a comment behind it
)

// hiding is a comment that both servers skip, in front of a PREPARE.
const hiding = "/*!999999 SELECT */ "

// name is a table's name as written: unqualified if the schema is empty.
type name struct{ schema, table string }

func (n name) String() string {
	if n.schema == "" {
		return n.table
	}
	return n.schema + "." + n.table
}

// under is the table that the name means in a session whose schema is this.
func (n name) under(schema string) name {
	if n.schema == "" {
		n.schema = schema
	}
	return n
}

// stage are the tables with which a script begins: those of the usual names that it speaks of.
func (s script) stage() []name {
	var stage []name
	for _, n := range []name{{"db1", "t"}, {"db1", "u"}, {"db1", "p"}, {"db2", "t"}, {"db2", "u"}} {
		if slices.ContainsFunc(s.steps, func(st step) bool { return st.speaksOf(n) }) || s.granted(n) {
			stage = append(stage, n)
		}
	}
	return stage
}

// speaksOf reports whether a step names a table, in whatever schema if it names none.
func (s step) speaksOf(n name) bool {
	is := func(m name) bool { return m.table == n.table && (m.schema == n.schema || m.schema == "") }
	return slices.ContainsFunc(s.actions, func(a action) bool {
		return is(a.table) || is(a.other) ||
			slices.ContainsFunc(a.pairs, func(p pair) bool { return is(p.from) || is(p.to) })
	})
}

// speaks reports whether a script has steps of an account.
func (s script) speaks(account int) bool {
	return account == 0 || slices.ContainsFunc(s.steps,
		func(st step) bool { return st.client.account == account && !st.client.direct })
}

// granted reports whether an account that speaks has rights on a table by name.
func (s script) granted(n name) bool {
	for i, g := range s.accounts {
		if _, has := g[n.String()]; has && s.speaks(i) {
			return true
		}
	}
	return false
}

// isGhost reports whether an online schema change gives such names to its copies.
func (n name) isGhost() bool { return ghostName.MatchString(n.table) }

var ghostName = regexp.MustCompile(`^_.+_(gho|del|ghc|new|old)$`)

// String is what a person reads of a failed run.
func (s script) String() string {
	var b strings.Builder
	for i, g := range s.accounts {
		if !s.speaks(i) {
			continue
		}
		fmt.Fprintf(&b, "  account %d: %s\n", i, strings.Join(g.list(), "; "))
	}
	for i, st := range s.steps {
		fmt.Fprintf(&b, "  %2d. %s\n", i+1, st)
	}
	return b.String()
}

func (s step) String() string {
	var texts []string
	for _, a := range s.actions {
		if s.kind == say {
			texts = append(texts, a.dress(s.manner))
		} else {
			texts = append(texts, a.text())
		}
	}

	text := strings.Join(texts, "; ")
	switch s.kind {
	case say:
	case prepare:
		text = fmt.Sprintf("PREPARE %s FROM %q", s.slot, text)
		if s.manner == skipped {
			text = hiding + text
		}
	case execute:
		text = "EXECUTE " + s.slot
	case race:
		text += s.raceNote()
	case fill:
		text = "insert rows into " + s.actions[0].table.String()
	case duplic:
		text = fmt.Sprintf("copy the rows of %s to %s", s.actions[0].other, s.actions[0].table)
	case kill, tick:
		return fmt.Sprintf("-- %s", s.kind)
	}

	if s.manner == dumped {
		text += "  -- with foreign_key_checks = 0"
	}
	if s.binary || s.manner == binary {
		text += "  -- by the binary protocol"
	}

	return fmt.Sprintf("%s %s> %s", s.client, s.in, text)
}

func (s step) raceNote() string {
	note := "  -- while somebody reads the table"
	if s.swap != nil {
		note += "; around the proxy, behind it: " + s.swap.text()
	}
	if s.kill {
		note += "; the proxy is killed"
	}
	if s.abort {
		note += "; the statement is killed"
	}
	return note
}

func (c client) String() string {
	if c.direct {
		return "[direct]"
	}
	text := fmt.Sprintf("[account %d", c.account)
	if c.noSchema {
		text += ", CLIENT_NO_SCHEMA"
	}
	if c.charset != "" {
		text += ", " + c.charset
	}
	return text + "]"
}
