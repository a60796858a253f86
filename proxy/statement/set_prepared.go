package statement

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// preparedSet is what the server prepares in place of a SET with our variables: each value goes to
// a user variable, so that parameters work, and the server's own variables are set as they would
// be.
func preparedSet(s *ddl.SetVariables) string {
	var assignments []string
	for i, e := range expressions(s.Ours) {
		assignments = append(assignments, valueVariable(i)+" = "+e)
	}
	if s.Rest != "" {
		assignments = append(assignments, strings.TrimPrefix(s.Rest, "SET "))
	}
	return "SET " + strings.Join(assignments, ", ")
}

// prepareSet prepares a SET. Where it reads our settings it reads user variables, which every
// EXECUTE sets.
func (a *admin) prepareSet(s *ddl.SetVariables, memo proxy.Memo) error {
	text := preparedSet(s)
	r, err := a.readingOf(text)
	if err != nil {
		return err
	}
	if len(r.refs) > 0 {
		text = r.with(readVariable)
	}
	_, err = a.q.x.Prepare(text, memo)
	return err
}

func valueVariable(i int) string { return "@`ttlproxy value " + strconv.Itoa(i) + "`" }

// executeSet runs what preparedSet has prepared and takes our values from the user variables.
func (a *admin) executeSet(ctx context.Context, s *ddl.SetVariables) error {
	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()

	if err := a.maySetAll(s); err != nil {
		return err
	}

	r, err := a.readingOf(preparedSet(s))
	if err != nil {
		return err
	}

	if len(r.refs) > 0 {
		values, err := a.valuesOf(ctx, r.refs)
		if err != nil {
			return err
		}
		if err := setVariables(a.q.x, values); err != nil {
			return err
		}
	}

	h, err := a.q.hold()
	if err != nil {
		return err
	}
	if h.Failed() {
		return a.q.x.Send(h)
	}

	variables := make([]string, len(s.Ours)+1)
	for i := range variables {
		variables[i] = valueVariable(i)
	}

	c, err := checkValues(a.q.x, s.Ours, proxy.SelectValues(variables...))
	if refused, ok := errors.AsType[*wire.Error](err); ok && s.Rest != "" { // values are not known before they are set
		return &wire.Error{Code: refused.Code, State: refused.State, Message: halfSet + refused.Message}
	}
	if err != nil {
		return err
	}
	c.reach(ctx)

	return a.setBehind(ctx, h, c)
}
