package catalog

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Client says who asks for a change, and on which connection: a stage is settled only when that is
// gone.
type Client struct {
	Account    string    // user@host as the server knows it
	Server     string    // Key of the server it is on
	Boot       time.Time // when that server started
	Connection uint64    // on that server
	Node       uint64    // proxy in between
}

// IntentKind is what a DDL does to a table.
type IntentKind string

// The kinds of DDL a policy follows.
const (
	IntentCreate  IntentKind = "create"  // CREATE TABLE with a rule, or LIKE a table with one
	IntentReplace IntentKind = "replace" // CREATE OR REPLACE TABLE; without a rule the policy goes
	// ALTER that is not pure TTL, OPTIMIZE, REPAIR, EXCHANGE PARTITION, CREATE and DROP INDEX
	IntentAlter IntentKind = "alter"
	// RENAME TABLE, one intent per pair in the order written; ALTER … RENAME is an alter with To
	IntentRename   IntentKind = "rename"
	IntentDrop     IntentKind = "drop"     // DROP TABLE, DROP DATABASE
	IntentTruncate IntentKind = "truncate" // TRUNCATE TABLE
)

// Intent is one table of a DDL and what will become of its policy.
type Intent struct {
	Kind  IntentKind `json:"kind"`
	Table Table      `json:"table"`
	To    *Table     `json:"to,omitempty"`   // new name, when it gets one
	Rule  *Rule      `json:"rule,omitempty"` // new rule; nil keeps the one there is
	// Base is what Rule was made of; nil if it says everything itself.
	Base *Base `json:"-"`
	// Remove removes the policy (REMOVE TTL beside other specs).
	Remove bool `json:"remove,omitempty"`
	// Declares says that the TTL column of Rule was declared (TTL = … was said), and is not merely
	// the old one under another name.
	Declares bool `json:"declares,omitempty"`
	// Arm wakes a policy that is disarmed or dormant: TTL = … or TTL_ENABLE='ON' was said.
	Arm bool `json:"arm,omitempty"`
	// FromDump waits for approval whatever the brake says: the clause came from a dump.
	FromDump bool `json:"hold,omitempty"`
	// Imports names what in the DDL brings in rows that were not there. An earlier approval never
	// covers them, nor does the cutoff of a running job.
	Imports string `json:"imports,omitempty"`
	// Restores is the partition that Imports brings back; nil for none.
	Restores *Comeback `json:"restores,omitempty"`
	// Clears says that the DDL takes all rows out of partitions: whatever is put in their place, nobody has seen.
	Clears bool `json:"clears,omitempty"`
	// Redates says that the DDL may give the rows other dates under the name of the TTL column.
	Redates bool `json:"redates,omitempty"`
	// Dormant makes the policy dormant: the table gets the name of an online schema change's copy.
	Dormant bool `json:"dormant,omitempty"`
	// Copy is where the rule of a new table was copied from; nil for one that somebody wrote.
	Copy *Copy `json:"copy,omitempty"`
}

// target is the name of the table after the DDL.
func (i Intent) target() Table {
	if i.To != nil {
		return *i.To
	}
	return i.Table
}

// DiscardTablespace is what Imports says of the statement that makes room for rows.
const DiscardTablespace = "DISCARD TABLESPACE"

// brought says why the rows of a table are not those that were approved.
func (g *StageInfo) brought() string {
	if g.Imports == DiscardTablespace {
		return "rows were taken out by DISCARD TABLESPACE, and others may have come in their place"
	}
	return "rows were brought in by " + g.Imports
}

// brings says the same while the statement is being carried out.
func (g *StageInfo) brings() string {
	if g.Imports == DiscardTablespace {
		return "rows are being taken out by DISCARD TABLESPACE"
	}
	return "rows are being brought in by " + g.Imports
}

// StageInfo is what the catalog remembers about a DDL in flight.
type StageInfo struct {
	Client Client
	At     time.Time
	stageIntent

	found   trace   // how the table descends from the staged one, once that has been examined
	arrival arrival // what became of Restores, once that has been examined
}

// stageIntent is the part of a stage that is kept as JSON.
type stageIntent struct {
	Intent
	// Mark tells the stage from another one of the same policy.
	Mark    string `json:"mark,omitempty"`
	Account string `json:"account"`
	// Before is the state to go back to; empty for a new policy. Its reason and approval come back
	// with it.
	Before       PolicyState `json:"before,omitempty"`
	BeforeReason string      `json:"before_reason,omitempty"`
	Approved     bool        `json:"approved,omitempty"`
	// Stranger says why a dormant policy's table was already another one before the DDL; empty if
	// it was not.
	Stranger string `json:"stranger,omitempty"`
	// Altered says that the table was altered around the proxy before the DDL: its columns may hold
	// other dates.
	Altered bool `json:"altered,omitempty"`
	// Ask says why the table may already have held other rows before the DDL: the policy waits for
	// approval; empty if it did not.
	Ask string `json:"ask,omitempty"`
	// Identity and Shape are what the table was before the DDL; empty when it did not exist.
	Identity tables.Incarnation `json:"identity,omitempty"`
	Shape    *tables.Shape      `json:"shape,omitempty"`
	// Origin tells the table, or what the DDL makes of it, apart from others that may take its
	// name.
	Origin *origin `json:"origin,omitempty"`
}

// stageColumns are NULL together while no DDL is in flight.
type stageColumns struct {
	server     sql.Null[string]
	boot, at   sql.Null[time.Time]
	connection sql.Null[uint64]
	node       sql.Null[uint64]
	intent     sql.Null[string]
}

// columns returns what to store for a stage of this client.
func (i stageIntent) columns(who Client) (c stageColumns, err error) {
	text, err := json.Marshal(i)
	c.intent = sql.Null[string]{V: string(text), Valid: true}
	c.server = sql.Null[string]{V: who.Server, Valid: true}
	c.boot = sql.Null[time.Time]{V: who.Boot, Valid: true}
	c.connection = sql.Null[uint64]{V: who.Connection, Valid: true}
	c.node = sql.Null[uint64]{V: who.Node, Valid: true}
	return c, err
}

// info returns what was stored; nil for no stage.
func (c stageColumns) info() (*StageInfo, error) {
	if !c.server.Valid {
		return nil, nil //nolint:nilnil // no stage is no error
	}
	info := &StageInfo{
		Client: Client{Server: c.server.V, Boot: c.boot.V, Connection: c.connection.V, Node: c.node.V},
		At:     c.at.V,
	}
	if err := json.Unmarshal([]byte(c.intent.V), &info.stageIntent); err != nil {
		return nil, fmt.Errorf("stage: %w", err)
	}
	info.Client.Account = info.Account
	return info, nil
}
