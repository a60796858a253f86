package catalog

import "time"

// Event is something a person would want to read tomorrow.
type Event struct {
	ID       uint64
	At       time.Time
	Kind     string
	PolicyID uint64
	Version  uint64
	Table    Table
	Actor    string // account, or the node that acted by itself
	Text     string
}
