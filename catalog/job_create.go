package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// NewRun is what starts together: the job of a table, or those of all its partitions, under one
// version of a policy.
type NewRun struct {
	Jobs []NewJob
	// After is the last job of the policy that the caller knows of, 0 for none: if there is a later
	// one, another node has been faster. nil for whatever came before.
	After *uint64
	// Looked is when somebody found nothing due, without a run, after the last one that there was;
	// zero for never. It counts as one.
	Looked time.Time
	// PassedBy signs that the brake has looked at this version of the policy for the first time and
	// lets it go; empty when it has not.
	PassedBy string
	// Asks is the event of a run that is to wait for approval. It is recorded with the run, unless
	// somebody has given the approval meanwhile; nil for none.
	Asks *Event
}

// waits reports whether jobs of a run wait for approval.
func waits(jobs []NewJob) bool {
	return slices.ContainsFunc(jobs, func(n NewJob) bool { return n.State == JobNeedsApproval })
}

// NewJob is a job to be created, with its tasks.
type NewJob struct {
	Policy        Policy
	Partition     string
	State         JobState // running when empty
	Reason        string
	WaitsFor      WaitsFor
	Owner         uint64
	RunAt         time.Time // the same for all partitions; zero for now
	Cutoff        time.Time
	DueAt         time.Time // what has expired by then is due; zero when that is not known
	CutoffLiteral string
	FloorLiteral  string
	Trigger       Trigger
	TriggeredBy   string
	Facts         JobFacts
	Tasks         []TaskRange
	Bound         *uint64 // rows that the run may delete, of all partitions together; nil for any number
	Settings      uint64  // the revision of the settings that it was planned by; 0 for any
}

// CreateJob starts a run of one job.
func (s *Store) CreateJob(ctx context.Context, n NewJob) (Job, error) {
	jobs, err := s.CreateRun(ctx, NewRun{Jobs: []NewJob{n}})
	if err != nil {
		return Job{}, err
	}
	return jobs[0], nil
}

// CreateRun starts all jobs of a run or none: none when one is open (ErrJobOpen), another node has
// been faster (ErrStarted), or the policy is not in force in the version the caller saw
// (ErrStopped).
func (s *Store) CreateRun(ctx context.Context, r NewRun) (created []Job, err error) {
	r.Jobs = slices.Clone(r.Jobs)
	for i := range r.Jobs {
		n := &r.Jobs[i]
		if n.State == "" {
			n.State = JobRunning
		}
		if n.Trigger == "" {
			n.Trigger = TriggerSchedule
		}
	}

	policy := r.Jobs[0].Policy
	err = s.tx(ctx, "create job for "+policy.Table.String(), func(tx *sql.Tx) (err error) {
		jobs := slices.Clone(r.Jobs) // what was found out in vain is forgotten
		if err = s.touch(ctx, tx, jobs); err != nil {
			return err
		}
		if err = s.approvedSince(ctx, tx, jobs); err != nil {
			return err
		}
		if r.Asks != nil && waits(jobs) {
			if err = s.record(ctx, tx, *r.Asks); err != nil {
				return err
			}
		}

		if r.PassedBy != "" {
			if err = s.pass(ctx, tx, r.PassedBy, policy); err != nil {
				return err
			}
		}

		if !r.Looked.IsZero() {
			if _, err = s.exec(ctx, tx, insertLook, policy.ID, r.Looked, r.Looked, policy.ID); err != nil {
				return err
			}
		}

		if created, err = s.insertJobs(ctx, tx, jobs); err != nil {
			return err
		}
		if err = s.insertTasks(ctx, tx, jobs, created); err != nil {
			return err
		}

		if err = s.inForce(ctx, tx, policy.ID, policy.Version); err != nil {
			return err
		}
		if err = s.mayStart(ctx, tx, jobs[0], r.After); err != nil {
			return err
		}

		_, err = s.exec(ctx, tx, startSchedules, nullTime(jobs[0].DueAt), policy.ID)
		return err
	})

	return created, err
}

// touch writes the schedule rows of a run: that of the policy, which everybody writes, and those of
// partitions that never had a job.
func (s *Store) touch(ctx context.Context, tx *sql.Tx, jobs []NewJob) error {
	policy := jobs[0].Policy.ID
	n, err := s.exec(ctx, tx, bumpSchedule, policy)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrStopped // the policy is gone
	}

	partitions := slices.DeleteFunc(slices.Clone(jobs), func(n NewJob) bool { return n.Partition == "" })
	return insertRows(ctx, s, tx, touchSchedule, scheduleValues, partitions,
		func(n NewJob) []any { return []any{policy, n.Partition} })
}

// approvedSince lets jobs run whose policy has been approved since it was read, and gives any run the
// number that was named meanwhile, as Consent does to one that is open. The caller has written the
// schedule of the policy, which Consent does first: one of the two sees the other.
func (s *Store) approvedSince(ctx context.Context, tx *sql.Tx, jobs []NewJob) error {
	var approved, exactly bool
	var rows sql.Null[uint64]
	p := jobs[0].Policy

	err := tx.QueryRowContext(ctx, s.sql(selectApprovedSince), p.Version, nullTime(p.Approval.At), p.ID).
		Scan(&approved, &rows, &exactly)
	if isNoRows(err) || err == nil && !approved {
		return nil // inForce tells whether the policy is gone
	}
	if err != nil {
		return err
	}

	if due := estimated(jobs); waits(jobs) && !rows.Valid && due != nil {
		rows.V = Covered(*due)
	}

	for i := range jobs {
		n := &jobs[i]
		if n.State == JobNeedsApproval {
			n.State, n.Reason = JobRunning, ""
		}
		if exactly || n.Bound != nil && rows.V > *n.Bound {
			n.Bound = &rows.V
		}
	}

	return nil
}

