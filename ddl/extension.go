package ddl

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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
	OptionForeignKeys = "TTL_FK"
	OptionView        = "TTL_VIEW"
	OptionPartition   = "TTL_PARTITION"
	OptionGrace       = "TTL_PARTITION_GRACE"
	OptionAhead       = "TTL_PARTITION_AHEAD"
	OptionPriority    = "TTL_PRIORITY"
	OptionFloor       = "TTL_THROTTLE_FLOOR"
	OptionPlan        = "TTL_PLAN"
	OptionShards      = "TTL_QUEUE_SHARDS"
)

// The values of TTL_PRIORITY.
const (
	PriorityQuiet = "QUIET" // signals slow deletion down even while TTL_MAX_LAG is missed
	PriorityFresh = "FRESH" // they do not
)

// The values of TTL_PARTITION.
const (
	PartitionExchange = "EXCHANGE" // one in which everything has expired becomes a table, kept for a time
	PartitionDrop     = "DROP"     // it is dropped
	PartitionTruncate = "TRUNCATE" // it is emptied
)

// PlanQueue is the only plan that TTL_PLAN can ask for: whatever it says, the engine chooses another
// one where that is cheaper.
const PlanQueue = "QUEUE"

// DefaultShards is how many parts an expiry queue has unless TTL_QUEUE_SHARDS says otherwise.
const DefaultShards = 4

// The values of TTL_FK.
const (
	ForeignKeysSkip     = "SKIP"     // rows that a foreign key points at stay
	ForeignKeysChildren = "CHILDREN" // they go, and before them all rows that depend on them
	ForeignKeysCascade  = "CASCADE"  // they go, and InnoDB does to those rows what their keys say
)

// OptionDependents is kept beside TTL_FK = 'CHILDREN' and 'CASCADE', a JSON list of quoted names: the
// tables whose rows may go along with those of the policy's, or may lose their parent. No statement says
// it. It is what was there when somebody declared the policy who has the rights for all of that.
const OptionDependents = "TTL_FK dependents"

// Options are the table options that TiDB does not have, as values. What is not said is zero.
type Options struct {
	Cron        *Cron
	Window      *Window
	DeleteRate  *Rates // nil for no limit
	BatchSize   int64
	MaxLag      time.Duration
	BrakeFactor *int64         // which may be 0, and then judges the policy only once
	MaxRows     int64          // that one run may delete
	MaxPercent  int64          // of the table, in one run
	ForeignKeys string         // what becomes of rows that foreign keys point at; empty if none may
	Dependents  []string       // tables of which rows may go along; see OptionDependents
	View        string         // the name of a view of the rows that have not expired; empty for none
	Partition   string         // how partitions go of which everything has expired; empty for by rows
	Grace       *time.Duration // how long the table is kept that such a partition has become
	Ahead       time.Duration  // for which partitions are made before they are needed; 0 for none
	Fresh       bool           // while MaxLag is missed, signals do not slow deletion down
	Floor       int64          // percent of full speed that signals leave it at least; 0 for what the setting says
	Plan        string         // PlanQueue, or empty for whatever is cheapest without an expiry queue
	QueueShards int64          // parts of the expiry queue; 0 for DefaultShards
}

// TakesAlong reports whether rows of other tables go with those of the policy's, by whoever's statements.
func (o Options) TakesAlong() bool {
	return o.ForeignKeys == ForeignKeysChildren || o.ForeignKeys == ForeignKeysCascade
}

// Shards is how many parts new entries of the table's expiry queue go to.
func (o Options) Shards() int {
	if o.QueueShards > 0 {
		return int(o.QueueShards)
	}
	return DefaultShards
}

// ReadOptions reads what [Clause.Options] keeps: texts by the names of the options. What it takes
// there is what a statement may say, and nothing else. The zone it leaves to [Zone].
func ReadOptions(texts map[string]string) (Options, error) {
	var o Options
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		e, known := findExtension(name)
		if name == OptionDependents {
			e, known = extension{name: name, read: readDependents}, true
		}
		if !known {
			return Options{}, fmt.Errorf("option %s is unknown", name)
		}
		if err := e.readInto(&o, texts[name]); err != nil {
			return Options{}, fmt.Errorf("option %s='%s': %w", name, texts[name], err)
		}
	}
	return o, nil
}

// extension is a table option that TiDB does not have.
type extension struct {
	name string
	form string // an example of its value
	read func(*Options, string) error
}

// readInto reads the option's value, unless there is none.
func (e extension) readInto(o *Options, text string) error {
	if text == "" || e.read == nil {
		return nil
	}
	return e.read(o, text)
}

