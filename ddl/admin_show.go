package ddl

import (
	"slices"
	"strconv"
	"strings"
)

// showTTL reads what follows SHOW TTL.
func (r *reader) showTTL() {
	a := &ShowTTL{}
	if r.take(string(ListPartitions)) {
		a.List = ListPartitions
		r.close(a, r.forTable(&a.Table) && a.Table != nil && r.narrowed(a), usagePartitions)
		return
	}

	a.List = List(strings.ToUpper(r.spelling(r.current())))
	if !slices.Contains(Lists(), a.List) || !r.take(string(a.List)) {
		r.reject(r.usageError(usageShow + ", or " + usageWhole + ", or " + usagePartitions))
		return
	}
	if !a.List.OfTables() { // of a table they would be empty, as if there were nothing to show
		r.close(a, r.narrowed(a), usageWhole)
		return
	}
	r.close(a, r.forTable(&a.Table) && r.ofSchema(a) && r.narrowed(a), usageShow)
}

// narrowed reads which rows of a list are wanted, and how many.
func (r *reader) narrowed(a *ShowTTL) bool {
	from := r.at
	a.Filter = r.filter()
	if a.Filter.Where != "" {
		a.Filter.Where = r.quoteColumns(r.tokens[from+1 : r.at])
	}
	return !r.peek(0, "WHERE") && r.limit(&a.Limit)
}

// quoteColumns is the text of a condition in which columns of the lists that are reserved words, to one of
// the servers at least, can be written like all others.
func (r *reader) quoteColumns(condition []token) string {
	var b strings.Builder
	at := condition[0].start
	for _, t := range condition {
		if r.oneOf(t, "SIGNAL", "WINDOW") {
			b.WriteString(r.text[at:t.start] + Quote(r.spelling(t)))
			at = t.end
		}
	}
	return b.String() + r.text[at:condition[len(condition)-1].end]
}

// ofSchema reads FROM schema, which is that of the table if one is named.
func (r *reader) ofSchema(a *ShowTTL) bool {
	if !r.fromSchema(&a.Schema) {
		return false
	}
	if a.Schema == "" || a.Table == nil {
		return true
	}

	if a.Table.Schema == "" {
		a.Table.Schema = a.Schema
	}
	if a.Table.Schema != a.Schema {
		r.at-- // the error is about the other schema
		return false
	}

	return true
}

func (r *reader) fromSchema(schema *string) (ok bool) {
	if !r.take("FROM") && !r.take("IN") {
		return true
	}
	*schema, ok = r.ident()
	return ok
}

// filter reads LIKE or WHERE. The condition reaches to LIMIT or to the end; a bracket that nothing opens ends it, too.
func (r *reader) filter() Filter {
	if r.peek(0, "LIKE") && r.ahead(1).kind == text {
		r.at += 2
		return Filter{Like: r.spelling(r.tokens[r.at-1])}
	}
	ends := func(n int) bool {
		return r.at+n >= len(r.tokens) || r.peek(n, "LIMIT") || r.is(r.ahead(n), ')')
	}
	if !r.peek(0, "WHERE") || ends(1) {
		return Filter{}
	}

	r.at++
	start := r.current().start
	for !ends(0) {
		r.skip()
	}

	return Filter{Where: r.text[start:r.tokens[r.at-1].end]}
}

func (r *reader) limit(n **uint64) bool {
	if !r.take("LIMIT") {
		return true
	}
	most, err := strconv.ParseUint(r.spelling(r.current()), 10, 64)
	*n = &most
	r.at++
	return err == nil
}
