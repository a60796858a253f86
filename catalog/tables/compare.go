package tables

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Resemblance is how a table compares with the one its policy was declared on.
type Resemblance int

// The outcomes of a comparison. Each differs more than the one before.
const (
	Same     Resemblance = iota // nothing has changed
	Changed                     // the same table, altered in a way that does not matter: remember its new identity
	Grown                       // the same table, with columns added or widened: remember its shape, too
	Unsure                      // it looks the same, but may hold other rows, or other dates
	Stranger                    // no longer the table, or one whose rows the policy cannot judge
)

// Comparison is what Compare says of a table.
type Comparison struct {
	How Resemblance
	Now Incarnation // what to remember of it, in which a partition that was replaced is held on its own
	Why string      // what is different, in words

	anew  bool  // the table has none of the ids it had
	fresh []int // those of Now that have another id than before, or a new name
	empty []int // those of Now that were examined, and have no rows
}

// Compare judges whether a table is still the one a policy with this TTL column was declared on.
// known is what this server remembers; with nothing remembered the shape decides.
func Compare(declared Shape, column string, known Incarnation, seen Seen) Comparison {
	if !seen.Exists {
		return Comparison{How: Stranger, Why: "the table does not exist any more"}
	}

	how, why := declared.outgrown(seen.Shape, column)
	switch {
	case how == Stranger, len(known) == 0 && how != Same:
		return Comparison{How: Stranger, Why: why}
	case len(known) == 0:
		return Comparison{How: Changed, Now: seen.Incarnation}
	}

	if anew, sure := replaced(known, seen); anew != "" {
		c := Comparison{How: Stranger, Why: joinWords(anew, why), anew: true}
		if sure {
			c.How, c.Now, c.fresh = Unsure, keepHeld(known, seen.Incarnation), seen.Incarnation.withID()
		}
		return c
	}

	c := Comparison{
		How: how, Now: holdReplaced(known, seen.Incarnation), Why: why,
		fresh: replacedIn(known, seen.Incarnation),
	}
	if how == Same && !known.Equal(c.Now) {
		c.How = Changed
	}

	return c
}

