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
	before, now := known[0], seen.Identities[0]
	sameTime := before.CreateTime.Equal(now.CreateTime)
	switch {
	case before.TableID != now.TableID && before.TableID != 0 && now.TableID != 0:
		return Stranger, nil, fmt.Sprintf("the table was rebuilt or replaced outside ttlproxy (InnoDB table id was %d, is %d)",
			before.TableID, now.TableID)
	case !sameTime && now.TableID == 0 && !sharePartition(known, seen.Identities):
		return Stranger, nil, fmt.Sprintf("the table was altered or replaced outside ttlproxy (created %s, was %s), and its InnoDB table id cannot be compared: "+
			"GRANT PROCESS makes it visible", now.CreateTime.Format("2006-01-02 15:04:05"), before.CreateTime.Format("2006-01-02 15:04:05"))
	}
	remember := holdReplaced(known, seen.Identities)
	if sameTime && slices.Equal(known, remember) {
		return Same, remember, ""
	}
	return Changed, remember, ""
}

// sharePartition reports whether a partition with a known id is still there.
func sharePartition(known, now []Identity) bool {
	return slices.ContainsFunc(now, func(n Identity) bool {
		return n.TableID != 0 && slices.ContainsFunc(known, func(k Identity) bool {
			return k.Partition == n.Partition && k.TableID == n.TableID
		})
	})
}

// holdReplaced returns now, with each partition held whose name stands for another one than before. A hold stays until
// the policy is armed again.
func holdReplaced(known, now []Identity) []Identity {
	out := slices.Clone(now)
	for i, n := range out {
		k := slices.IndexFunc(known, func(k Identity) bool { return k.Partition == n.Partition })
		switch {
		case k >= 0 && known[k].Held == FirstSight:
			out[i].Held = FirstSight
		case n.Partition == "" || k < 0:
		case known[k].Held != "":
			out[i].Held = known[k].Held
		case known[k].TableID != n.TableID && known[k].TableID != 0 && n.TableID != 0:
			out[i].Held = fmt.Sprintf("partition %s was rebuilt, truncated or exchanged outside ttlproxy (InnoDB table id was %d, is %d)",
				n.Partition, known[k].TableID, n.TableID)
		}
	}
	return out
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
