package statement

import (
	"encoding/hex"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// A statement comes in the client's character set. Which table a name means depends on the server's
// tables for that set, and ours may differ from them in single characters, or not know the set. So
// wherever bytes beyond ASCII matter, in a name that we have read or in one that we write, the
// server is asked what they mean. Another table is never acted on; at worst a statement is refused
// which SET NAMES utf8mb4 makes possible.

// agree makes sure that the server reads the names of a statement as we do, if it concerns us.
func (q *request) agree(st *ddl.Statement) error {
	if st.Action == nil {
		return nil
	}
	return q.agreeOn(st.Spellings()...)
}

// agreeOn does so for single spellings.
func (q *request) agreeOn(spellings ...string) error {
	charset := q.session.mode.Charset
	var unsure, questions []string
	for _, s := range spellings {
		if !ddl.Plain(s, charset) && !q.session.agreed[s] {
			unsure = append(unsure, s)
			questions = append(questions, "_"+charset+" X'"+hex.EncodeToString([]byte(s))+"'")
		}
	}

	if len(unsure) == 0 {
		return nil
	}

	values, err := q.x.AskValues(proxy.SelectValues(questions...))
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return illegible("character_set_client", charset)
	}
	if err != nil {
		return err
	}
	if q.session.agreed == nil {
		q.session.agreed = map[string]bool{}
	}

	for i, s := range unsure {
		if values[i] != ddl.Decode(s, charset) || !ddl.Nameable(values[i]) {
			return illegible("character_set_client", charset)
		}
		q.session.agreed[s] = true
	}

	return nil
}

// spelled writes a part of a statement in the client's character set, if that set has all of its
// letters.
func (q *request) spelled(text string) (string, error) {
	s := ddl.Encode(text, q.session.mode.Charset)
	if ddl.Decode(s, q.session.mode.Charset) != text {
		return "", illegible("character_set_client", q.session.mode.Charset)
	}
	return s, q.agreeOn(s)
}

// spelledName writes the table that a name means for a query on the client's connection: as it was
// understood, never as it was written, and with its schema.
func (q *request) spelledName(name ddl.Name) (string, error) {
	table, _ := q.session.table(name)
	return q.spelledTable(table)
}

// spelledTable does the same for a table of the catalog. Only a current schema that cannot be
// written in the client's character set is left to the server; without a schema the server says
// that none is chosen.
func (q *request) spelledTable(table catalog.Table) (string, error) {
	if table.Schema == q.session.current && !ddl.Spells(table.Schema, q.session.mode.Charset) {
		table.Schema = ""
	}
	return q.spelled(ddl.QuoteTable(table.Schema, table.Name))
}

func illegible(variable, charset string) error {
	return refuse("ttlproxy: nothing was done, because names cannot be read with certainty with %s = %s: SET NAMES "+
		"utf8mb4, then try again", variable, charset)
}
