package statement

import (
	"context"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// reading is a text for the server that reads our settings.
type reading struct {
	st   *ddl.Statement
	refs []ddl.Reference
}

// readingOf finds our settings in a text; there are none in most.
func (a *admin) readingOf(text string) (r reading, err error) {
	parts := ddl.Parse(text, a.q.session.mode)
	if len(parts) != 1 {
		return r, nil
	}
	if s, ok := parts[0].Action.(*ddl.ReadNames); ok {
		r.st = parts[0]
		r.refs, err = ourReferences(s, a.q.session.schema)
	}
	return r, err
}

// withOurs puts the values of our settings where a text reads them.
func (a *admin) withOurs(ctx context.Context, text string) (string, error) {
	r, err := a.readingOf(text)
	if err != nil || len(r.refs) == 0 {
		return text, err
	}
	values, err := a.valuesOf(ctx, r.refs)
	return r.with(func(name string) string { return values[name] }), err
}

// with puts something else in place of each setting.
func (r reading) with(value func(name string) string) string {
	return r.st.Substitute(r.refs, func(ref ddl.Reference, spelled string) string {
		return substitute(ref, spelled, value(ref.Variable+ref.Table))
	})
}
