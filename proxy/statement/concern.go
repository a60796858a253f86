package statement

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// concern says how much a text concerns us.
type concern int

const (
	noConcern concern = iota
	follows           // it matters if one of its tables has a policy
	ours              // it holds a clause, or is a statement of ours
)

// mentioned reports whether a table with a policy may be named in the text. An error says that the
// catalog cannot be asked.
func (h *Handler) mentioned(ctx context.Context, store catalogStore, text string) (found bool, err error) {
	err = h.patience.ask(ctx, func(ctx context.Context) (err error) {
		found, err = store.Mentioned(ctx, text)
		return err
	})
	if err != nil {
		return false, unavailable(err)
	}
	return found, nil
}

// manyReadings is more readings of a text than are worth trying.
const manyReadings = 40

// concernOf is the second test, of a text that may be ours: it reads it in each way that a session's
// settings could make the server read it. Only one that passes may bring a question to its own
// connection, since that changes what FOUND_ROWS() and the like say there; so it does without the
// session's settings, and errs towards more.
func concernOf(text string, x *proxy.Exchange) concern {
	most := noConcern
	modes := readings(text, x.MariaDB())
	if len(modes) > manyReadings {
		return ours // the session says which of them is right
	}

	for _, mode := range modes {
		for _, st := range ddl.Parse(text, mode) {
			if most = max(most, concernOfOne(st, x)); most == ours {
				return ours
			}
		}
	}

	return most
}

// readings are the modes in which a text may read differently: most texts contain nothing that a
// setting could change. If there are more than manyReadings, the list need not be complete.
func readings(text string, mariaDB bool) []ddl.Mode {
	modes := []ddl.Mode{{MariaDB: mariaDB}}
	also := func(change func(*ddl.Mode)) {
		for _, m := range modes {
			change(&m)
			modes = append(modes, m)
		}
	}

	if strings.Contains(text, `"`) {
		also(func(m *ddl.Mode) { m.ANSIQuotes = true })
	}
	if strings.Contains(text, `\`) {
		also(func(m *ddl.Mode) { m.NoBackslashEscapes = true })
	}

	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		several := modes
		charsets := []string{"gbk", "sjis", "big5"}
		if strings.IndexByte(text, 0xA0) >= 0 || strings.IndexByte(text, 0xFF) >= 0 {
			charsets = append(charsets, "latin1", "cp852") // a no-break space
		}
		for _, charset := range charsets {
			for _, m := range several {
				m.Charset = charset
				modes = append(modes, m)
			}
		}
	}

	several := modes
	for _, version := range versions(text) {
		if len(modes) > manyReadings {
			break // nobody tries them all
		}
		for _, m := range several {
			m.Version = version
			modes = append(modes, m)
		}
	}

	return modes
}

// versioned matches the head of a comment for servers from a version on.
var versioned = regexp.MustCompile(`/\*M?!(\d{5})(\d?)`)

// versions are those the server could have that make a difference to the comments in a text,
// besides one that runs all of them: each version that is named, and the one below them all.
func versions(text string) []int {
	if !strings.Contains(text, "!") {
		return nil
	}

	var found []int
	for _, m := range versioned.FindAllStringSubmatch(text, -1) {
		five, _ := strconv.Atoi(m[1])
		six, _ := strconv.Atoi(m[1] + m[2])
		found = append(found, five, six)
	}

	if len(found) == 0 {
		return nil
	}

	slices.Sort(found)
	return append(slices.Compact(found), 1)
}

func concernOfOne(st *ddl.Statement, x *proxy.Exchange) concern {
	if st.Err != nil || st.Clause() != nil {
		return ours
	}

	switch a := st.Action.(type) {
	case nil:
		return noConcern
	case *ddl.CreateTable:
		if a.Temporary && a.Like == nil {
			return noConcern // it may hide a table with a policy, but that does nothing to it
		}
		return follows
	case *ddl.DropTables:
		if a.Temporary {
			return noConcern
		}
		return follows
	case *ddl.AlterTable, *ddl.RenameTables, *ddl.TruncateTable, *ddl.ChangeTables, *ddl.ShowCreateTable:
		return follows
	case *ddl.ShowVariables:
		if !namesSettings(a.Filter) {
			return noConcern
		}
	case *ddl.Prepare:
		if !x.Remembers(a.Name) && concernOfDynamic(a.Dynamic, x) == noConcern {
			return noConcern
		}
	case *ddl.Immediate:
		return concernOfDynamic(a.Dynamic, x)
	case *ddl.Execute:
		if !x.Remembers(a.Name) {
			return noConcern
		}
	case *ddl.Deallocate:
		if !x.Remembers(a.Name) {
			return noConcern
		}
	}

	return ours
}

// concernOfDynamic looks into a statement that contains another. What a computed text says, only
// the session knows.
func concernOfDynamic(d ddl.Dynamic, x *proxy.Exchange) concern {
	switch {
	case d.Expression != "":
		return ours
	case d.Inner == nil:
		return noConcern
	}
	return concernOfOne(d.Inner, x)
}
