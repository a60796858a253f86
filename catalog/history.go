package catalog

import "time"

// EndedJob is a job of the history.
type EndedJob struct {
	Job
	FinishedAt time.Time
}

// RowError is a row that could not be deleted.
type RowError struct {
	PolicyID  uint64
	Table     Table
	Partition string
	Key       string // as JSON
	Number    int    // MySQL error number
	Reason    string
	Attempts  uint64
	FirstAt   time.Time
	LastAt    time.Time
	NextTryAt time.Time
}
