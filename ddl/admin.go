package ddl

import "strconv"

// The statements that we answer ourselves. Their grammar is in grammar.go.
type (
	// ShowTTL is SHOW TTL list.
	ShowTTL struct {
		List   List
		Schema string // FROM schema; empty for all
		Table  *Name  // FOR table
		Filter Filter
		Limit  *uint64 // LIMIT n; nil for the list's own
	}
	// ExplainTTL is EXPLAIN TTL of a table as it is, or as an ALTER TABLE would make it.
	ExplainTTL struct {
		Table Name
		Alter *AlterTable // nil without ALTER
		JSON  bool        // FORMAT = JSON
		Word  string      // TTL as it is spelled, which may be a table's name
	}
	// RunJob is RUN TTL JOB.
	RunJob struct {
		Table Name
		Wait  bool
	}
	// CancelJob is CANCEL TTL JOB.
	CancelJob struct{ Table Name }
	// PauseTTL is PAUSE TTL.
	PauseTTL struct {
		Table *Name   // nil for everything
		Until *string // as written; nil for until RESUME
	}
	// ResumeTTL is RESUME TTL.
	ResumeTTL struct{ Table *Name }
	// ApproveJob is APPROVE TTL JOB.
	ApproveJob struct {
		Table   Name
		Version uint64  // of the policy that was looked at; 0 for the present one
		UpTo    *uint64 // rows; nil for what was seen
		Seen    *uint64 // rows that were due when somebody looked; nil for as many as are due now
		Reason  string
	}
	// RestorePartition is RESTORE TTL PARTITION.
	RestorePartition struct {
		Partition string
		Table     Name
	}
	// TrustServer is TRUST TTL SERVER.
	TrustServer struct {
		Server string // as it was shown; empty to be shown it
	}
)

// List names what SHOW TTL shows.
type List string

// The lists.
const (
	ListTables    List = "TABLES"
	ListJobs      List = "JOBS"
	ListTasks     List = "TASKS"
	ListHistory   List = "HISTORY"
	ListErrors    List = "ERRORS"
	ListNodes     List = "NODES"
	ListStatus    List = "STATUS"
	ListVariables List = "VARIABLES"
	ListEvents    List = "EVENTS"
	ListSessions  List = "SESSIONS"
	ListThrottle  List = "THROTTLE"

	ListPartitions List = "PARTITIONS" // of one table
)

// Lists are those that need no table to be named, in the order of the grammar.
func Lists() []List {
	return []List{
		ListTables, ListJobs, ListTasks, ListHistory, ListErrors, ListEvents, ListNodes, ListStatus, ListVariables,
		ListSessions, ListThrottle,
	}
}

// OfTables reports whether the lines of a list are about tables, so that it can be narrowed to one of them.
func (l List) OfTables() bool {
	switch l {
	case ListNodes, ListStatus, ListVariables, ListSessions, ListThrottle:
		return false
	case ListTables, ListJobs, ListTasks, ListHistory, ListErrors, ListEvents, ListPartitions:
	}
	return true
}

// Filter is the LIKE or WHERE of a SHOW statement, as written: it is for the server to judge.
type Filter struct {
	Like  string // the literal with its quotes
	Where string // the condition
}

func (*ShowTTL) action()          {}
func (*ExplainTTL) action()       {}
func (*RunJob) action()           {}
func (*CancelJob) action()        {}
func (*PauseTTL) action()         {}
func (*ResumeTTL) action()        {}
func (*ApproveJob) action()       {}
func (*RestorePartition) action() {}
func (*TrustServer) action()      {}

// admin reads the statements that begin with a word with which no statement of a server begins.
func (r *reader) admin() {
	switch {
	case r.take("RUN", "TTL"):
		r.job(usageRun, func(t Name) Action { return &RunJob{Table: t, Wait: r.take("WAIT")} })
	case r.take("CANCEL", "TTL"):
		r.job(usageCancel, func(t Name) Action { return &CancelJob{Table: t} })
	case r.take("APPROVE", "TTL"):
		r.approve()
	case r.take("PAUSE", "TTL"):
		r.pause()
	case r.take("RESUME", "TTL"):
		a := &ResumeTTL{}
		r.close(a, r.forTable(&a.Table), usageResume)
	case r.take("RESTORE", "TTL"):
		r.restore()
	case r.take("TRUST", "TTL"):
		r.trust()
	}
}

// job reads JOB FOR table and what may follow.
func (r *reader) job(usage string, action func(Name) Action) {
	var a Action
	ok := r.take("JOB", "FOR")
	if ok {
		var table Name
		if table, ok = r.name(); ok {
			a = action(table)
		}
	}
	r.close(a, ok, usage)
}

// approve reads APPROVE TTL JOB FOR table and its options, each of them once, in any order.
func (r *reader) approve() {
	a := &ApproveJob{}
	ok := r.take("JOB", "FOR")
	if ok {
		a.Table, ok = r.name()
	}

	reason := false
	for ok && !r.done() {
		bound := a.UpTo != nil || a.Seen != nil
		switch {
		case a.Version == 0 && r.take("VERSION"):
			a.Version, ok = r.count()
		case !bound && r.take("UP", "TO"):
			a.UpTo, ok = r.rows()
		case !bound && r.take("SEEN"):
			a.Seen, ok = r.rows()
		case !reason && r.take("REASON"):
			a.Reason, ok = r.stringValue()
			reason = true
		default:
			ok = false
		}
	}

	r.close(a, ok, usageApprove)
}

// rows reads a number of rows.
func (r *reader) rows() (*uint64, bool) {
	n, ok := r.count()
	return &n, ok && (r.take("ROWS") || r.take("ROW"))
}

// count reads a number above zero.
func (r *reader) count() (uint64, bool) {
	if r.current().kind != number {
		return 0, false
	}
	n, err := strconv.ParseUint(r.spelling(r.current()), 10, 64)
	if err != nil || n == 0 {
		return 0, false
	}
	r.at++
	return n, true
}

func (r *reader) pause() {
	a := &PauseTTL{}
	ok := r.forTable(&a.Table)
	if ok && r.take("UNTIL") {
		a.Until = new(string)
		*a.Until, ok = r.stringValue()
	}
	r.close(a, ok, usagePause)
}

func (r *reader) restore() {
	a := &RestorePartition{}
	ok := r.take("PARTITION")
	if ok {
		a.Partition, ok = r.ident()
	}
	ok = ok && r.take("FOR")
	if ok {
		a.Table, ok = r.name()
	}
	r.close(a, ok, usageRestore)
}

func (r *reader) trust() {
	a := &TrustServer{}
	ok := r.take("SERVER")
	if ok && !r.done() {
		a.Server, ok = r.stringValue()
	}
	r.close(a, ok, usageTrust)
}

// forTable reads FOR table, if it is there.
func (r *reader) forTable(table **Name) bool {
	if !r.take("FOR") {
		return true
	}
	name, ok := r.name()
	*table = &name
	return ok
}

// close ends a statement of ours: anything that is left, or was missing, is an error that shows the
// grammar.
func (r *reader) close(a Action, ok bool, usage string) {
	if !ok || !r.done() {
		r.reject(r.usageError(usage))
		return
	}
	r.st.Action = a
}
