package statement

import (
	"bytes"
	"context"
	"maps"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// showCreate lets SHOW CREATE TABLE print the policy as well, in TiDB's comment form: inert on
// every server, and restored by a dump that is loaded through us.
func (q *request) showCreate(ctx context.Context, a *ddl.ShowCreateTable) error {
	p, err := q.policy(ctx, a.Table)
	if err != nil {
		return q.withoutCatalog(ctx, err)
	}
	if p == nil {
		return q.pass()
	}

	h, err := q.hold()
	if err != nil {
		return err
	}
	if h.Failed() {
		return q.x.Send(h)
	}

	comments := policyComments(p.Rule)
	return q.x.SendRows(h, func(row [][]byte) [][]byte {
		if len(row) == 2 { // a view has four columns
			row[1] = decorateIn(q.session.results, row[1], comments)
		}
		return row
	})
}

// policyComments prints a rule as the comments of SHOW CREATE TABLE.
func policyComments(r catalog.Rule) string {
	c := ddl.Clause{
		TTL:    &ddl.Rule{Column: r.Column, Interval: ddl.Interval{Literal: r.Literal, Unit: ddl.Unit(r.Unit)}},
		Enable: &r.Enabled, JobInterval: &r.JobInterval,
		Options: maps.Clone(r.Options),
	}
	if r.ZoneSource == catalog.ZoneFromTable {
		if c.Options == nil {
			c.Options = map[string]string{}
		}
		c.Options[ddl.OptionTimeZone] = r.TimeZone
	}
	return c.Comments()
}

// decorateIn is decorate for a text in the character set of the client's results. Only if ASCII is
// not written in single bytes is it decoded and encoded again.
func decorateIn(charset string, create []byte, comments string) []byte {
	if ddl.Wide(charset) {
		return []byte(ddl.Encode(string(decorate([]byte(ddl.Decode(string(create), charset)), comments)), charset))
	}
	return decorate(create, ddl.Encode(comments, charset))
}

// decorate puts the comments behind the table options: before the line on which MariaDB begins with
// PARTITION BY and MySQL with /*!50100 PARTITION BY.
func decorate(create []byte, comments string) []byte {
	if !bytes.HasPrefix(create, []byte("CREATE TABLE ")) {
		return create // a temporary one, or in letters in which nobody can tell
	}
	at := len(create)
	if close := bytes.LastIndex(create, []byte("\n)")); close >= 0 {
		if line := bytes.IndexByte(create[close+1:], '\n'); line >= 0 &&
			strings.Contains(string(create[close+1+line:]), "PARTITION BY") {
			at = close + 1 + line
		}
	}
	return append(append(append(make([]byte, 0, len(create)+len(comments)), create[:at]...), comments...),
		create[at:]...)
}

// describeOther handles the description of a table that only has the name of one of TiDB's. The
// server describes it, and if it prints a statement, the clauses of the table are added to that.
func (a *admin) describeOther(ctx context.Context, d *ddl.DescribeTiDB) (bool, error) {
	if d.Form != ddl.FormCreate || a.q.x.Preparing() {
		return false, nil
	}
	return true, a.q.showCreate(ctx, &ddl.ShowCreateTable{Table: d.Table})
}
