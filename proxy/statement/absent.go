package statement

import (
	"context"
	"strconv"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// manyLooks is how often we look for a table that keeps appearing and vanishing.
const manyLooks = 20

// alterAbsent answers an ALTER with a clause whose table was not there when we looked. It may be
// there when the server looks, so the server is given an ALTER that changes nothing: its refusal is
// the answer. When it finds a table, everything starts over.
func (q *request) alterAbsent(ctx context.Context, a *ddl.AlterTable) error {
	if q.looks++; q.looks > manyLooks {
		return &wire.Error{
			Code: ddl.CodeLockWait, State: "HY000",
			Message: "ttlproxy: nothing was changed, because the table keeps appearing and vanishing; try again",
		}
	}

	table, err := q.spelledName(a.Table)
	if err != nil {
		return err
	}

	text := "ALTER TABLE " + table
	if a.IfExists {
		text = "ALTER TABLE IF EXISTS " + table
	}

	h, absent, err := q.noted(ddl.CodeNoTable, func() (*proxy.Held, error) { return q.x.HoldQuery(text) })
	switch {
	case err != nil:
		return err
	case h.Failed(), a.IfExists && absent:
		return q.x.Send(h)
	}

	return q.alter(ctx, a)
}

// createPresent lets a CREATE TABLE IF NOT EXISTS with a clause through, for a table that was there
// when we looked. If the server has created one all the same, the client is told that it has no
// TTL.
func (q *request) createPresent() error {
	h, present, err := q.noted(ddl.CodeTableExists, q.hold)
	switch {
	case err != nil:
		return err
	case h.Failed(), present:
		return q.x.Send(h)
	}
	return refuse("the table was created, but without its TTL, because another one was there a moment before: " +
		"declare the TTL with ALTER TABLE")
}

// noted runs a statement and reports whether the server has left a note of that number, which a
// client may have switched off.
func (q *request) noted(code uint16, run func() (*proxy.Held, error)) (h *proxy.Held, noted bool, err error) {
	v, err := q.x.AskValues(proxy.SelectValues("@@sql_notes + 0", "@@max_error_count"))
	if err != nil {
		return nil, false, err
	}

	shown := func() error {
		if h, err = run(); err == nil && !h.Failed() {
			noted, err = q.shows(code)
		}
		return err
	}
	if v[0] == "1" && v[1] != "0" {
		err = shown()
		return h, noted, err
	}

	err = under(q.x, "SET SESSION sql_notes = 1, SESSION max_error_count = 64",
		"SET SESSION sql_notes = "+v[0]+", SESSION max_error_count = "+v[1], shown)
	return h, noted, err
}

// shows reports whether a warning or note of that number is there.
func (q *request) shows(code uint16) (bool, error) {
	r, err := q.x.Ask("SHOW WARNINGS LIMIT 64")
	if err != nil {
		return false, err
	}
	for _, row := range r.Rows {
		if len(row) > 1 && string(row[1]) == strconv.Itoa(int(code)) {
			return true, nil
		}
	}
	return false, nil
}
