package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// judge follows the binary log and collects every deletion that should not have been.
type judge struct {
	schema   string               // the application's; others are none of its business
	policies map[string]policyRow // by id, as the policy table has them at this point of the log
	pauses   map[string]bool      // by policy id; "0" is everything
	tables   map[string]int       // by name: which table goes by it now, numbered as they were born
	declared map[string]int       // by policy id: the table it was declared on
	deleted  map[string]int       // by policy id: rows that the engine deleted
	wrong    []string
	born     int
	history  []string // renames, for whoever reads a failed run
}

// policyRow is what the judge reads of a row of the policy table.
type policyRow struct {
	schema, table, column string
	span                  time.Duration
	armed                 bool
	version               string
}

func newJudge(schema string) *judge {
	return &judge{
		schema: schema, policies: map[string]policyRow{}, pauses: map[string]bool{}, tables: map[string]int{},
		declared: map[string]int{}, deleted: map[string]int{},
	}
}

// rows takes the rows of one event: what a row was, what it became; nil for none.
type row map[string]string

// null is how a NULL reads.
const null = "\x00NULL"

// policy takes a change of the policy table.
func (j *judge) policy(before, after row) {
	if after == nil {
		delete(j.policies, before["id"])
		return
	}
	id := after["id"]
	if after["schema_name"] != j.schema {
		return
	}
	p := policyRow{
		schema: after["schema_name"], table: after["table_name"], column: after["column_name"],
		armed: after["armed"] == "1", version: after["version"],
	}
	seconds, err := strconv.Atoi(strings.Trim(after["interval_literal"], "'"))
	if err != nil || after["interval_unit"] != "SECOND" {
		j.fault("policy %s has an interval the workload never wrote: %s %s", id, after["interval_literal"], after["interval_unit"])
	}
	p.span = time.Duration(seconds) * time.Second
	// Whoever arms a policy, or changes an armed one, means the table that has the name at that moment.
	if old, known := j.policies[id]; p.armed && (!known || !old.armed || old.version != p.version) {
		if _, ok := j.declared[id]; !ok || old.table == p.table {
			j.declared[id] = j.tables[p.table]
		}
	}
	j.policies[id] = p
}

// pause takes a change of the pause table.
func (j *judge) pause(after row) {
	if after != nil {
		j.pauses[after["policy_id"]] = after["paused"] == "1" || after["held"] == "1"
	}
}

// delete takes a deleted row that the application did not delete itself.
func (j *judge) delete(table string, r row, at time.Time) {
	id, p := j.policyOf(table)
	switch {
	case id == "":
		j.fault("%s: deleted %v from a table without a policy", table, r)
		return
	case !p.armed:
		j.fault("%s: deleted %v under policy %s version %s, which was not armed", table, r, id, p.version)
	case j.pauses["0"] || j.pauses[id]:
		j.fault("%s: deleted %v under policy %s, which was paused", table, r, id)
	case j.declared[id] != j.tables[table]:
		j.fault("%s: deleted %v from table %d, but policy %s was declared on table %d", table, r, j.tables[table], id, j.declared[id])
	}
	expires, err := time.Parse("2006-01-02 15:04:05.999999", r[p.column])
	switch {
	case r[p.column] == null:
		j.fault("%s: deleted %v, which never expires", table, r)
	case err != nil:
		j.fault("%s: deleted %v: %v", table, r, err)
	case !expires.Add(p.span).Before(at):
		j.fault("%s: at %s deleted %v, which expires %s after %s by policy %s version %s", table, at.Format(time.TimeOnly), r, p.span, p.column, id, p.version)
	}
	j.deleted[id]++
}

func (j *judge) policyOf(table string) (string, policyRow) {
	for id, p := range j.policies {
		if p.table == table {
			return id, p
		}
	}
	return "", policyRow{}
}

func (j *judge) fault(format string, args ...any) {
	if len(j.wrong) < 20 {
		j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
	}
}

// ddl takes a statement of the application that makes or renames tables; the workload writes them in these forms only.
func (j *judge) ddl(statement string) {
	words := strings.Fields(strings.NewReplacer(",", " , ", "`", "", "/* app */", "").Replace(statement))
	if len(words) < 3 {
		return
	}
	switch strings.ToUpper(words[0] + " " + words[1]) {
	case "CREATE TABLE":
		j.born++
		j.tables[words[2]] = j.born
	case "RENAME TABLE":
		j.history = append(j.history, statement)
		for w := words[2:]; len(w) >= 3; w = w[min(4, len(w)):] {
			j.tables[w[2]] = j.tables[w[0]]
			delete(j.tables, w[0])
		}
	}
}
