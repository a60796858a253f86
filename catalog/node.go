package catalog

import "time"

// Node is one running proxy process.
type Node struct {
	ID          uint64
	Name        string
	Address     string // where it listens
	Version     string
	Engine      bool // runs jobs
	Workers     int
	Server      string // its catalog connection is on
	Status      string // what holds it back
	StartedAt   time.Time
	HeartbeatAt time.Time
	LeftAt      time.Time // zero while it is there
	Live        bool      // has not left and beat lately
}

// Lease is the right to do something alone for a while. Its fence grows with every new holder.
type Lease struct {
	Name    string
	Node    uint64
	Fence   uint64
	Expires time.Time
}