// estimated is how many rows a run found due, of all partitions; nil when that is not known.
func estimated(jobs []NewJob) *uint64 {
	var sum uint64
	for i := range jobs {
		if jobs[i].Facts.EstimatedRows == nil {
			return nil
		}
		sum += *jobs[i].Facts.EstimatedRows
	}
	return &sum
}

// insertJobs creates the jobs and returns them in the same order.
func (s *Store) insertJobs(ctx context.Context, tx *sql.Tx, jobs []NewJob) ([]Job, error) {
	err := insertRows(ctx, s, tx, insertJob, jobValues, jobs, jobRow)
	switch {
	case isServerError(err, ddl.CodeDuplicateKey):
		return nil, ErrJobOpen
	case isServerError(err, ddl.CodeNoParent):
		return nil, ErrStopped // the policy is gone
	case err != nil:
		return nil, err
	}

	rows, err := tx.QueryContext(ctx, s.sql(selectNewJobs), jobs[0].Policy.ID)
	if err != nil {
		return nil, err
	}

	open, err := collect(rows, scanJob)
	if err != nil {
		return nil, err
	}

	created := make([]Job, len(jobs))
	for i := range jobs {
		at := slices.IndexFunc(open, func(j Job) bool { return j.Partition == jobs[i].Partition })
		if at < 0 {
			return nil, fmt.Errorf("the job of partition %q: %w", jobs[i].Partition, ErrNoJob)
		}
		created[i] = open[at]
		created[i].Tasks = len(jobs[i].Tasks)
	}

	return created, nil
}

func jobRow(n NewJob) []any {
	f := n.Facts
	return []any{
		n.Policy.ID, n.Policy.Version, n.Policy.Table.Schema, n.Policy.Table.Name, n.Partition, n.State, n.Reason,
		n.WaitsFor, nullID(n.Owner),
		nullTime(n.RunAt), n.Cutoff, n.CutoffLiteral, n.FloorLiteral, n.Trigger, n.TriggeredBy, f.Plan, f.PlanReason,
		f.EstimatedRows, f.TableRows, f.UsualRows, n.Bound, f.Inflow, nullTime(f.OldestExpiry), f.NullRows, f.OddRows,
		f.Note,
	}
}

// newTask is a task to be created.
type newTask struct {
	job     uint64
	seq     int
	within  TaskRange
	allowed *uint64
}

func (s *Store) insertTasks(ctx context.Context, tx *sql.Tx, jobs []NewJob, created []Job) error {
	all := 0
	for i := range jobs {
		all += len(jobs[i].Tasks)
	}

	var tasks []newTask
	for i := range jobs {
		for seq, within := range jobs[i].Tasks {
			tasks = append(tasks, newTask{created[i].ID, seq, within, jobs[i].share(all)})
		}
	}

	policy := jobs[0].Policy.ID
	err := insertRows(ctx, s, tx, insertTask, taskValues, tasks, func(t newTask) []any {
		return []any{t.job, policy, t.seq, t.within.Start, t.within.End, t.allowed}
	})
	if err != nil {
		return fmt.Errorf("create tasks: %w", err)
	}

	return nil
}

// share is what each task of a run may delete before it has to ask for more. A single task has it
// all; otherwise half is kept back for those that turn out to need more.
func (n NewJob) share(tasks int) *uint64 {
	if n.Bound == nil || tasks <= 1 {
		return n.Bound
	}
	part := *n.Bound / uint64(2*tasks)
	return &part
}

// inForce takes the shared locks of the barrier and reports ErrStopped when a batch could not run.
func (s *Store) inForce(ctx context.Context, tx *sql.Tx, policy, version uint64) error {
	var one int
	err := tx.QueryRowContext(ctx, selectPolicyGuard+s.Guard(policy, version)).Scan(&one)
	if isNoRows(err) {
		return ErrStopped
	}
	return err
}

// mayStart reports ErrStopped when ttl_job_enable is OFF, or when a setting was changed since the
// run was planned, and ErrStarted when there was a job after the one that the caller knows of, or somebody has asked
// for a run meanwhile: which tries more than one that was due anyway, and is to be the answer.
// Whoever changes a setting, and whoever starts a job, writes the schedules first, as the caller
// has.
func (s *Store) mayStart(ctx context.Context, tx *sql.Tx, n NewJob, after *uint64) error {
	var off, asked bool
	var settings, last uint64
	if err := tx.QueryRowContext(ctx, s.sql(selectMayStart), setting.JobEnable, n.Policy.ID).Scan(&off, &settings,
		&last, &asked); err != nil {
		return err
	}
	switch {
	case off, n.Settings > 0 && n.Settings != settings:
		return ErrStopped
	case after != nil && (last != *after || asked && n.Trigger == TriggerSchedule):
		return ErrStarted
	}
	return nil
}

// rowsAtOnce bounds what one statement inserts.
const rowsAtOnce = 200

// insertRows inserts many rows with few statements: query has a %s where the values of a row go, as
// often as there are rows.
func insertRows[T any](
	ctx context.Context, s *Store, tx *sql.Tx, query, values string, all []T, row func(T) []any,
) error {
	for some := range slices.Chunk(all, rowsAtOnce) {
		var args []any
		for _, one := range some {
			args = append(args, row(one)...)
		}
		list := strings.TrimSuffix(strings.Repeat(values+", ", len(some)), ", ")
		if _, err := s.exec(ctx, tx, fmt.Sprintf(query, list), args...); err != nil {
			return err
		}
	}
	return nil
}
