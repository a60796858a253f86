package tables

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"
)

// together makes one id of those of a partition's subpartitions; it changes if one of them does. It
// corresponds to idsTogether in SQL.
func together(ids []uint64) (id uint64) {
	if len(ids) == 1 {
		return ids[0]
	}
	for _, one := range ids {
		digest := sha256.Sum256(strconv.AppendUint(nil, one, 10))
		id ^= binary.BigEndian.Uint64(digest[:])
	}
	return id
}

// Seen is what a look at a table on this server shows. It takes no lock on the table.
type Seen struct {
	Server      string // key of the server that was looked at
	Exists      bool
	Shape       Shape
	Incarnation Incarnation
	// TableRows is the optimizer's guess.
	TableRows uint64

	IDs     [][]uint64 // InnoDB's, of each place of Incarnation
	IDsRead bool       // they can be read here, so that a place without has none
	Engine  string     // empty where the server does not tell
}

// Add adds the table, or a partition of it.
func (s *Seen) Add(partition string, created time.Time, ids []uint64) {
	s.Incarnation = append(s.Incarnation, Identity{Partition: partition, TableID: together(ids), CreateTime: created})
	s.IDs = append(s.IDs, ids)
}
