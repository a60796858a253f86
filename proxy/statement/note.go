package statement

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// noteState tells the client if the policy that a statement has changed deletes nothing.
func (q *request) noteState(p catalog.Policy) {
	if p.State == catalog.PolicyDormant {
		q.warn("the TTL policy of " + p.Table.String() + " is dormant: " + p.Reason)
	}
	if p.State == catalog.PolicyDisarmed {
		q.warn("the TTL policy of " + p.Table.String() + " is disarmed: " + p.Reason +
			"; ALTER TABLE … TTL_ENABLE='ON' arms it again")
	}
}

// noteDeclared tells the client what its declaration means for the existing rows, as far as EXPLAIN TTL would: that the
// table may be altered is no right to know of them. The policy is already in force, so trouble here is logged, and the
// client is told how to ask again.
func (q *request) noteDeclared(ctx context.Context, table catalog.Table, rule catalog.Rule) {
	within, cancel := context.WithTimeout(ctx, q.h.moment)
	defer cancel()
	name := ddl.Name{Schema: table.Schema, Table: table.Name}
	if err := briefly(q.x, func() error { return q.mayDelete(name, rule.Column) }); err != nil {
		q.noteZone(ctx, table, rule)
		return
	}

	p, err := plan.Glance(within, q.h.config.DB, q.store, table, rule)
	if err == nil {
		err = briefly(q.x, func() error { return q.reveal(p, name, table, rule.Column) })
	}
	if err != nil {
		q.h.log.LogAttrs(ctx, slog.LevelWarn, "the rows that a new TTL makes due cannot be estimated",
			slog.Any("err", err))
		unknown := fmt.Sprintf("TTL of %s: the rows that are due could not be estimated in a moment; EXPLAIN TTL "+
			"shows them", table)
		q.notes = append(q.notes, proxy.Note{Level: "Note", Code: ddl.CodeNote, Message: unknown})
		q.noteZone(ctx, table, rule)
		return
	}
	q.notes = append(q.notes, previewNotes(p)...)
	q.notePartitions(ctx, table)
}

// noteIntents does the same for the tables of an ALTER that changes more than the TTL. For a new
// table, which has no rows, it reports the zone, and whether rows can be deleted from a table of
// its kind.
func (q *request) noteIntents(ctx context.Context, intents []catalog.Intent) {
	q.keepWarnings()
	for _, i := range intents {
		if i.Rule == nil {
			continue
		}

		if i.Kind == catalog.IntentCreate || i.Kind == catalog.IntentReplace {
			q.noteZone(ctx, i.Table, *i.Rule)
			q.noteUnfit(ctx, i.Table)
			q.notePartitions(ctx, i.Table)
			continue
		}

		table := i.Table
		if i.To != nil {
			table = *i.To
		}
		if p, err := q.store.Policy(ctx, table); err == nil {
			q.noteState(p)
		}

		q.noteDeclared(ctx, table, *i.Rule)
	}
}

// noteUnfit tells the client that its policy will delete nothing, because of what the table is.
// SHOW TTL JOBS says it again, so trouble in finding out does no harm.
func (q *request) noteUnfit(ctx context.Context, table catalog.Table) {
	ctx, cancel := context.WithTimeout(ctx, q.h.moment)
	defer cancel()
	if unfit, err := tables.Unfit(ctx, q.h.config.DB, table.Schema, table.Name); err == nil && unfit != "" {
		q.notes = append(q.notes, proxy.Note{Level: "Warning", Code: ddl.CodeNote, Message: "jobs will wait: " + unfit})
	}
}

// notePartitions tells the client if nothing becomes of what its rule asks for partitions, as if a right lacks.
// SHOW TTL PARTITIONS says it again, so trouble in finding out does no harm.
func (q *request) notePartitions(ctx context.Context, table catalog.Table) {
	ctx, cancel := context.WithTimeout(ctx, q.h.moment)
	defer cancel()
	p, err := q.store.Policy(ctx, table)
	if err != nil {
		return
	}
	why, _ := plan.Hindrances(ctx, q.h.config.DB, q.store, p)
	for _, text := range why {
		q.notes = append(q.notes, proxy.Note{Level: "Warning", Code: ddl.CodeNote, Message: text})
	}
}

// previewNotes are first the rows due, then the zone, then the warnings.
func previewNotes(p *plan.Preview) []proxy.Note {
	due := fmt.Sprintf("TTL of %s: %s of %s rows (%s) are due now",
		p.Table, number(p.Due, p.Exact), number(p.Rows, p.RowsExact), p.DueShare())
	if p.Seen != nil && p.Seen.NewestDue != "" && p.Due > 0 {
		due += ", the newest of them of " + dueDate(p.Seen.NewestDue, p.Seen.Sampled)
	}
	notes := []proxy.Note{{Level: "Note", Code: ddl.CodeNote, Message: due}}
	notes = append(notes, zoneNotes(p.TimeZone, p.ZoneFrom, p.Instants())...)
	for _, w := range p.Warnings {
		notes = append(notes, proxy.Note{Level: "Warning", Code: ddl.CodeNote, Message: w})
	}
	return notes
}

// noteZone does so for a table about which nothing else is known. Only a TIMESTAMP whose table says so has a zone. What
// the dates are is not worth an error, but if nobody can say, nothing is said of them.
func (q *request) noteZone(ctx context.Context, table catalog.Table, rule catalog.Rule) {
	instants := false
	if rule.ZoneSource == catalog.ZoneFromTable {
		ctx, cancel := context.WithTimeout(ctx, q.h.moment)
		defer cancel()
		columns, err := tables.ReadColumns(ctx, q.h.config.DB, table.Schema, table.Name)
		if err != nil {
			return
		}
		instants = slices.ContainsFunc(columns, func(c tables.Column) bool {
			return c.Kind == tables.Timestamp && ddl.SameName(c.Name, rule.Column)
		})
	}
	q.notes = append(q.notes, zoneNotes(rule.TimeZone, string(rule.ZoneSource), instants)...)
}

// zonedBeside is what goes by the zone of a policy beside dates, which are instants if they are those of a TIMESTAMP.
const zonedBeside = "TTL_CRON, TTL_WINDOW and months"

// zoneNotes name the zone in which dates are read; none for a TIMESTAMP, which needs none.
func zoneNotes(zone, from string, instants bool) []proxy.Note {
	if zone == "" {
		return nil
	}
	what := "Dates"
	if instants {
		what = zonedBeside
	}
	return []proxy.Note{{
		Level: "Note", Code: ddl.CodeNote,
		Message: fmt.Sprintf("%s are read in time zone %s (from the %s)", what, zone, from),
	}}
}
