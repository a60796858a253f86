package work

import (
	"fmt"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// departure is a partition on its way out of its table.
type departure struct {
	*barrier
	catalog.Departure

	statements *plan.Statements
	whole      plan.Whole
	believed   tables.Partition // what the server believes of it
	fromID     uint64           // InnoDB's id of it
	emptyID    uint64           // of the table that is exchanged for it; 0 for none
	rows       int64            // that go
	most       int64            // that have to be reckoned with, where they were not counted
	reserved   int64            // that the run keeps room for, until it has gone
	bytes      uint64           // of its file when it was counted, or before; 0 if that cannot be seen
	fileSize   string           // those bytes now, as SQL
	still      stillness        // since it was counted
	recounted  bool             // under the lock, as are the next two: how it is known that no more rows go
	filled     bool             // by its file
	watched    bool             // by the time at which it was written to
	batch      uint64
	departures string    // the catalog's table of them
	after      [2]string // the table's CREATE_TIME and the partition's id, as SQL
	lockWait   time.Duration
	clock      func() time.Time // the database's
	sideID     string           // InnoDB's id of the table that the partition becomes, as SQL
	contents   string           // of the guard: nothing was imported since they were counted; empty if an index tells
	emptySide  string           // of the guard: that table was made for this, and is empty; empty if the DDL makes it
}

func (w *worker) departureOf(
	a assignment, s *plan.Statements, whole plan.Whole, bound, identity string, now time.Time,
) *departure {
	task, job := a.task, a.job
	created, id := w.Store.AfterDeparture(job.Table, job.Partition)
	d := &departure{
		barrier: &barrier{
			table: w.Store.Name("task"), job: job.ID, task: task.ID, fence: task.Fence, policy: task.PolicyID,
			version: job.Version, guard: w.Store.Guard(task.PolicyID, job.Version), identity: identity,
			moment: w.moment(a.policy, s, now),
		},
		Departure: catalog.Departure{
			Policy: task.PolicyID, Partition: job.Partition, Bound: bound, How: whole.How, Job: job.ID, Task: task.ID,
			Fence: task.Fence, Server: w.session.server,
		},
		statements: s, whole: whole, batch: task.Batch,
		departures: w.Store.Name("departure"), after: [2]string{created, id}, lockWait: w.Limits().PartitionLockWait,
	}
	d.mariadb = w.Store.Server().MariaDB

	if whole.How == ddl.PartitionExchange {
		d.Grace = a.policy.Terms.Options.KeptFor()
		d.Side = catalog.Table{Schema: job.Table.Schema, Name: sideName(job.ID, job.Partition)}
		d.sideID = w.Store.InnoDBID(d.Side)
	}

	return d
}

// ready writes the departure, if the barrier has opened and the run may delete so many rows.
func (d *departure) ready(n uint64) string {
	return fmt.Sprintf("INSERT INTO %s (policy_id, partition_name, how, job_id, task_id, fence, server, due, state, "+
		"state_at, reason, side_schema, side_name, grace, bound, from_id, empty_id, about) "+
		"SELECT %d, %s, %s, %d, %d, %d, %s, %d, 'ready', UTC_TIMESTAMP(6), '', %s, %s, %d, %s, %d, %d, %t FROM "+
		"(SELECT COUNT(*) AS tasks FROM %s WHERE @ttlproxy_entered = 1 AND id = %d AND fence = %d AND batch = %d "+
		"AND COALESCE(allowed >= deleted + %d, TRUE)) x WHERE tasks = 1%s",
		d.departures, d.policy, tables.Literal(d.Partition), tables.Literal(d.How), d.job, d.task, d.fence,
		tables.Literal(d.Server), d.due(), tables.Literal(d.Side.Schema), tables.Literal(d.Side.Name),
		int64(d.Grace.Seconds()), tables.Literal(d.Bound), d.fromID, d.emptyID, d.About, d.table, d.task, d.fence,
		n+1, d.reserved, catalog.UnlessGone("bound", "how", "job_id", "task_id", "fence", "server", "due",
			"side_schema", "side_name", "grace", "state_at", "reason", "from_id", "empty_id", "about", "state"))
}

// due is what counts as deleted while nobody knows whether it has gone: where rows were not counted, as many as there
// may be.
func (d *departure) due() uint64 {
	if d.About {
		return uint64(max(d.reserved, 0))
	}
	return d.Due
}

// packet lets the partition go, and waits for the table for no longer than that, which MySQL knows no less
// than a second of.
func (d *departure) packet(wait time.Duration) []string {
	mine := fmt.Sprintf("policy_id = %d AND partition_name = %s AND task_id = %d AND fence = %d",
		d.policy, tables.Literal(d.Partition), d.task, d.fence)
	ends, still := d.statements.StillEnds()
	more, uncrowded := d.uncrowded()
	may := fmt.Sprintf("(SELECT COUNT(*) FROM %s WHERE %s AND state = 'ready' AND state_at > UTC_TIMESTAMP(6) - "+
		"INTERVAL %d SECOND) = 1 AND "+catalog.Writable+" AND %s AND %s%s%s%s%s", d.departures, mine,
		int(catalog.ReadyFor.Seconds()), d.identity, plan.NoTrigger(d.statements.Target, d.mariadb), d.moment,
		d.emptySide, d.contents, still+uncrowded)

	all := slices.Concat([]string{fmt.Sprintf("SET SESSION lock_wait_timeout = %d", atLeast(d.lockWait))}, ends, more)
	all = append(all, goIf(may))
	all = append(all, d.obey(d.whole.Leave(d.statements.Target, d.Side, d.mariadb))...)
	all = append(all, d.note(mine, "ready")...)
	if d.emptySide != "" { // the partition is empty now, and locked
		drop := "ALTER TABLE " + d.statements.Target.Name() + " DROP PARTITION " + ddl.Quote(d.Partition)
		all = append(all, d.obey(drop)...)
		all = append(all, d.note(mine, "taken")...)
	}
	return underLocks(wait, d.locked(), all...)
}

// locked are the tables that have to stay as they are.
func (d *departure) locked() []string {
	all := []string{d.statements.Target.Name(), d.departures}
	if d.emptySide != "" {
		all = append(all, d.Side.String())
	}
	return all
}

// obey carries out a statement, if the guard has held.
func (d *departure) obey(statement string) []string { return ifHeld(d.comment() + statement) }

// note writes what is there when a statement has been carried out.
func (d *departure) note(mine, state string) []string {
	side := "0"
	if d.Side.Name != "" {
		side = d.sideID
	}
	return []string{
		fmt.Sprintf("SET @ttlproxy_created = %s, @ttlproxy_id = %s, @ttlproxy_side = %s", d.after[0], d.after[1], side),
		fmt.Sprintf("UPDATE %s SET state = 'taken', state_at = UTC_TIMESTAMP(6), create_time = @ttlproxy_created, "+
			"table_id = @ttlproxy_id, side_id = @ttlproxy_side, due = %d WHERE %s AND state = '%s' AND @ttlproxy_go",
			d.departures, d.Due, mine, state),
	}
}
