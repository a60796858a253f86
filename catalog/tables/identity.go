package tables

import (
	"slices"
	"time"
)

// Identity is what tells a table or a partition on one server from another. InnoDB's id changes with
// everything that rebuilds the table, and is never given twice; CREATE_TIME changes with every
// ALTER, and can be forged. RENAME keeps both.
type Identity struct {
	Partition string `json:"partition,omitempty"` // empty for the table as a whole
	// InnoDB's, on MySQL of the tablespace, of subpartitions taken together; 0 if it cannot be read
	TableID    uint64    `json:"table_id,omitempty"`
	CreateTime time.Time `json:"create_time"`
	Held       Hold      `json:"held,omitzero"`
}

// samePlace reports whether two identities are of one partition, with the same rows.
func (i Identity) samePlace(o Identity) bool {
	return i.Partition == o.Partition && i.TableID == o.TableID
}

// Incarnation is a table as it was at one time on one server: its own identity, and those of its
// partitions. They are one list, since ids, holds and rows are judged place by place; which of them
// is the table only this type knows. An empty one is of a table that is not there, or that nothing
// is remembered of.
type Incarnation []Identity // the table first

// Table is the identity of the table as a whole; the zero value in an empty one.
func (a Incarnation) Table() Identity {
	if len(a) == 0 {
		return Identity{}
	}
	return a[0]
}

// Partitioned reports whether the table has partitions.
func (a Incarnation) Partitioned() bool { return len(a) > 1 }

// At finds the identity of a partition, or with "" that of the table.
func (a Incarnation) At(partition string) (Identity, bool) {
	if at := slices.IndexFunc(a, func(i Identity) bool { return i.Partition == partition }); at >= 0 {
		return a[at], true
	}
	return Identity{}, false
}

// AtFirstSight reports whether the table is held because its server has not seen it before.
func (a Incarnation) AtFirstSight() bool { return a.Table().Held.Code == FirstSight }

// AnyHeld reports whether the table or a partition is held on its own.
func (a Incarnation) AnyHeld() bool {
	return slices.ContainsFunc(a, func(i Identity) bool { return i.Held.Holds() })
}

// AnyLasts reports whether a partition is held until a person has looked.
func (a Incarnation) AnyLasts() bool {
	return slices.ContainsFunc(a, func(i Identity) bool { return i.Held.Lasts() })
}

// HasID reports whether any of InnoDB's ids is known.
func (a Incarnation) HasID() bool {
	return slices.ContainsFunc(a, func(i Identity) bool { return i.TableID != 0 })
}

// withID returns which places have an id: the table, or its partitions.
func (a Incarnation) withID() (at []int) {
	for n, i := range a {
		if i.TableID != 0 {
			at = append(at, n)
		}
	}
	return at
}

// SharesID reports whether the table, or a partition of it, has the same id in both.
func (a Incarnation) SharesID(b Incarnation) bool {
	return slices.ContainsFunc(b, func(i Identity) bool {
		return i.TableID != 0 && slices.ContainsFunc(a, i.samePlace)
	})
}

// AlteredTo reports whether the same table was changed between two looks. Its columns may hold
// other dates under their old names.
func (a Incarnation) AlteredTo(b Incarnation) bool {
	return len(a) > 0 && len(b) > 0 && !a.Table().CreateTime.Equal(b.Table().CreateTime)
}

// Refuses says why a partition cannot have a job: it is gone, or is held until a person has looked; empty if it can.
func (a Incarnation) Refuses(partition string) string {
	switch i, found := a.At(partition); {
	case len(a) > 0 && !found:
		return "partition " + partition + " is gone"
	case i.Held.Lasts():
		return i.Held.Text
	default:
		return ""
	}
}

// lost reports whether a partition is gone: its job has nothing to do any more. The time, in whole seconds, may not
// show it.
func (a Incarnation) lost(now Incarnation) bool {
	return slices.ContainsFunc(a, func(i Identity) bool {
		_, found := now.At(i.Partition)
		return !found
	})
}

// SpreadHolds returns now, with each partition held that may have got rows of one that was held: if
// that is gone, or was recreated, nobody knows which of the new ones have them.
func (a Incarnation) SpreadHolds(now Incarnation) Incarnation {
	hold := a.scattered(now)
	if !hold.Holds() {
		return now
	}

	out := slices.Clone(now)
	for n, i := range out {
		if i.Partition != "" && i.TableID != 0 && !i.Held.Holds() && !slices.ContainsFunc(a, i.samePlace) {
			out[n].Held = hold
		}
	}

	return out
}

// Scattered says of which held partition the rows may be elsewhere now; empty for none. A whole
// table that is held stays so by itself.
func (a Incarnation) Scattered(now Incarnation) string { return a.scattered(now).Text }

func (a Incarnation) scattered(now Incarnation) Hold {
	for _, i := range a {
		if i.Partition != "" && i.Held.Holds() && i.Held.Code != FirstSight && !slices.ContainsFunc(now, i.samePlace) {
			return i.Held.elsewhere()
		}
	}
	return Hold{}
}

// Equal reports whether both are the same table with the same ids, held for the same reasons.
func (a Incarnation) Equal(b Incarnation) bool {
	return slices.EqualFunc(a, b, func(i, o Identity) bool {
		return i.samePlace(o) && i.CreateTime.Equal(o.CreateTime) && i.Held.Code == o.Held.Code
	})
}
