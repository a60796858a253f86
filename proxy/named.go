package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// named are the statements of ours that a session has prepared under names, by number.
//
// A name alone proves nothing: a program that runs on the server may prepare another statement
// under it, and the server decides which spellings are one name. So under the client's name the
// server is given a mark, a SELECT that fails with our number in its message. EXECUTE goes to the
// server first: only if it answers with the mark is the statement behind it ours, and whatever else
// it answers is the answer.
//
//	PREPARE s FROM 'ours' ──► s: the mark n           the cut text: by an id that only this session's protocol knows
//	EXECUTE s ──► the mark n? ─yes─► what n stands for
//	                   └─no──► the server's own answer
type named struct {
	last int
	all  map[int]*Named
}

// Named is one of them.
type Named struct {
	Memo Memo // what EXECUTE must do

	number int
	name   string // as the client spelled it at PREPARE, in lower case
	held   uint32 // the id of the cut text on the server, of a deferred one
}

// Own is the name under which the server has the statement that answers an admin statement. Whoever
// overwrites that changes the rows that he is shown, and nothing that we do.
func (n *Named) Own() string { return "ttlproxy " + strconv.Itoa(n.number) }

// mark is the text that the server has under the client's name, with as many parameters as the
// statement behind it.
func (n *Named) mark(parameters int) string {
	label := ddl.Quote(n.Label())
	return "SELECT x." + label + " + 18446744073709551615" + strings.Repeat(", ?", parameters) + " FROM (SELECT 1 AS " +
		label + ") x LIMIT 1"
}

// Label is in the error with which the mark fails; whoever sees it has executed the name from
// within a program.
func (n *Named) Label() string {
	return fmt.Sprintf("ttlproxy %d: only a plain EXECUTE runs this", n.number)
}

func (x *Exchange) remember(n *Named) {
	m := &x.s.memory
	if m.named.all == nil {
		m.named.all = make(map[int]*Named)
	}
	m.named.all[n.number] = n
	m.tally(n.Memo, 1)
}

// meant lists the statements that a name could mean to the server. Beyond ASCII it equates letters
// that differ in their accents, or more, so that any such name could be any other.
func (m *named) meant(name string) []*Named {
	var list []*Named
	for _, n := range m.all {
		if sameName(n.name, name) {
			list = append(list, n)
		}
	}
	return list
}

func sameName(a, b string) bool {
	if plain(a) && plain(b) {
		return strings.TrimRight(a, " ") == strings.TrimRight(b, " ")
	}
	return true
}

func plain(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// Named lists the statements of ours that a name could mean to the server.
func (x *Exchange) Named(name string) []*Named { return x.s.memory.named.meant(name) }

// RemembersNames reports whether the session has prepared anything of ours under a name.
func (x *Exchange) RemembersNames() bool { return len(x.s.memory.named.all) > 0 }

// Remembers reports whether a name could mean a statement of ours.
func (x *Exchange) Remembers(name string) bool { return len(x.Named(name)) > 0 }

// Forget drops a name that is reassigned or deallocated, and frees what the server holds for it.
func (x *Exchange) Forget(name string) error {
	m := &x.s.memory.named
	for _, n := range m.meant(name) {
		if n.name != name {
			continue // whether it is the same name the server knows, and tells at EXECUTE
		}
		delete(m.all, n.number)
		x.s.memory.tally(n.Memo, -1)
		if err := x.release(n); err != nil {
			return err
		}
	}
	return nil
}

func (x *Exchange) release(n *Named) error {
	if n.held != 0 {
		return x.closePrepared(n.held)
	}
	_, err := x.Ask("DEALLOCATE PREPARE " + ddl.Quote(n.Own()))
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return nil // the client has been there
	}
	return err
}

// prepareText has the server prepare a text in the binary protocol, where nothing but its id means
// it. An error of the server is returned as *wire.Error.
func (x *Exchange) prepareText(sql string) (wire.Prepared, error) {
	b, _, err := x.collect(append([]byte{byte(wire.Prepare)}, sql...), &toBuffer{})
	if err != nil {
		return wire.Prepared{}, err
	}

	payload, _, err := wire.NextPacket(b)
	if err != nil {
		return wire.Prepared{}, err
	}
	if p, ok := wire.DecodePrepared(payload); ok {
		x.s.memory.prepared(p.ID, refusedPrepare{}) // a client that guesses the id must not run it
		return p, nil
	}

	e := new(wire.Error)
	if err := e.Decode(payload); err != nil {
		return wire.Prepared{}, err
	}

	return wire.Prepared{}, e
}

// closePrepared is COM_STMT_CLOSE, which has no answer.
func (x *Exchange) closePrepared(id uint32) error {
	x.s.memory.closed(id)
	_, _, err := x.collect(binary.LittleEndian.AppendUint32([]byte{byte(wire.CloseStatement)}, id), &toBuffer{})
	return err
}

// HoldNamed executes the text behind a name by its number. It has no parameters and is answered
// without rows.
func (x *Exchange) HoldNamed(n *Named) (*Held, error) {
	payload := binary.LittleEndian.AppendUint32([]byte{byte(wire.Execute)}, n.held)
	return x.hold(append(payload, 0, 1, 0, 0, 0)) // no cursor, once
}
