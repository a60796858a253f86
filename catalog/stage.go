package catalog

import "time"

// Client is who asks for a change, and on which connection: a stage is settled only when that is gone.
type Client struct {
	Account    string    // user@host as the server knows it
	Server     string    // ServerKey of the server it is on
	Boot       time.Time // when that server started
	Connection uint64    // on that server
	Node       uint64    // proxy in between
}

// IntentKind is what a DDL does to a table.
type IntentKind string

// The kinds of DDL a policy follows.
const (
	IntentCreate   IntentKind = "create"   // CREATE TABLE with a rule, or LIKE a table with one
	IntentReplace  IntentKind = "replace"  // CREATE OR REPLACE TABLE; without a rule the policy goes
	IntentAlter    IntentKind = "alter"    // any ALTER that is not pure TTL, OPTIMIZE, REPAIR, EXCHANGE PARTITION
	IntentRename   IntentKind = "rename"   // RENAME TABLE and ALTER … RENAME
	IntentDrop     IntentKind = "drop"     // DROP TABLE, DROP DATABASE
	IntentTruncate IntentKind = "truncate" // TRUNCATE TABLE
)

// Intent is one table of a DDL and what is to become of its policy.
type Intent struct {
	Kind  IntentKind `json:"kind"`
	Table Table      `json:"table"`
	To    *Table     `json:"to,omitempty"`   // new name, when it gets one
	Rule  *Rule      `json:"rule,omitempty"` // new rule; nil keeps the one there is
	// Remove takes the policy away (REMOVE TTL beside other specs).
	Remove bool `json:"remove,omitempty"`
	// Hold starts the policy as needs approval (a dump that is loaded).
	Hold bool `json:"hold,omitempty"`
	// Dormant keeps a copy asleep until it takes a table's name.
	Dormant bool `json:"dormant,omitempty"`
}

// StageInfo is what the catalog remembers about a DDL in flight.
type StageInfo struct {
	Client Client
	At     time.Time
	stageIntent
}

// stageIntent is the part of a stage that is kept as JSON.
type stageIntent struct {
	Intent
	Account string `json:"account"`
	// Before is the state to go back to; empty for a new policy. Its reason and approval come back with it.
	Before       PolicyState `json:"before,omitempty"`
	BeforeReason string      `json:"before_reason,omitempty"`
	Approved     bool        `json:"approved,omitempty"`
	// Identity is what the table was, on the server of the client, before the DDL; nil when it did not exist.
	Identity []Identity `json:"identity,omitempty"`
}