// extensions are all options of ours, in the order they are printed in. An option is listed here
// only once the engine honours it.
func extensions() []extension {
	return []extension{
		{OptionTimeZone, "'Europe/Berlin' or '+02:00'", nil}, // resolved where the zones are known
		{OptionCron, "'0 3 * * *'", readCron},
		{OptionWindow, "'22:00-06:00' or 'mon-fri 22:00-06:00; sat-sun'", readWindow},
		{
			OptionDeleteRate, "1000 (rows per second) or '1000; mon-fri 22:00-06:00 20000; sat-sun 20000'",
			readRates,
		},
		{OptionBatchSize, "500 (1 to 10240)", whole(1, 10240, func(o *Options, n int64) { o.BatchSize = n })},
		{OptionMaxLag, "'2h'", readMaxLag},
		{
			OptionBrakeFactor, "10 (0 judges the policy only once)",
			whole(0, 1_000_000, func(o *Options, n int64) { o.BrakeFactor = &n }),
		},
		{
			OptionMaxRows, "1000000 (rows one run may delete)",
			whole(1, math.MaxInt64, func(o *Options, n int64) { o.MaxRows = n }),
		},
		{
			OptionMaxPercent, "20 (1 to 100, of the table, in one run)",
			whole(1, 100, func(o *Options, n int64) { o.MaxPercent = n }),
		},
		{
			OptionForeignKeys, "'SKIP', 'CHILDREN' or 'CASCADE' (rows that a foreign key points at stay, take others " +
				"along, or let ON DELETE act)",
			readForeignKeys,
		},
		{OptionView, "'name' (a view of the rows that have not expired, beside the table)", readView},
		{
			OptionPartition, "'EXCHANGE', 'DROP' or 'TRUNCATE' (of whole partitions in which everything has expired)",
			readPartition,
		},
		{OptionGrace, "'3d' (for which an exchanged partition is kept as a table)", readGrace},
		{OptionAhead, "'7d' (for which partitions are made before they are needed)", readAhead},
		{OptionPriority, "'QUIET' or 'FRESH' (what matters more while TTL_MAX_LAG is missed)", readPriority},
		{
			OptionFloor, "20 (1 to 100, percent of the speed that signals leave this table at least)",
			whole(1, 100, func(o *Options, n int64) { o.Floor = n }),
		},
		{
			OptionPlan, "'QUEUE' (for a table without an index on time: rows are written down by when they expire)",
			readPlan,
		},
		{
			OptionShards, "4 (1 to 64, parts of the expiry queue)",
			whole(1, mostShards, func(o *Options, n int64) { o.QueueShards = n }),
		},
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
func (r *reader) extension(c *Clause, e extension, first int) bool {
	value, ok := r.stringValue()
	if !ok && r.current().kind == number {
		value, ok = r.spelling(r.current()), true
		r.at++
	}
	if !ok {
		return false
	}
	if err := e.readInto(&Options{}, value); err != nil {
		hint := e.name + " is " + err.Error() + "; " + grammarOf(e.name)
		r.refuse(r.tokens[first].start, hint)
		return false
	}
	if c.Options == nil {
		c.Options = make(map[string]string)
	}

	c.Options[e.name] = value
	return true
}

func readCron(o *Options, text string) error {
	cron, err := ParseCron(text)
	o.Cron = &cron
	return err
}

func readWindow(o *Options, text string) error {
	window, err := ParseWindow(text)
	o.Window = &window
	return err
}

func readRates(o *Options, text string) error {
	rates, err := ParseRates(text)
	o.DeleteRate = &rates
	return err
}

func readForeignKeys(o *Options, text string) error {
	o.ForeignKeys = text
	if text != ForeignKeysSkip && !o.TakesAlong() {
		return errors.New("neither '" + ForeignKeysSkip + "' nor '" + ForeignKeysChildren + "' nor '" +
			ForeignKeysCascade + "'")
	}
	return nil
}

func readPriority(o *Options, text string) error {
	o.Fresh = text == PriorityFresh
	if !o.Fresh && text != PriorityQuiet {
		return errors.New("neither '" + PriorityQuiet + "' nor '" + PriorityFresh + "'")
	}
	return nil
}

func readPartition(o *Options, text string) error {
	o.Partition = text
	if text != PartitionExchange && text != PartitionDrop && text != PartitionTruncate {
		return fmt.Errorf("not one of '%s', '%s' and '%s'", PartitionExchange, PartitionDrop, PartitionTruncate)
	}
	return nil
}

// DefaultGrace is how long an exchanged partition is kept if nothing is said.
const DefaultGrace = 24 * time.Hour

// KeptFor is how long an exchanged partition is kept.
func (o Options) KeptFor() time.Duration {
	if o.Grace == nil {
		return DefaultGrace
	}
	return *o.Grace
}

func readGrace(o *Options, text string) error {
	d, err := Duration(text)
	if err == nil && (d < time.Minute || d > tenYears) {
		err = errors.New("not between a minute and ten years")
	}
	o.Grace = &d
	return err
}

func readAhead(o *Options, text string) (err error) {
	o.Ahead, err = Duration(text)
	if err == nil && (o.Ahead < time.Hour || o.Ahead > tenYears) {
		err = errors.New("not between an hour and ten years")
	}
	return err
}

const tenYears = 10 * 366 * 24 * time.Hour

// mostName is how long a name can be on both servers.
const mostName = 64

// readView reads the name of a view, which is beside its table and has no schema of its own.
func readView(o *Options, text string) error {
	o.View = text
	if strings.ContainsAny(text, ".`/\\\x00") || strings.TrimSpace(text) != text ||
		utf8.RuneCountInString(text) > mostName {
		return errors.New("not the plain name of a view")
	}
	return nil
}

// mostShards is how many workers an expiry queue can occupy.
const mostShards = 64

func readPlan(o *Options, text string) error {
	o.Plan = text
	if text != PlanQueue {
		return errors.New("not '" + PlanQueue + "'")
	}
	return nil
}

func readDependents(o *Options, text string) error {
	return json.Unmarshal([]byte(text), &o.Dependents)
}

func readMaxLag(o *Options, text string) (err error) {
	o.MaxLag, err = Duration(text)
	if err == nil && o.MaxLag <= 0 {
		err = errors.New("not longer than zero")
	}
	return err
}

// whole reads a whole number within bounds.
func whole(low, high int64, set func(*Options, int64)) func(*Options, string) error {
	return func(o *Options, text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < low || n > high {
			return fmt.Errorf("not a whole number between %d and %d", low, high)
		}
		set(o, n)
		return nil
	}
}

// optionNames returns the names of the options that were given, sorted.
func (c *Clause) optionNames() []string { return slices.Sorted(maps.Keys(c.Options)) }
