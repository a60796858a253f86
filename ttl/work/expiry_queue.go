package work

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// expiries is a table together with its expiry queue, as a walk sees them.
type expiries interface {
	entries(ctx context.Context, after tables.Key, rows int) ([]plan.Entry, error)
	present(ctx context.Context, keys []tables.Key) ([]sight, error)
	dates(ctx context.Context, r plan.Range) ([]sight, error)
	entryOf(s sight) (plan.Entry, bool)
	record(ctx context.Context, gone, come []plan.Entry, c checkpoint) error
}

// sight is a row as it was seen.
type sight struct {
	key  tables.Key
	date string // empty if it never expires by it
	due  bool
}

// recorded is how many entries one statement writes.
const recorded = 500

// stepQueue deletes the rows of which the oldest entries tell.
//
//	entries before the cutoff ──► the rows that they name, as they are now
//	  due          ──► deleted, in one transaction with the entry
//	  refreshed    ──► the entry moves to the new date
//	  gone         ──► the entry goes
//	  stays, rests ──► the entry stays, for the next job
func (w *walk) stepQueue(ctx context.Context) (done bool, err error) {
	rows := max(min(w.rows(), w.pageRows), 1)
	page, err := w.table.entries(ctx, w.at, rows)
	if err != nil {
		return false, err
	}

	w.read(len(page))
	w.examined(len(page))
	if len(page) == 0 {
		return true, nil
	}

	end := page[len(page)-1].Position()
	if end.Equal(w.at) {
		return false, errStuck
	}

	due, stay, err := w.sift(ctx, page)
	if err != nil {
		return false, err
	}
	l, err := w.queued(ctx, due, stay, end)
	if err != nil {
		return false, err
	}
	if err := w.deleteQueued(ctx, l); err != nil {
		return false, err
	}
	if !w.cut {
		w.size.Took(len(page), w.worked())
	}

	return len(page) < rows, nil
}

// sift returns those of the entries whose rows are due, counts those whose rows stay although they have
// expired, and corrects the others.
func (w *walk) sift(ctx context.Context, page []plan.Entry) (due []plan.Entry, stays int64, err error) {
	known, gone := map[string]plan.Entry{}, []plan.Entry(nil)
	keys := make([]tables.Key, 0, len(page))
	for _, e := range page {
		text := e.Key.Encode()
		if _, twice := known[text]; twice {
			gone = append(gone, e)
			continue
		}
		known[text] = e
		keys = append(keys, e.Key)
	}

	rows, err := w.table.present(ctx, keys)
	if err != nil {
		return nil, 0, err
	}

	come, stay := []plan.Entry(nil), map[string]bool{}
	for _, row := range rows {
		text := row.key.Encode()
		e, found := known[text]
		now, expires := w.table.entryOf(row)

		switch {
		case found && row.due:
			due = append(due, e)
			stay[text] = true
		case found && expires && now.Date == e.Date:
			stay[text] = true // something needs the row
			stays++
		case expires:
			come = append(come, now)
		}
	}

	for text, e := range known {
		if !stay[text] {
			gone = append(gone, e)
		}
	}
	if len(gone)+len(come) > 0 {
		err = w.table.record(ctx, gone, come, checkpoint{cursor: w.at})
	}

	slices.SortFunc(due, func(a, b plan.Entry) int { return slices.Compare(a.Position(), b.Position()) })
	return due, stays, err
}

// queued picks what is to be deleted out of the rows of entries. So many others have expired and stay.
func (w *walk) queued(ctx context.Context, due []plan.Entry, stay int64, end tables.Key) (lot, error) {
	l := lot{left: []left{{stuck: undeletable{rows: stay}}}, end: end, entries: due}
	for _, e := range due {
		l.keys, l.cursors, l.left = append(l.keys, e.Key), append(l.cursors, e.Position()), append(l.left, left{})
	}
	return w.leaveResting(ctx, l)
}

// deleteQueued deletes a lot whose keys come from the queue.
func (w *walk) deleteQueued(ctx context.Context, l lot) error {
	if len(l.keys) == 0 {
		return w.pass(ctx, l, true)
	}
	rest, err := w.deleteListed(ctx, l)
	if w.mayGoRound(err) {
		err = w.carefully(ctx, rest)
	}
	return err
}

// stepCensus is stepRange for a table with an expiry queue: when the rows expire that the block still
// has afterwards is written down. Until that is done the task's cursor stays in front of them: whoever
// takes the task over repeats the block.
func (w *walk) stepCensus(ctx context.Context) (done bool, err error) {
	block := plan.Range{From: w.at}
	w.held = &block.From
	done, err = w.stepRange(ctx)
	w.held = nil
	if err != nil {
		return false, err
	}

	block.To = w.at
	return done, w.writeDown(ctx, block)
}

// writeDown writes the entries of the rows of a block, and moves the cursor behind them.
func (w *walk) writeDown(ctx context.Context, block plan.Range) error {
	rows, err := w.table.dates(ctx, block)
	if err != nil {
		return err
	}

	for len(rows) > recorded {
		if err := w.writeSome(ctx, rows[:recorded], checkpoint{cursor: rows[recorded-1].key}); err != nil {
			return err
		}
		rows = rows[recorded:]
	}
	c := w.checkpoint(block.To)
	if err := w.writeSome(ctx, rows, c); err != nil {
		return err
	}

	w.arrived(c, 0)
	return nil
}

