package pace

import "time"

// A worker stays with a task for one slice; then, if another job has work, it gives the task back
// and serves the job that has waited longest.
const (
	SliceTime = time.Second
	SliceRows = 50_000
)

// Slice is how long a worker has been at a task.
type Slice struct {
	began   time.Time
	deleted int64 // by the walk before it
}

// NewSlice begins, with so many rows deleted so far.
func NewSlice(deleted int64) Slice { return Slice{time.Now(), deleted} }

// Over reports whether it has lasted long enough, with so many rows deleted by now.
func (s Slice) Over(deleted int64) bool {
	return time.Since(s.began) > SliceTime || deleted-s.deleted > SliceRows
}
