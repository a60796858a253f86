package catalog

import "time"

// Shape is what a table keeps on every server: its columns and its primary key, as text.
type Shape struct {
	Columns    string // one line per column
	PrimaryKey string // column names, comma separated; empty for none
}

// Identity is one incarnation of a table or partition on one server. CREATE_TIME changes with every
// ALTER, the InnoDB id with everything that rebuilds the table; RENAME keeps both.
type Identity struct {
	Partition  string // empty for the table as a whole
	TableID    uint64 // InnoDB's; 0 when this account may not see it
	CreateTime time.Time
	Held       string // why this partition is held; empty when it is not
}
