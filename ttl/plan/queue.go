package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Entry is a line of an expiry queue: which row had which date when it was seen. It is a hint of
// where expired rows are; the row's own date decides.
type Entry struct {
	Shard int
	Date  string // of the row's TTL column, to the microsecond
	Key   tables.Key
	Hash  tables.Value // of Key
}

// NewEntry is the entry of a row with a date as the server prints it; false if that is no date.
func NewEntry(key tables.Key, date string, shards int) (Entry, bool) {
	date, ok := dateOf(date)
	if !ok {
		return Entry{}, false
	}
	hash := hashOf(key.Encode())
	return Entry{Shard: int(hash[0]) % shards, Date: date, Key: key, Hash: hash}, true
}

func hashOf(key string) tables.Value {
	sum := sha256.Sum256([]byte(key))
	return tables.Value(sum[:16])
}

// entryDate is how all dates are written.
const entryDate = "2006-01-02 15:04:05.000000"

// dateOf writes dates of all kinds of columns in one way.
func dateOf(text string) (string, bool) {
	for _, layout := range []string{time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(entryDate), true
		}
	}
	return "", false
}

// Position is where an entry stands in its shard: by date, the oldest first.
func (e Entry) Position() tables.Key { return tables.Key{tables.Value(e.Date), e.Hash} }

// positions are the columns of a Position.
var positions = tables.Columns{{Name: "dated", Kind: tables.Datetime}, {Name: "key_hash", Kind: tables.Bytes}}

// ExpiryQueue writes the statements on the entries of a queue.
type ExpiryQueue struct {
	Table  string // of entries: quoted and qualified
	ID     uint64
	Shards int    // to which new entries go
	Until  string // only rows with dates before this one get entries; empty for all
}

// Entry is the entry of a row with a date as the server prints it; false if it gets none.
func (q ExpiryQueue) Entry(key tables.Key, date string) (Entry, bool) {
	e, ok := NewEntry(key, date, q.Shards)
	return e, ok && (q.Until == "" || e.Date < q.Until)
}

// CensusUntil is before which date rows get entries from a census that began at a moment: no other
// expires before the next but one.
func CensusUntil(t catalog.Terms, c tables.Column, began time.Time) (string, error) {
	cutoff, err := CutoffOf(t, c, began.Add(censusesAhead*CensusEvery(t)))
	if err != nil {
		return "", err
	}
	back := time.Hour // an earlier cutoff may lie behind a later one: when clocks go back
	if t.Span.Months > 0 {
		back += oneDay // and where a month before several days is the same one
	}
	return cutoff.upper().Add(back).Format(entryDate), nil
}

// EntryColumns are how many values each row of Page has; EntryOf reads them.
const EntryColumns = 3

// Page reads the next entries of a shard before a cutoff, a literal, after a position.
func (q ExpiryQueue) Page(shard int, cutoff string, after tables.Key, n int) (string, error) {
	from, err := positions.After(after)
	return fmt.Sprintf("SELECT %s, row_key FROM %s WHERE queue_id = %d AND shard = %d AND dated < %s AND (%s) "+
		"ORDER BY %s LIMIT %d", positions.Select(), q.Table, q.ID, shard, cutoff, from, positions.Order(), n), err
}

// EntryOf is the entry that a row of Page says. A key that cannot be read is none, which no row has.
func EntryOf(shard int, row tables.Key) Entry {
	key, err := tables.DecodeKey(string(row[2]))
	if err != nil {
		key = nil
	}
	return Entry{Shard: shard, Date: string(row[0]), Hash: row[1], Key: key}
}

// Due reads in which of the first shards there are entries before a cutoff.
func (q ExpiryQueue) Due(shards int, cutoff string) string {
	parts := make([]string, shards)
	for i := range parts {
		parts[i] = fmt.Sprintf("(SELECT %d FROM %s WHERE queue_id = %d AND shard = %d AND dated < %s LIMIT 1)", i,
			q.Table, q.ID, i, cutoff)
	}
	return strings.Join(parts, " UNION ALL ")
}

// Add writes entries down; those that are there already stay.
func (q ExpiryQueue) Add(entries []Entry) string {
	rows := make([]string, len(entries))
	for i, e := range entries {
		rows[i] = "(" + q.identified(e) + ", " + tables.Literal(e.Key.Encode()) + ")"
	}
	return "INSERT IGNORE INTO " + q.Table + " (queue_id, shard, dated, key_hash, row_key) VALUES " +
		strings.Join(rows, ", ")
}

// Remove deletes entries, if a condition holds; an empty one always does.
func (q ExpiryQueue) Remove(entries []Entry, condition string) string {
	return "DELETE FROM " + q.Table + " WHERE " + and(q.among(entries), condition)
}

// among is the condition of exactly the given entries, a single one column by column (see tables.Columns.In).
func (q ExpiryQueue) among(entries []Entry) string {
	if len(entries) == 1 {
		e := entries[0]
		return fmt.Sprintf("queue_id = %d AND shard = %d AND dated = '%s' AND key_hash = x'%s'", q.ID, e.Shard, e.Date,
			hex.EncodeToString([]byte(e.Hash)))
	}
	rows := make([]string, len(entries))
	for i, e := range entries {
		rows[i] = "(" + q.identified(e) + ")"
	}
	return "(queue_id, shard, dated, key_hash) IN (" + strings.Join(rows, ", ") + ")"
}