// joinWords puts what is different into one sentence.
func joinWords(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// replaced says why a table that looks the same is not the one that is remembered; "" when it is.
// Only ids tell: what was not known then, and is now, may belong to any table. If they cannot be
// read, nothing is deleted (IdentityCondition); the time, which has whole seconds and can be
// chosen, then at least shows most of what has happened. It is sure where ids were compared.
func replaced(known Incarnation, seen Seen) (why string, sure bool) {
	now := seen.Incarnation
	sure = known.HasID() && now.HasID()
	switch before, after := known.Table(), now.Table(); {
	case known.Partitioned() && !now.Partitioned():
		return "the table was replaced outside ttlproxy: it had partitions, and has none", sure
	case !known.Partitioned() && now.Partitioned():
		return "the table was replaced outside ttlproxy: it has partitions, and had none", sure
	case known.SharesID(now):
		return "", sure
	case !now.HasID() && before.CreateTime.Equal(after.CreateTime):
		return "", sure
	case !now.HasID():
		return fmt.Sprintf("the table was altered or replaced outside ttlproxy (created %s, was %s), and %s",
			moment(after.CreateTime), moment(before.CreateTime), seen.withoutID()), sure
	case !known.HasID():
		return "InnoDB's table id, which tells the table from another that took its name, could not be read before " +
			"and can be now: " +
			"nobody knows whether it is the same", sure
	case known.Partitioned():
		return "the table was rebuilt or replaced outside ttlproxy: none of its partitions has the InnoDB table " +
			"id it had", sure
	default:
		return fmt.Sprintf("the table was rebuilt or replaced outside ttlproxy (InnoDB table id was %d, is %d)",
			before.TableID, after.TableID), sure
	}
}

// withoutID says why there is no id to tell a table by.
func (s Seen) withoutID() string {
	switch {
	case s.Engine != "" && s.Engine != innodb:
		return "its engine is " + s.Engine + ", not InnoDB: no id tells whether it is the same"
	case s.IDsRead:
		return "no InnoDB table id tells whether it is the same, in a tablespace that it shares: " +
			"ALTER TABLE … TABLESPACE = innodb_file_per_table gives it one"
	default:
		return "its InnoDB table id cannot be compared: GRANT PROCESS makes it visible"
	}
}

// replacedIn returns which partitions have an id that they did not have: what is in them, nobody
// has seen.
func replacedIn(known, now Incarnation) (fresh []int) {
	for n, i := range now {
		if i.Partition != "" && i.TableID != 0 && !slices.ContainsFunc(known, i.samePlace) {
			fresh = append(fresh, n)
		}
	}
	return fresh
}

// holdReplaced returns now, with each partition held whose name stands for another one than before.
// A hold stays until the policy is armed again, and an id until it is seen again. It goes with the
// rows, too.
func holdReplaced(known, now Incarnation) Incarnation {
	out := keepHeld(known, now)
	for i, n := range out {
		k := slices.IndexFunc(known, func(k Identity) bool { return k.Partition == n.Partition })
		if k < 0 {
			continue
		}

		switch before := known[k]; {
		case n.TableID == 0:
			out[i].TableID = before.TableID
		case n.Partition != "" && !before.Held.Holds() && before.TableID != n.TableID:
			out[i].Held = heldUntilArmed(Replaced, fmt.Sprintf("partition %s was rebuilt, truncated or exchanged "+
				"outside ttlproxy (InnoDB table id was %d, is %d)", n.Partition, before.TableID, n.TableID))
		}
	}

	return out
}

// keepHeld returns now, with what was held before.
func keepHeld(known, now Incarnation) Incarnation {
	out := slices.Clone(now)
	for i, n := range out {
		k := slices.IndexFunc(known, func(k Identity) bool { return k.Partition == n.Partition })
		if k >= 0 && (known[k].Held.Code == FirstSight || n.Partition != "") {
			out[i].Held = known[k].Held
		}
	}
	return known.SpreadHolds(out)
}

// Doubted are the places whose rows decide: the new ones, and then all others of a table that may be another.
func (c Comparison) Doubted() []int {
	if c.How != Unsure {
		return c.fresh
	}
	others := slices.DeleteFunc(c.Now.withID(), func(at int) bool { return slices.Contains(c.fresh, at) })
	return slices.Concat(c.fresh, others)
}

// Alone reports whether a place that has rows is held by itself, whatever becomes of the others.
func (c Comparison) Alone(at int) bool { return !c.anew && slices.Contains(c.fresh, at) }

// LookedInto is the comparison once it is known which of the places in doubt are empty. Where there
// are no rows, there is nothing to hold.
func (c Comparison) LookedInto(known Incarnation, empty []int) Comparison {
	c.empty = empty
	switch {
	case c.How == Unsure && len(c.empty) == len(c.Doubted()):
		c.How, c.Why = Grown, joinWords(c.Why, "it is empty")
	case c.anew:
		return c
	}

	c.Now = slices.Clone(c.Now)
	for _, at := range c.fresh {
		place := &c.Now[at]
		hadName := slices.ContainsFunc(known, func(k Identity) bool { return k.Partition == place.Partition })
		switch {
		case slices.Contains(c.empty, at):
			place.Held = Hold{}
		case !hadName && !place.Held.Holds():
			place.Held = heldUntilArmed(Made, "partition "+place.Partition+
				" was made outside ttlproxy, and has rows in it")
		}
	}

	return c
}

// Imported is the comparison of a table once it is known that other rows were put into it, or into one of its
// partitions.
func (c Comparison) Imported(partition string) Comparison {
	c.How, c.anew, c.Why = Unsure, true, "rows were brought in outside ttlproxy, by IMPORT TABLESPACE"
	if partition != "" {
		c.Why += " of partition " + partition
	}
	return c
}

// Concerns reports whether a table that is still the policy's is not what was planned for and
// approved. A partition that is held concerns nobody else.
func (c Comparison) Concerns(known Incarnation) bool {
	if len(known) == 0 || known.AtFirstSight() {
		return false
	}
	return c.How >= Grown || known.AlteredTo(c.Now) || known.lost(c.Now) || len(c.empty) > 0
}

// Text is what has changed, in words.
func (c Comparison) Text() string {
	text := c.Why
	if !c.anew {
		text = joinWords("the table was altered outside ttlproxy", c.Why)
	}
	for _, at := range c.fresh {
		if name := c.Now[at].Partition; name != "" && !c.anew && slices.Contains(c.empty, at) {
			text = joinWords(text, fmt.Sprintf("partition %s is new, and empty", name))
		}
	}
	return joinWords(text, c.HeldAnew())
}

// HeldAnew says which partitions are held from now on, and why; empty for none.
func (c Comparison) HeldAnew() (why string) {
	for _, at := range c.fresh {
		why = joinWords(why, c.Now[at].Held.Text)
	}
	return why
}

// moment writes a time into a sentence as catalog.Moment does.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05-07:00") }
