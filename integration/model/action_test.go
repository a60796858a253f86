package model

import (
	"fmt"
	"strings"
)

// action is one statement.
type action struct {
	verb   verb
	table  name
	other  name   // what LIKE copies, what is exchanged, the new name of ALTER … RENAME
	pairs  []pair // of RENAME
	days   int    // of the interval
	column string // of the TTL, or the new name of the time column
	extra  string // of an ALTER with more than TTL, or of a CREATE
	format string // of alter and touch
}

type pair struct{ from, to name }

type verb string

const (
	declare  verb = "declare"  // ALTER TABLE … TTL =
	enable   verb = "enable"   // TTL_ENABLE = 'ON'
	disable  verb = "disable"  // TTL_ENABLE = 'OFF'
	pace     verb = "pace"     // TTL_JOB_INTERVAL alone
	remove   verb = "remove"   // REMOVE TTL
	create   verb = "create"   // CREATE TABLE without a policy
	born     verb = "born"     // CREATE TABLE with one
	like     verb = "like"     // CREATE TABLE … LIKE
	replace  verb = "replace"  // CREATE OR REPLACE TABLE, with a policy when there are days
	rename   verb = "rename"   // RENAME TABLE
	rebrand  verb = "rebrand"  // ALTER TABLE … RENAME TO
	drop     verb = "drop"     // DROP TABLE
	raze     verb = "raze"     // DROP DATABASE, and CREATE DATABASE
	truncate verb = "truncate" // TRUNCATE TABLE
	exchange verb = "exchange" // ALTER TABLE … EXCHANGE PARTITION p0
	change   verb = "change"   // ALTER TABLE … CHANGE the time column
	touch    verb = "touch"    // anything that leaves rows and dates alone, by its format
	shadow   verb = "shadow"   // CREATE TEMPORARY TABLE
	unveil   verb = "unveil"   // DROP TEMPORARY TABLE
	pause    verb = "pause"    // PAUSE TTL FOR
	resume   verb = "resume"   // RESUME TTL FOR
	approve  verb = "approve"  // APPROVE TTL JOB FOR
	run      verb = "run"      // RUN TTL JOB FOR
	cancel   verb = "cancel"   // CANCEL TTL JOB FOR
	nothing  verb = "nothing"  // DO 0
)

// moves reports whether tables, rows or columns are not what they were when it is done.
func (a action) moves() bool {
	switch a.verb {
	case create, born, like, replace, rename, rebrand, drop, raze, truncate, exchange, change:
		return true
	default:
		return a.extra != ""
	}
}

const (
	columns = "(id INT NOT NULL, part INT NOT NULL DEFAULT 0, created DATETIME NULL, tag VARCHAR(20) NULL, " +
		"PRIMARY KEY (id, part), KEY by_time (created))"
	partitioned = " PARTITION BY LIST (part) (PARTITION p0 VALUES IN (0), PARTITION p1 VALUES IN (1))"
)

// clause is the TTL of a CREATE or ALTER. A job every second, so that what is wrong shows soon.
func (a action) clause() string {
	return fmt.Sprintf("TTL = %s + INTERVAL %d DAY TTL_JOB_INTERVAL = '1s'", a.column, a.days)
}

// text is the statement as most people would write it.
func (a action) text() string {
	switch a.verb {
	case declare, enable, disable, pace, remove, rebrand, exchange, change:
		return fmt.Sprintf("ALTER TABLE %s %s", a.table, a.spec())
	case create:
		return fmt.Sprintf("CREATE TABLE %s %s%s", a.table, columns, a.extra)
	case born:
		return fmt.Sprintf("CREATE TABLE %s %s %s%s", a.table, columns, a.clause(), a.extra)
	case like:
		return fmt.Sprintf("CREATE TABLE %s%s LIKE %s", a.extra, a.table, a.other)
	case replace:
		if a.days > 0 {
			return fmt.Sprintf("CREATE OR REPLACE TABLE %s %s %s", a.table, columns, a.clause())
		}
		return fmt.Sprintf("CREATE OR REPLACE TABLE %s %s", a.table, columns)
	case rename:
		return "RENAME TABLE " + a.list()
	case drop:
		return "DROP TABLE " + a.table.String()
	case raze:
		return "DROP DATABASE " + a.table.schema
	case truncate:
		return "TRUNCATE TABLE " + a.table.String()
	case touch:
		return fmt.Sprintf(a.format, a.table)
	case shadow:
		return fmt.Sprintf("CREATE TEMPORARY TABLE %s %s", a.table, columns)
	case unveil:
		return "DROP TEMPORARY TABLE " + a.table.String()
	case pause, resume:
		return fmt.Sprintf("%s TTL FOR %s", strings.ToUpper(string(a.verb)), a.table)
	case approve, run, cancel:
		return fmt.Sprintf("%s TTL JOB FOR %s%s", strings.ToUpper(string(a.verb)), a.table, a.extra)
	case nothing:
	}
	return "DO 0"
}

// spec is what stands behind ALTER TABLE t.
func (a action) spec() string {
	spec := ""
	switch a.verb {
	case declare:
		spec = a.clause()
	case enable:
		spec = "TTL_ENABLE = 'ON'"
	case disable:
		spec = "TTL_ENABLE = 'OFF'"
	case pace:
		spec = "TTL_JOB_INTERVAL = '1s'"
	case remove:
		spec = "REMOVE TTL"
	case rebrand:
		return "RENAME TO " + a.other.String()
	case exchange:
		return "EXCHANGE PARTITION p0 WITH TABLE " + a.other.String()
	case change:
		return fmt.Sprintf("CHANGE %s %s DATETIME NULL", otherColumn(a.column), a.column)
	default:
	}

	if a.extra != "" {
		spec = a.extra + ", " + spec
	}

	return spec
}

func otherColumn(column string) string {
	if column == "created" {
		return "made"
	}
	return "created"
}

func (a action) list() string {
	var list []string
	for _, p := range a.pairs {
		list = append(list, p.from.String()+" TO "+p.to.String())
	}
	return strings.Join(list, ", ")
}

// dress is the text in a manner.
func (a action) dress(m manner) string {
	text := a.text()
	switch m {
	case commented:
		return "/* ? */ " + strings.Replace(text, " ", " /* TTL */ ", 1) + " -- the end"
	case versioned:
		return "/*!40101 " + text + " */"
	case skipped:
		return "/*!999999 DROP TABLE db1.u */ " + text
	case dumped:
		if a.verb == born {
			return fmt.Sprintf("CREATE TABLE %s %s /*T![ttl] %s */", a.table, columns, a.clause())
		}
	case packet:
		return "DO 1; " + text + "; DO 2"
	case immediate:
		return "EXECUTE IMMEDIATE '" + strings.ReplaceAll(text, "'", "''") + "'"
	case delimiting:
		return text + "; # done"
	case plain, binary:
	}

	return text
}