// identified writes the primary key of an entry.
func (q ExpiryQueue) identified(e Entry) string {
	return fmt.Sprintf("%d, %d, '%s', x'%s'", q.ID, e.Shard, e.Date, hex.EncodeToString([]byte(e.Hash)))
}

// Dates reads the keys and dates of the rows of a range that may expire, in the order of their keys;
// only those before a date, if one is given.
func (s *Statements) Dates(r Range, until string) (string, error) {
	where, err := s.within(r)
	if until != "" {
		where += " AND " + s.Expired.Column + " < '" + until + "'"
	}
	return "SELECT " + s.Key.Select() + ", CAST(" + s.Expired.Column + " AS CHAR)" + s.byKey() + " WHERE " + where +
		" AND " + s.Expired.Column + " >= " + s.Expired.Floor + " ORDER BY " + s.Key.Order(), err
}

// Present reads the keys and dates of rows that are named by key, and 1 for those that go. A date by
// which no row ever expires is empty.
func (s *Statements) Present(keys []tables.Key) (string, error) {
	in, err := s.Key.In(keys)
	return "SELECT " + s.Key.Select() + ", IF(" + s.Expired.Column + " >= " + s.Expired.Floor + ", CAST(" +
		s.Expired.Column + " AS CHAR), ''), IF(" + s.due() + ", 1, 0)" + s.byKey() + " WHERE " + in, err
}

// Left reads how many of the rows named by key are still there.
func (s *Statements) Left(keys []tables.Key) (string, error) {
	in, err := s.Key.In(keys)
	return "SELECT COUNT(*)" + s.byKey() + " WHERE " + in, err
}

// Shape tells tables apart of which different entries would be written: by InnoDB's id, by the key,
// by the column, and by when rows expire.
func (s *Statements) Shape(id uint64, t catalog.Terms) string {
	parts := []string{
		strconv.FormatUint(id, 10), s.Expired.Column, strconv.Itoa(int(s.Expired.Kind)),
		strconv.FormatInt(t.Span.Months, 10), strconv.FormatInt(t.Span.Micros, 10), fmt.Sprint(t.Timing.Zone),
	}
	for _, c := range s.Key {
		parts = append(parts, c.Quoted(), strconv.Itoa(int(c.Kind)), c.Charset, c.Collation)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// queued reports whether a way has to do with an expiry queue.
func (w Way) queued() bool { return w == Census || w == DrainQueue }

// Queueing is what decides between an expiry queue and the other plans.
type Queueing struct {
	Terms     catalog.Terms
	IndexScan bool      // ttl_enable_index_scan
	Now       time.Time // of the database
	Census    time.Time // when the last census began that came to its end; zero for none
	Whole     bool      // every expired row is meant, whether the queue knows of it or not: RUN TTL JOB
}

const (
	// censusShare is which part of a row's life may pass between two censuses: a row that lives for
	// its whole interval is seen by one of them before it expires.
	censusShare = 2
	// mostBetween is the most time between two censuses: rows that come with old dates, and rows
	// whose date is moved back, wait for the next.
	mostBetween = 24 * time.Hour
	// censusesAhead is for how many times as long rows are written down. Others are seen again before
	// they expire: of those that are refreshed all the time, most are never written.
	censusesAhead = 2
	// queuedJobs is how many jobs there must be for each census. With fewer of them a queue costs more
	// than it saves.
	queuedJobs = 2
)

// CensusEvery is how often a table is read whole for its expiry queue.
func CensusEvery(t catalog.Terms) time.Duration {
	const month = 28 * 24 * time.Hour
	if t.Span.Months > 0 {
		return min(month/censusShare, mostBetween)
	}
	return time.Duration(min(t.Span.Micros/censusShare, mostBetween.Microseconds())) * time.Microsecond
}

// unqueued says why an expiry queue would be of no use; empty if it is.
func (s *Statements) unqueued(q Queueing) string {
	every := CensusEvery(q.Terms)
	switch {
	case s.KeyIndex == "":
		return "the table has no key to name rows by"
	case s.TimeIndex != "" && q.IndexScan:
		return "the table has index " + s.TimeIndex
	case every <= 0 || q.Terms.Timing.Interval*queuedJobs > every:
		return fmt.Sprintf("a census every %s would be due for almost every job", ddl.FormatDuration(every))
	}
	return ""
}

// ByQueue is the choice for a table whose policy asks for an expiry queue, where without one it would
// be another.
func (s *Statements) ByQueue(without Choice, e Estimate, q Queueing) Choice {
	if q.Terms.Options.Plan != ddl.PlanQueue {
		return without
	}
	if why := s.unqueued(q); why != "" {
		without.Reason += "; no expiry queue: " + why
		return without
	}
	if without.Way != WalkRange {
		return without
	}

	every := CensusEvery(q.Terms)
	census := func(why string) Choice {
		return Choice{Census, fmt.Sprintf("key %s in blocks, writing down which rows expire soon: %s", s.KeyIndex, why)}
	}

	switch {
	case q.Whole:
		return census("every expired row is meant, whether the queue knows of it or not")
	case q.Census.IsZero():
		return census("the expiry queue is empty")
	case q.Now.Sub(q.Census) >= every:
		return census(fmt.Sprintf("the last census began at %s, one is due every %s", catalog.Moment(q.Census),
			ddl.FormatDuration(every)))
	case e.Expired*randomCost > e.Rows:
		return census(percent(e.Share()) + " of the rows are due, too many to go by key")
	default:
		return Choice{DrainQueue, fmt.Sprintf("expiry queue from the old end, as of the census of %s",
			catalog.Moment(q.Census))}
	}
}
