package catalog

import "time"

// TaskState is where a task stands.
type TaskState string

// The states of a task.
const (
	TaskWaiting  TaskState = "waiting"
	TaskRunning  TaskState = "running"
	TaskFinished TaskState = "finished"
)

// Task is a key range of a job, worked on by one connection at a time.
type Task struct {
	ID         uint64
	JobID      uint64
	PolicyID   uint64
	Seq        int
	State      TaskState
	StateAt    time.Time
	Owner      uint64 // node; 0 for none
	Fence      uint64 // every write of its owner names it
	Batch      uint64 // last committed
	Connection uint64 // that runs its batches
	Server     string // of that connection
	RangeStart string // key as JSON; empty is open
	RangeEnd   string
	Cursor     string // how far it has come
	Counts     Counts
	Allowed    *uint64 // most that it may have deleted so far; nil for any number
	Error      string
}

// TaskRange is the part of the key space a new task gets.
type TaskRange struct {
	Start string
	End   string
}
