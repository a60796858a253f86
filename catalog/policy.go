package catalog

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// PolicyState is where a policy stands between being declared and deleting rows.
type PolicyState string

// The states of a policy. Only an armed and enabled policy deletes.
const (
	PolicyArmed    PolicyState = "armed"    // in force
	PolicyStaged   PolicyState = "staged"   // new, its DDL is in flight
	PolicyStopped  PolicyState = "stopped"  // known, a DDL on its table is in flight
	PolicyDormant  PolicyState = "dormant"  // a copy that waits to take over a table's name
	PolicyDisarmed PolicyState = "disarmed" // held until a person re-arms it; the reason says why
)

// Policy is a rule and the table it belongs to.
type Policy struct {
	ID      uint64
	Version uint64 // grows with every change
	Table   Table
	Rule    Rule
	Terms   Terms  // of the rule
	Unread  string // why there are none, and nothing is deleted; empty when there are
	State   PolicyState
	Reason  string // of the state, in words
	StateAt time.Time
	Owner   string       // account that declared it
	Shape   tables.Shape // of the table when the policy was armed

	Paused   Pause
	Approval Approval
	Stage    *StageInfo // of a DDL in flight

	CreatedAt time.Time
	ChangedAt time.Time
}

// sameAs reports whether two readings of a name show one policy in one version, or none both times.
func (p Policy) sameAs(o Policy) bool { return p.ID == o.ID && p.Version == o.Version }

// Armed reports whether rows may be deleted.
func (p Policy) Armed() bool { return p.State == PolicyArmed && p.Rule.Enabled && p.Unread == "" }

// Approval says whether a policy may delete although the brake would hold it.
type Approval struct {
	Required bool   // whatever the brake says, as after a restore
	Reason   string // why it is required
	Version  uint64 // last version approved or passed by the brake; 0 for none
	By       string
	At       time.Time // of a person's word; zero when only the brake has passed it
	Rows     *uint64   // that were approved; nil for what the next run finds
	Exactly  bool      // a person named the number
}

// fromDump is why a policy waits whose clause came from a dump.
const fromDump = "the table came from a dump"

// Approved reports whether the current version of the policy is approved.
func (p Policy) Approved() bool { return p.Approval.Version == p.Version }

// Pause tells whether a policy, or everything, is paused.
type Pause struct {
	Paused bool
	Reason string
	By     string
	Since  time.Time
	Until  time.Time // zero: until RESUME
}

// InForce reports whether policies are paused now: a pause ends by itself at Until.
func (p Pause) InForce(now time.Time) bool {
	return p.Paused && (p.Until.IsZero() || now.Before(p.Until))
}