func (w *walk) writeSome(ctx context.Context, rows []sight, c checkpoint) error {
	var come []plan.Entry
	for _, row := range rows {
		if e, expires := w.table.entryOf(row); expires {
			come = append(come, e)
		}
	}
	return w.table.record(ctx, nil, come, c)
}

// expiryQueue is the queue of the table that a task deletes from, and the task's part of it.
type expiryQueue struct {
	plan.ExpiryQueue
	shard int // whose entries the task reads
}

// ShardRange is the range of a task that goes by the entries of a shard.
func ShardRange(shard tables.Value) tables.Key { return tables.Key{shardWord, shard} }

const shardWord = "shard"

// queueOf is the expiry queue of an assignment, to a table with this TTL column; nil if its plan does
// without.
func (w *worker) queueOf(ctx context.Context, a assignment, column tables.Column) (*expiryQueue, error) {
	way := plan.Way(a.job.Plan)
	if way != plan.Census && way != plan.DrainQueue {
		return nil, nil //nolint:nilnil // most plans have none
	}

	known, err := w.Store.ExpiryQueue(ctx, a.job.PolicyID, a.job.Partition)
	if err != nil {
		return nil, err
	}

	q := &expiryQueue{ExpiryQueue: plan.ExpiryQueue{
		Table: w.Store.Name("expiry_entry"), ID: known.ID, Shards: a.policy.Terms.Options.Shards(),
	}}
	census := known.Census
	if way == plan.Census {
		census = a.job.CreatedAt
	}
	if q.Until, err = plan.CensusUntil(a.policy.Terms, column, census); err != nil {
		return nil, err
	}
	if way == plan.DrainQueue {
		q.shard, err = shardOf(a.task.RangeEnd)
	}
	return q, err
}

func shardOf(text string) (int, error) {
	key, err := tables.DecodeKey(text)
	if err == nil && (len(key) != 2 || key[0] != shardWord) {
		err = fmt.Errorf("%q is no shard of an expiry queue", text)
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(key[1]))
}

func (t *serverTable) entryOf(s sight) (plan.Entry, bool) {
	return t.queue.Entry(s.key, s.date)
}

// entries reads the next entries of the task's shard that are due.
func (t *serverTable) entries(ctx context.Context, after tables.Key, rows int) ([]plan.Entry, error) {
	query, err := t.queue.Page(t.queue.shard, t.statements.Expired.Cutoff, after, rows)
	if err != nil {
		return nil, err
	}
	found, err := t.read(ctx, query, plan.EntryColumns)
	if err != nil {
		return nil, err
	}

	page := make([]plan.Entry, len(found))
	for i, row := range found {
		page[i] = plan.EntryOf(t.queue.shard, row)
	}
	return page, nil
}

// present reads the rows with these keys. What no row can have for a key, because the table has another
// one now or somebody has changed the entry, is left out.
func (t *serverTable) present(ctx context.Context, keys []tables.Key) (seen []sight, err error) {
	key := t.statements.Key
	keys = slices.DeleteFunc(keys, func(k tables.Key) bool {
		_, err := key.In([]tables.Key{k})
		return err != nil
	})
	for some := range key.Lists(keys, listed) {
		query, err := t.statements.Present(some)
		if err != nil {
			return nil, err
		}
		more, err := t.see(ctx, query, 2)
		if err != nil {
			return nil, err
		}
		seen = append(seen, more...)
	}
	return seen, nil
}

func (t *serverTable) dates(ctx context.Context, r plan.Range) ([]sight, error) {
	query, err := t.statements.Dates(r, t.queue.Until)
	if err != nil {
		return nil, err
	}
	return t.see(ctx, query, 1)
}

// see reads rows as a key and up to two columns more: the date, and whether the row is due.
func (t *serverTable) see(ctx context.Context, query string, more int) ([]sight, error) {
	width := len(t.statements.Key)
	found, err := t.read(ctx, query, width+more)
	seen := make([]sight, len(found))
	for i, row := range found {
		seen[i] = sight{key: row[:width:width], date: string(row[width]), due: more > 1 && row[width+1] == "1"}
	}
	return seen, err
}

// record changes entries and leaves a checkpoint, in one transaction that only the owner of the task
// can commit. It deletes no row.
func (t *serverTable) record(ctx context.Context, gone, come []plan.Entry, c checkpoint) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	if t.halted != nil && t.halted() != "" {
		return errHalted
	}

	found, err := t.session.packet(ctx, "BEGIN", t.barrier.move(t.batch, c))
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if found[1] == 0 {
		t.session.rollback(ctx)
		return errRefused
	}

	var statements []string
	for some := range slices.Chunk(gone, recorded) {
		statements = append(statements, t.queue.Remove(some, ""))
	}
	for some := range slices.Chunk(come, recorded) {
		statements = append(statements, t.queue.Add(some))
	}
	if _, err := t.session.packets(ctx, append(statements, "COMMIT")...); err != nil {
		return fmt.Errorf("write the expiry queue: %w", err)
	}

	return nil
}

// unqueueing is the packet that also removes the entries of its rows: if none of the rows is left. A
// row that was refreshed meanwhile keeps its entry, which the next job moves.
func (t *serverTable) unqueueing(p packet, keys []tables.Key, c checkpoint) (packet, error) {
	if len(c.entries) == 0 {
		return p, nil
	}
	left, err := t.statements.Left(keys)
	if err != nil {
		return p, err
	}
	return p.before("SET @ttlproxy_left = ("+left+")", t.queue.Remove(c.entries, "@ttlproxy_left = 0")), nil
}
