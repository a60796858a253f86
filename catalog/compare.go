package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Resemblance is how a table compares with the one its policy was declared on.
type Resemblance int

// The outcomes of a comparison.
const (
	Same     Resemblance = iota // nothing has changed
	Changed                     // the same table, altered in a way that does not matter: remember its new identity
	Stranger                    // not the table any more, or one whose rows the policy can not judge
)

// Compare judges whether a table is still the one a policy was declared on, and says in words what is different. known is what
// this server remembers; with nothing remembered the shape decides. For the same table it returns what to remember now,
// in which a partition that was replaced is held on its own.
func Compare(declared Shape, known []Identity, seen Seen) (Resemblance, []Identity, string) {
	if !seen.Exists {
		return Stranger, nil, "the table does not exist any more"
	}
	if why := declared.difference(seen.Shape); why != "" {
		return Stranger, nil, why
	}
	if len(known) == 0 {
		return Changed, seen.Identities, ""
	}
	if why := replaced(known, seen.Identities); why != "" {
		return Stranger, nil, why
	}
	remember := holdReplaced(known, seen.Identities)
	if slices.Equal(known, remember) {
		return Same, remember, ""
	}
	return Changed, remember, ""
}

// replaced says why a table that looks the same is not the one that is remembered; "" when it is. Only ids tell: what was not
// known then, and is now, may belong to any table. Where they cannot be read, nothing is deleted (IdentityCondition); the
// time, which has whole seconds and can be chosen, then at least shows most of what has happened.
func replaced(known, now []Identity) string {
	switch before, after := known[0], now[0]; {
	case len(known) > 1 && len(now) == 1:
		return "the table was replaced outside ttlproxy: it had partitions, and has none"
	case len(known) == 1 && len(now) > 1:
		return "the table was replaced outside ttlproxy: it has partitions, and had none"
	case shareID(known, now):
		return ""
	case !hasID(now) && before.CreateTime.Equal(after.CreateTime):
		return ""
	case !hasID(now):
		return fmt.Sprintf("the table was altered or replaced outside ttlproxy (created %s, was %s), and its InnoDB table id cannot be compared: "+
			"GRANT PROCESS makes it visible", Moment(after.CreateTime), Moment(before.CreateTime))
	case !hasID(known):
		return "InnoDB's table id, which tells the table from another that took its name, could not be read before and can be now: " +
			"nobody knows whether it is the same"
	case len(known) > 1:
		return "the table was rebuilt or replaced outside ttlproxy: none of its partitions has the InnoDB table id it had"
	default:
		return fmt.Sprintf("the table was rebuilt or replaced outside ttlproxy (InnoDB table id was %d, is %d)", before.TableID, after.TableID)
	}
}

// hasID reports whether any of InnoDB's ids is known.
func hasID(all []Identity) bool {
	return slices.ContainsFunc(all, func(i Identity) bool { return i.TableID != 0 })
}

// shareID reports whether the table, or a partition of it, has the id it had.
func shareID(known, now []Identity) bool {
	return slices.ContainsFunc(now, func(n Identity) bool {
		return n.TableID != 0 && slices.ContainsFunc(known, func(k Identity) bool {
			return k.Partition == n.Partition && k.TableID == n.TableID
		})
	})
}

// altered reports whether the same table was changed between two looks. Its columns may hold other dates under their old names.
func altered(known, now []Identity) bool {
	return len(known) > 0 && len(now) > 0 && !known[0].CreateTime.Equal(now[0].CreateTime)
}

// holdReplaced returns now, with each partition held whose name stands for another one than before. A hold stays until
// the policy is armed again, and an id until it is seen again. It goes with the rows, too.
func holdReplaced(known, now []Identity) []Identity {
	out := slices.Clone(now)
	for i, n := range out {
		k := slices.IndexFunc(known, func(k Identity) bool { return k.Partition == n.Partition })
		if k < 0 {
			continue
		}
		before := known[k]
		if n.TableID == 0 {
			out[i].TableID = before.TableID
		}
		switch {
		case before.Held == FirstSight || n.Partition != "" && before.Held != "":
			out[i].Held = before.Held
		case n.Partition != "" && n.TableID != 0 && before.TableID != n.TableID:
			out[i].Held = fmt.Sprintf("partition %s was rebuilt, truncated or exchanged outside ttlproxy (InnoDB table id was %d, is %d)",
				n.Partition, before.TableID, n.TableID)
		}
	}
	return spreadHolds(known, out)
}

// spreadHolds returns now, with each partition held that may have got rows of one that was held: where that is gone, or was made anew,
// nobody knows which of the new ones have them.
func spreadHolds(known, now []Identity) []Identity {
	reason := scattered(known, now)
	if reason == "" {
		return now
	}
	out := slices.Clone(now)
	for i, n := range out {
		if n.Partition != "" && n.TableID != 0 && n.Held == "" && !slices.ContainsFunc(known, n.samePlace) {
			out[i].Held = reason
		}
	}
	return out
}

// scattered says of which held partition the rows may be elsewhere now; empty for none. A whole table that is held stays so by itself.
func scattered(known, now []Identity) string {
	for _, k := range known {
		if k.Partition != "" && k.Held != "" && k.Held != FirstSight && !slices.ContainsFunc(now, k.samePlace) {
			return "it may have got rows that were held: " + strings.TrimPrefix(k.Held, "it may have got rows that were held: ")
		}
	}
	return ""
}

// samePlace reports whether two identities are of one partition, with the same rows.
func (i Identity) samePlace(o Identity) bool {
	return i.Partition == o.Partition && i.TableID == o.TableID
}

// anyHeld reports whether a partition is held on its own.
func anyHeld(all []Identity) bool {
	return slices.ContainsFunc(all, func(i Identity) bool { return i.Held != "" })
}

// difference says what distinguishes two shapes; "" for nothing.
func (a Shape) difference(b Shape) string {
	if a.Columns == b.Columns && a.PrimaryKey == b.PrimaryKey {
		return ""
	}
	if a.Columns == b.Columns {
		return fmt.Sprintf("the primary key was (%s), is (%s)", a.PrimaryKey, b.PrimaryKey)
	}
	was, is := strings.Split(a.Columns, "\n"), strings.Split(b.Columns, "\n")
	var parts []string
	for _, line := range was {
		if slices.Contains(is, line) {
			continue
		}
		if other := columnLine(is, columnName(line)); other != "" {
			parts = append(parts, fmt.Sprintf("column %s is now %s", line, strings.TrimPrefix(other, columnName(other)+" ")))
		} else {
			parts = append(parts, "column "+columnName(line)+" is gone")
		}
	}
	for _, line := range is {
		if columnLine(was, columnName(line)) == "" {
			parts = append(parts, "column "+line+" is new")
		}
	}
	if len(parts) == 0 {
		return "the columns are in another order, as after a swap of names"
	}
	return strings.Join(parts, "; ")
}

// columnName returns the quoted name a line of a shape begins with.
func columnName(line string) string {
	for i := 1; i < len(line); i++ {
		if line[i] != '`' {
			continue
		}
		if i+1 < len(line) && line[i+1] == '`' {
			i++
			continue
		}
		return line[:i+1]
	}
	return line
}

// columnLine returns the line of a column; "" when there is none.
func columnLine(lines []string, name string) string {
	i := slices.IndexFunc(lines, func(l string) bool { return columnName(l) == name })
	if i < 0 {
		return ""
	}
	return lines[i]
}
