package tables

import "time"

// Identity is one incarnation of a table or partition on one server. InnoDB's id changes with
// everything that rebuilds the table, and is never given twice; CREATE_TIME changes with every
// ALTER, and can be forged. RENAME keeps both.
type Identity struct {
	Partition string `json:"partition,omitempty"` // empty for the table as a whole
	// InnoDB's, on MySQL of the tablespace, of subpartitions taken together; 0 if it cannot be read
	TableID    uint64    `json:"table_id,omitempty"`
	CreateTime time.Time `json:"create_time"`
	Held       string    `json:"held,omitempty"` // why this partition is held; empty when it is not
}

// FirstSight holds a table on a member of a cluster that has not seen it under its policy before.
// The shape does not tell it from one that has taken its name since the policy was declared on
// another member; a node there does (Vouch).
const FirstSight = "first sight"

// Why is the sentence for what holds a table or partition.
func (i Identity) Why() string {
	if i.Held == FirstSight {
		return "this server sees the table for the first time: a node on another member is asked whether it is the " +
			"one the policy was declared on"
	}
	return i.Held
}
