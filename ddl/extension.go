package ddl

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The names of the table options. All but the first three are ours.
const (
	OptionTTL         = "TTL"
	OptionEnable      = "TTL_ENABLE"
	OptionJobInterval = "TTL_JOB_INTERVAL"

	OptionTimeZone    = "TTL_TIME_ZONE"
	OptionCron        = "TTL_CRON"
	OptionWindow      = "TTL_WINDOW"
	OptionDeleteRate  = "TTL_DELETE_RATE"
	OptionBatchSize   = "TTL_DELETE_BATCH_SIZE"
	OptionMaxLag      = "TTL_MAX_LAG"
	OptionBrakeFactor = "TTL_BRAKE_FACTOR"
	OptionMaxRows     = "TTL_MAX_ROWS"
	OptionMaxPercent  = "TTL_MAX_PERCENT"
)

// extension is a table option that TiDB does not have.
type extension struct {
	name  string
	form  string // an example of its value
	check func(string) error
}

// extensions are all options of ours, in the order they are printed in. An option is listed here
// only once the engine honours it.
func extensions() []extension {
	return []extension{
		{OptionTimeZone, "'Europe/Berlin' or '+02:00'", nil}, // resolved where the zones are known
		{OptionCron, "'0 3 * * *'", func(v string) error { _, err := ParseCron(v); return err }},
		{OptionWindow, "'22:00-06:00'", func(v string) error { _, err := ParseWindow(v); return err }},
		{OptionDeleteRate, "1000 (rows per second)", rowsPerSecond},
		{OptionBatchSize, "500 (1 to 10240)", batchSize},
		{OptionMaxLag, "'2h'", positiveDuration},
		{OptionBrakeFactor, "10 (0 judges the policy only once)", between(0, 1_000_000)},
		{OptionMaxRows, "1000000 (rows one run may delete)", between(1, math.MaxInt64)},
		{OptionMaxPercent, "20 (1 to 100, of the table, in one run)", between(1, 100)},
	}
}

func findExtension(name string) (extension, bool) {
	all := extensions()
	n := slices.IndexFunc(all, func(e extension) bool { return e.name == name })
	if n < 0 {
		return extension{}, false
	}
	return all[n], true
}

// OptionNames are the names of all table options, TiDB's first.
func OptionNames() []string {
	names := []string{OptionTTL, OptionEnable, OptionJobInterval}
	for _, e := range extensions() {
		names = append(names, e.name)
	}
	return names
}

// knownOptions lists all options for the error about an unknown one.
func knownOptions() string {
	names := OptionNames()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// extension reads the value of an option of ours: a string or a number. The empty string unsets the
// option.
func (r *reader) extension(c *Clause, e extension) bool {
	value, ok := r.stringValue()
	if !ok && r.current().kind == number {
		value, ok = r.spelling(r.current()), true
		r.at++
	}
	if !ok || value != "" && e.check != nil && e.check(value) != nil {
		return false
	}
	if c.Options == nil {
		c.Options = make(map[string]string)
	}

	c.Options[e.name] = value
	return true
}

func rowsPerSecond(value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil && n < 1 {
		err = errors.New("not a number above zero")
	}
	return err
}

// between checks a whole number.
func between(low, high int64) func(string) error {
	return func(value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err == nil && (n < low || n > high) {
			err = fmt.Errorf("not between %d and %d", low, high)
		}
		return err
	}
}

func batchSize(value string) error {
	n, err := strconv.Atoi(value)
	if err == nil && (n < 1 || n > 10240) {
		err = errors.New("not between 1 and 10240")
	}
	return err
}

func positiveDuration(value string) error {
	d, err := Duration(value)
	if err == nil && d <= 0 {
		err = errors.New("not longer than zero")
	}
	return err
}

// optionNames returns the names of the options that were given, sorted.
func (c *Clause) optionNames() []string { return slices.Sorted(maps.Keys(c.Options)) }
