package statement

import (
	"encoding/hex"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// A statement comes in the client's character set. Which table a name means is decided by the
// server's tables of that set, and ours may differ from them in single characters, or know nothing
// of the set. So wherever bytes beyond ASCII count, in a name that we have read or in one that we
// write, the server is asked what they mean to it. Another table is never acted on; at worst a
// statement is refused which SET NAMES utf8mb4 makes possible.

// agree makes sure that the server reads the names of a statement as we do, if it concerns us.
func (t *turn) agree(st *ddl.Statement) error {
	if st.Action == nil {
		return nil
	}
	return t.agreeOn(st.Spellings()...)
}

// agreeOn does so for single spellings.
func (t *turn) agreeOn(spellings ...string) error {
	charset := t.mode.Charset
	var unsure, questions []string
	for _, s := range spellings {
		if !ddl.Plain(s, charset) && !t.agreed[s] {
			unsure = append(unsure, s)
			questions = append(questions, "_"+charset+" X'"+hex.EncodeToString([]byte(s))+"'")
		}
	}

	if len(unsure) == 0 {
		return nil
	}

	values, err := t.x.AskValues(proxy.SelectValues(questions...))
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return illegible("character_set_client", charset)
	}
	if err != nil {
		return err
	}
	if t.agreed == nil {
		t.agreed = map[string]bool{}
	}

	for i, s := range unsure {
		if values[i] != ddl.Decode(s, charset) || !ddl.Nameable(values[i]) {
			return illegible("character_set_client", charset)
		}
		t.agreed[s] = true
	}

	return nil
}

// spelled writes a part of a statement in the client's character set, if that has all of it.
func (t *turn) spelled(text string) (string, error) {
	s := ddl.Encode(text, t.mode.Charset)
	if ddl.Decode(s, t.mode.Charset) != text {
		return "", illegible("character_set_client", t.mode.Charset)
	}
	return s, t.agreeOn(s)
}

// spelledName writes the table that a name means for a question on the client's connection: as it
// was understood, never as it was written, and with its schema.
func (t *turn) spelledName(name ddl.Name) (string, error) {
	table, _ := t.table(name)
	return t.spelledTable(table)
}

// spelledTable does the same for a table of the catalog. Only a current schema that the client's
// character set has no letters for is left to the server; without a schema it says that none is
// chosen.
func (t *turn) spelledTable(table catalog.Table) (string, error) {
	if table.Schema == t.current && !ddl.Spells(table.Schema, t.mode.Charset) {
		table.Schema = ""
	}
	return t.spelled(ddl.QuoteTable(table.Schema, table.Name))
}

func illegible(variable, charset string) error {
	return refuse("ttlproxy: nothing was done, because names cannot be read with certainty with %s = %s: SET NAMES "+
		"utf8mb4, then try again", variable, charset)
}
