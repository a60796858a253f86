package work

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/family"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// memTable is a table in memory whose rows are due, locked or poison, and whose statements take
// time and fail now and then.
type memTable struct {
	expiries // which no walk of this table asks

	t      *testing.T
	rnd    *rand.Rand
	keys   []int
	due    map[int]bool
	locked map[int]bool  // somebody holds the row
	freed  time.Time     // when all of them are let go; zero for never
	poison map[int]bool  // a trigger objects
	stays  map[int]bool  // something points at the row
	behind map[int]bool  // somebody holds what goes with the row
	waits  time.Duration // for that
	tells  error         // what deleteFree says of it

	familyOf map[int]int // rows that depend on a row
	along    int         // of them that went

	cursor                                       int
	scanned, deleted, refreshed, skipped, failed int64
	statements                                   int
	sent                                         []time.Time // DELETEs
	largest                                      int64       // rows that one of them has deleted
	stuck                                        undeletable
}

func newMemTable(t *testing.T, seed uint64, rows int) *memTable {
	t.Helper()
	m := &memTable{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), due: map[int]bool{}, locked: map[int]bool{},
		poison: map[int]bool{}, stays: map[int]bool{}, behind: map[int]bool{}, tells: errBehind,
		familyOf: map[int]int{},
	}
	share := m.rnd.Float64()
	for key := range rows {
		key = key*3 + m.rnd.IntN(3)
		m.keys = append(m.keys, key)
		m.due[key] = m.rnd.Float64() < share
		m.locked[key] = m.rnd.IntN(200) == 0
		m.poison[key] = m.due[key] && m.rnd.IntN(300) == 0
	}
	return m
}

func (m *memTable) number(k tables.Key, open int) int {
	if k == nil {
		return open
	}
	n, err := strconv.Atoi(string(k[0]))
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

func keyOf(n int) tables.Key { return tables.Key{tables.Value(strconv.Itoa(n))} }

// held reports whether the application has locked a row and not let it go.
func (m *memTable) held(k int) bool {
	return m.locked[k] && (m.freed.IsZero() || time.Now().Before(m.freed))
}

func (m *memTable) in(r plan.Range) []int {
	from, to := m.number(r.From, -1), m.number(r.To, 1<<40)
	var in []int
	for _, k := range m.keys {
		if k > from && k <= to {
			in = append(in, k)
		}
	}
	return in
}

func (m *memTable) blockEnd(_ context.Context, r plan.Range, rows int) (tables.Key, error) {
	if in := m.in(r); len(in) >= rows {
		return keyOf(in[rows-1]), nil
	}
	return nil, nil
}

func (m *memTable) blockRows(_ context.Context, r plan.Range) (int, error) { return len(m.in(r)), nil }

func (m *memTable) expired(_ context.Context, r plan.Range) (rows []found, err error) {
	for _, k := range m.in(r) {
		switch {
		case m.due[k]:
			rows = append(rows, found{at: keyOf(k)})
		case m.stays[k]:
			rows = append(rows, found{at: keyOf(k), stays: true, expired: expiryOf(k)})
		}
	}
	return rows, nil
}

// expiryOf is when a row expired, if it has.
func expiryOf(key int) time.Time { return time.Unix(int64((key*7919)%100_003), 0) }

func (m *memTable) dateOf(_ context.Context, key tables.Key) (time.Time, error) {
	return expiryOf(m.number(key, 0)), nil
}

func (m *memTable) kept(context.Context) (undeletable, error) {
	var all undeletable
	for k, stays := range m.stays {
		if stays {
			all = all.and(undeletable{1, expiryOf(k)})
		}
	}
	return all, nil
}

func (m *memTable) dueAmong(_ context.Context, r plan.Range, keys []tables.Key) ([]tables.Key, error) {
	in := m.in(r)
	return slices.DeleteFunc(slices.Clone(keys), func(k tables.Key) bool {
		n := m.number(k, 0)
		return !m.due[n] || !slices.Contains(in, n)
	}), nil
}

func (m *memTable) page(ctx context.Context, r plan.Range, rows int) ([]found, error) {
	all, err := m.expired(ctx, r)
	return all[:min(rows, len(all))], err
}

func (*memTable) keyOf(entry tables.Key) tables.Key { return entry }
func (*memTable) resume(uint64)                     {}

func (m *memTable) deleteRange(_ context.Context, r plan.Range, c checkpoint) (int64, error) {
	m.sent = append(m.sent, time.Now())
	in := m.in(r)
	for _, k := range in { // a range waits for every row it looks at
		if m.held(k) || m.due[k] && m.behind[k] {
			return 0, &mysql.MySQLError{Number: 1205}
		}
	}
	return m.remove(in, c)
}

func (m *memTable) deleteKeys(_ context.Context, keys []tables.Key, c checkpoint) (int64, error) {
	m.sent = append(m.sent, time.Now())
	in := m.numbers(keys)
	for _, k := range in {
		if m.held(k) || m.due[k] && m.behind[k] {
			return 0, &mysql.MySQLError{Number: 1205}
		}
	}
	return m.remove(in, c)
}

func (m *memTable) deleteFree(_ context.Context, keys []tables.Key, c checkpoint) (int64, []tables.Key, error) {
	m.sent = append(m.sent, time.Now())
	held := slices.DeleteFunc(slices.Clone(keys), func(k tables.Key) bool { return !m.held(m.number(k, 0)) })
	in := slices.DeleteFunc(m.numbers(keys), func(k int) bool { return m.held(k) })
	if slices.ContainsFunc(in, func(k int) bool { return m.behind[k] }) {
		return 0, nil, fmt.Errorf("%w: %w", m.tells, &mysql.MySQLError{Number: 1205})
	}

	c.skipped += int64(len(held))
	c.chosen = int64(len(in))
	deleted, err := m.remove(in, c)
	if err != nil {
		return 0, nil, err
	}

	return deleted, held, nil
}

// deleteAlong takes along as many rows as familyOf says.
func (m *memTable) deleteAlong(_ context.Context, keys []tables.Key, c checkpoint, b bounds) (taken, error) {
	m.sent = append(m.sent, time.Now())
	held := slices.DeleteFunc(slices.Clone(keys), func(k tables.Key) bool { return !m.held(m.number(k, 0)) })
	in := slices.DeleteFunc(m.numbers(keys), func(k int) bool { return m.held(k) })
	along := 0
	for _, k := range in {
		if m.behind[k] {
			time.Sleep(m.waits)
			return taken{}, &mysql.MySQLError{Number: 1205}
		}
		along += m.familyOf[k]
	}
	if along > b.along {
		return taken{}, family.ErrTooMany
	}

	c.skipped += int64(len(held))
	deleted, err := m.remove(in, c)
	m.along += along
	return taken{rows: deleted + int64(along), locked: held, statements: 2}, err
}

func (m *memTable) deleteBelow(_ context.Context, key tables.Key, c checkpoint, b bounds) (taken, error) {
	m.sent = append(m.sent, time.Now())
	k := m.number(key, 0)
	part := min(m.familyOf[k], b.along)
	m.familyOf[k] -= part
	m.along += part
	_, err := m.remove(nil, c)
	return taken{rows: int64(part), statements: 1}, err
}

func (m *memTable) deleteSome(_ context.Context, rows int, c checkpoint) (int64, error) {
	m.sent = append(m.sent, time.Now())
	var in []int
	for _, k := range m.keys {
		if m.due[k] && len(in) < rows {
			in = append(in, k)
		}
	}
	return m.remove(in, c)
}

func (m *memTable) numbers(keys []tables.Key) []int {
	in := make([]int, len(keys))
	for i, k := range keys {
		in[i] = m.number(k, 0)
	}
	return in
}

// remove is a committed packet, unless a row objects or the moment is bad.
func (m *memTable) remove(in []int, c checkpoint) (int64, error) {
	m.statements++
	time.Sleep(time.Duration(len(in)) * 10 * time.Microsecond) // virtual time
	if m.rnd.IntN(20) == 0 {
		return 0, &mysql.MySQLError{Number: 1213}
	}

	for _, k := range in {
		if m.due[k] && m.poison[k] {
			return 0, &mysql.MySQLError{Number: 1644, Message: "not this one"}
		}
	}

	n := int64(0)
	for _, k := range in {
		if m.due[k] {
			delete(m.due, k)
			m.keys = slices.DeleteFunc(m.keys, func(o int) bool { return o == k })
			n++
		}
	}

	m.advance(c)
	m.deleted += n
	m.largest = max(m.largest, n)
	m.skipped += c.skipped - c.again
	m.stuck = m.stuck.and(c.stuck)

	if c.chosen > 0 {
		m.refreshed += c.chosen - n
	}

	return n, nil
}

func (m *memTable) move(_ context.Context, c checkpoint) error {
	m.advance(c)
	m.failed += c.failed
	if c.whole {
		m.stuck = undeletable{}
	}
	m.stuck = m.stuck.and(c.stuck)
	m.skipped += c.skipped - c.again
	return nil
}

func (m *memTable) advance(c checkpoint) {
	m.scanned += c.scanned
	if c.cursor == nil {
		return
	}
	at := m.number(c.cursor, 0)
	if at < m.cursor {
		m.t.Errorf("the cursor goes back from %d to %d", m.cursor, at)
	}
	m.cursor = at
}

// TestWalkDeletesWhatIsDueAndNothingElse walks random tables with locked and poison rows and
// failing statements.
func TestWalkDeletesWhatIsDueAndNothingElse(t *testing.T) {
	for seed := range uint64(40) {
		for _, way := range []plan.Way{plan.WalkRange, plan.WalkIndex} {
			t.Run(fmt.Sprintf("%s %d", way, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { walkRandomTable(t, seed, way) })
			})
		}
	}
}

func walkRandomTable(t *testing.T, seed uint64, way plan.Way) {
	m := newMemTable(t, seed, 2000)
	rows, due, held := len(m.keys), 0, 0
	rests, stuck := newResting(), undeletable{}
	for _, k := range m.keys {
		if m.due[k] && seed%3 == 1 && m.rnd.IntN(4) == 0 { // as it is where foreign keys decide
			delete(m.due, k)
			m.stays[k] = true
			stuck = stuck.and(undeletable{1, expiryOf(k)})
		}
		if m.due[k] {
			due++
		}
		if m.due[k] && m.locked[k] {
			held++
		}
		if seed%2 == 0 && m.due[k] && m.poison[k] && m.rnd.IntN(3) > 0 {
			rests.add(k)
			stuck = stuck.and(undeletable{1, expiryOf(k)})
		}
	}
	rests.many = seed%4 == 0

	reported := map[string]bool{}
	poisoned := func(_ context.Context, key tables.Key, expired time.Time, _ error) error {
		if !reported[key.Encode()] {
			stuck = stuck.and(undeletable{1, expired})
		}
		reported[key.Encode()] = true
		if _, rests := rests.known[key.Encode()]; rests {
			t.Errorf("row %s was tried although it rests", key.Encode())
		}
		return nil
	}

	size := pace.NewBatchSize(100, 500, 50*time.Millisecond)
	w := newWalk(m, way, plan.Range{}, size, pace.NewRates(func(string, time.Duration) {}), poisoned)
	w.pageRows, w.listRows, w.resting = 300, 70, rests
	w.named = len(m.stays) > 0
	if seed%3 == 0 {
		w.along, w.named, w.mostAlong = true, true, 100
		for _, k := range m.keys {
			if m.familyOf[k] = m.rnd.IntN(3); m.rnd.IntN(300) == 0 {
				m.familyOf[k] = 350 // in four parts
			}
			m.behind[k] = m.rnd.IntN(500) == 0 && !m.poison[k] && !m.locked[k]
			if m.due[k] && m.behind[k] {
				held++
			}
		}
	}
	for tries := 0; ; {
		done, err := w.step(t.Context())
		if err == nil && done {
			break
		}
		if err == nil {
			tries = 0
			continue
		}
		if tries++; classify(err) != notExecuted || tries > 50 {
			t.Fatalf("step: %v after %d tries", err, tries)
		}

		size.Failed()
		w.resume(cursorOf(m), 0) // as the engine does: from the last checkpoint
	}

	if got := int(m.deleted + m.skipped + m.failed); got != due {
		t.Errorf("deleted %d + skipped %d + failed %d rows = %d, want %d", m.deleted, m.skipped, m.failed, got, due)
	}
	if len(m.keys) != rows-int(m.deleted) {
		t.Errorf("%d of %d rows are left after %d deletions", len(m.keys), rows, m.deleted)
	}
	if len(reported) == int(m.failed) && m.stuck != stuck {
		t.Errorf("%v rows count as undeletable, want %v", m.stuck, stuck)
	}
	if n := int(m.skipped); n > held+len(rests.keys) || n < len(rests.keys) {
		t.Errorf("%d rows were skipped, %d are held and %d rest", n, held, len(rests.keys))
	}
	if len(reported) != int(m.failed) {
		t.Errorf("%d rows are reported, %d failed", len(reported), m.failed)
	}

	// Of a block that was taken again the part that is done counts by its keys.
	if n := int(m.scanned); way == plan.WalkRange && (n < rows*9/10 || n > rows*11/10) {
		t.Errorf("%d rows count as examined, want about %d", n, rows)
	}
	if m.refreshed != 0 {
		t.Errorf("%d rows count as refreshed, none was", m.refreshed)
	}
}

// TestLastPageMayBeFull: rows that stay count, also where the last page that holds any is full.
func TestLastPageMayBeFull(t *testing.T) {
	for _, rows := range []int{0, 299, 300, 301, 600} {
		for _, way := range []plan.Way{plan.WalkRange, plan.WalkIndex} {
			synctest.Test(t, func(t *testing.T) {
				m := newMemTable(t, 1, rows)
				want := undeletable{}
				for _, k := range m.keys {
					delete(m.due, k)
					m.stays[k] = true
					want = want.and(undeletable{1, expiryOf(k)})
				}

				w := newWalk(m, way, plan.Range{}, pace.NewBatchSize(300, 300, time.Hour),
					pace.NewRates(func(string, time.Duration) {}), nil)
				w.pageRows, w.named, w.resting = 300, true, newResting()
				m.toEnd(w)
				if m.stuck != want || m.scanned != int64(rows) {
					t.Errorf("%s: of %d rows that stay, %v count, and %d as examined", way, rows, m.stuck, m.scanned)
				}
			})
		}
	}
}

// TestLimitsHoldOnEveryWay: whatever the plan, and whatever is locked, poison or fails, each DELETE
// is within its bound of rows and waits for its turn, also when it is sent again.
func TestLimitsHoldOnEveryWay(t *testing.T) {
	untouched := Limits{DeleteBatch: 100, ScanBatch: 500, Target: time.Second}
	set := untouched
	set.DeleteBatch, set.DeleteMost = 30, 30
	for _, way := range []plan.Way{plan.WalkRange, plan.WalkIndex, plan.DeleteSome} {
		for name, c := range map[string]struct {
			limits Limits
			own    int // TTL_DELETE_BATCH_SIZE
			most   int64
		}{
			"untouched":            {untouched, 0, largestBlock},
			"set":                  {set, 0, 30},
			"set for the table":    {untouched, 20, 20},
			"the table goes first": {set, 40, 40},
		} {
			t.Run(string(way)+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { walkWithin(t, way, &c.limits, c.own, c.most) })
			})
		}
	}
}

// ledger notes what a walk pays for.
type ledger struct {
	*pace.Rates
	rows, more int64
}

func (l *ledger) MayDelete(ctx context.Context, rows int64) error {
	l.rows += rows
	return l.Rates.MayDelete(ctx, rows)
}

func (l *ledger) Spend(scanned, deleted int64) {
	l.rows, l.more = l.rows+deleted, l.more+max(deleted, 0)
	l.Rates.Spend(scanned, deleted)
}

// walkWithin walks a table at five DELETEs a second.
func walkWithin(t *testing.T, way plan.Way, l *Limits, ownBatch int, most int64) {
	m := newMemTable(t, 11, 2000)
	if way == plan.DeleteSome {
		clear(m.poison)
	}

	due := 0
	for _, is := range m.due {
		if is {
			due++
		}
	}

	r := pace.NewRates(func(string, time.Duration) {})
	r.Set(5, pace.Limit{}, 0)
	book := &ledger{Rates: r}
	w := newWalk(m, way, plan.Range{}, pace.NewBatchSize(500, 500, time.Second), book,
		func(context.Context, tables.Key, time.Time, error) error { return nil })
	w.ownBatch = ownBatch

	for done := false; !done; {
		w.adopt(l, l.Target)
		var err error
		if done, err = w.step(t.Context()); err != nil {
			if classify(err) != notExecuted {
				t.Fatal(err)
			}
			w.resume(cursorOf(m), 0)
			done = false
		}
	}

	if got := int(m.deleted + m.skipped + m.failed); got != due {
		t.Errorf("deleted %d + skipped %d + failed %d rows, want %d", m.deleted, m.skipped, m.failed, due)
	}
	if m.largest > most {
		t.Errorf("one DELETE has deleted %d rows, want at most %d", m.largest, most)
	}
	if book.rows != w.deleted || book.more > 0 {
		t.Errorf("%d rows are paid for, of which %d more than were asked for; %d have gone", book.rows, book.more, w.deleted)
	}

	for i := 5; i < len(m.sent); i++ {
		if took := m.sent[i].Sub(m.sent[i-5]); took < time.Second {
			t.Fatalf("six DELETEs within %v, want five a second", took)
		}
	}
}

// TestHeldRowsAreTriedAgain: rows that were locked when the walk came by go when it looks again,
// and then no longer count as skipped.
func TestHeldRowsAreTriedAgain(t *testing.T) {
	for _, way := range []plan.Way{plan.WalkRange, plan.WalkIndex} {
		t.Run(string(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemTable(t, 5, 3000)
				clear(m.poison)
				due := 0
				for _, k := range m.keys {
					if m.locked[k] = m.due[k] && due%3 == 0; m.due[k] {
						due++
					}
				}

				w := newWalk(m, way, plan.Range{}, pace.NewBatchSize(200, 200, time.Hour),
					pace.NewRates(func(string, time.Duration) {}), nil)
				m.toEnd(w)
				if held := int(m.skipped); held != (due+2)/3 || len(w.parked) != held || int(m.deleted) != due-held {
					t.Fatalf("%d rows are skipped, %d parked, %d deleted; %d were due",
						held, len(w.parked), m.deleted, due)
				}

				began := time.Now()
				m.freed = began.Add(150 * time.Millisecond) // the first two looks come too early
				w.revisit(t.Context(), revisits)
				if int(m.deleted) != due || m.skipped != 0 || m.refreshed != 0 || len(w.parked) != 0 {
					t.Errorf("%d of %d rows went in the end, %d count as skipped, %d as refreshed",
						m.deleted, due, m.skipped, m.refreshed)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("that took %v", took)
				}
			})
		})
	}
}

// TestWhatIsBehindARow: where a row is free and something that goes with it is not, the row is
// found without waiting, or some rows are left after a single wait; and when it is not the rows
// at all, the walk stops and says so.
func TestWhatIsBehindARow(t *testing.T) {
	for _, c := range []struct {
		name  string
		tells error
		most  int // rows left for each culprit
	}{{"at once", errBehind, 1}, {"after a wait", errWaited, 500}} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemTable(t, 5, 3000)
				clear(m.poison)
				clear(m.locked)
				m.tells = c.tells
				due, culprits := 0, 0

				for i, k := range m.keys {
					if m.due[k] {
						due++
					}
					if m.behind[k] = m.due[k] && i%700 < 3; m.behind[k] {
						culprits++
					}
				}

				w := newWalk(m, plan.WalkRange, plan.Range{}, pace.NewBatchSize(500, 500, time.Hour),
					pace.NewRates(func(string, time.Duration) {}), nil)
				m.toEnd(w)
				left := int(m.skipped)
				if left < culprits || left > culprits*c.most || int(m.deleted)+left != due {
					t.Errorf("%d rows are left for %d culprits, %d deleted, %d were due",
						left, culprits, m.deleted, due)
				}

				for _, k := range m.keys {
					m.due[k], m.behind[k] = true, true
				}

				w = newWalk(m, plan.WalkRange, plan.Range{}, pace.NewBatchSize(500, 500, time.Hour),
					pace.NewRates(func(string, time.Duration) {}), nil)
				m.cursor, m.skipped = 0, 0
				var done bool

				var err error
				for !done && err == nil {
					done, err = w.step(t.Context())
				}

				if !errors.Is(err, errBehind) || int(m.skipped) > behindLimit*c.most {
					t.Errorf("got %v and %d rows left where none can go, want to hear of it", err, m.skipped)
				}
			})
		})
	}
}

// toEnd walks to the end, taking failed steps again from the last checkpoint.
func (m *memTable) toEnd(w *walk) {
	m.t.Helper()
	for done, tries := false, 0; !done; {
		var err error
		if done, err = w.step(m.t.Context()); err != nil {
			if tries++; classify(err) != notExecuted || tries > 50 {
				m.t.Fatalf("step: %v after %d tries", err, tries)
			}
			w.resume(cursorOf(m), 0)
		}
	}
}

// TestSlowDeletesLetTheScanGoOn: limits on DELETEs make nobody wait who has nothing to delete.
func TestSlowDeletesLetTheScanGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemTable(t, 5, 3000)
		clear(m.due)
		r := pace.NewRates(func(string, time.Duration) {})
		r.Set(1, pace.Limit{PerSecond: 1}, 0)
		r.Spend(0, 60) // no row may go for a minute
		w := newWalk(m, plan.WalkRange, plan.Range{}, pace.NewBatchSize(100, 100, time.Second), r, nil)

		began := time.Now()

		for done := false; !done; {
			var err error
			if done, err = w.step(t.Context()); err != nil && classify(err) != notExecuted {
				t.Fatal(err)
			}
		}

		if took := time.Since(began); took > 0 || len(m.sent) > 0 {
			t.Errorf("looking at 3000 rows took %v and %d DELETEs", took, len(m.sent))
		}
	})
}

// TestSlowDeletesAreNotReadInVain: what counts as examined is what the cursor has passed, and hardly more
// is read than that, however few of the rows of a block may go in the time of a slice.
func TestSlowDeletesAreNotReadInVain(t *testing.T) {
	for name, perSecond := range map[string]int64{"few": 7, "some": 50, "many": 400} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { walkSlowly(t, perSecond) })
		})
	}
}

func walkSlowly(t *testing.T, perSecond int64) {
	const rows = 3000
	m := newMemTable(t, 6, rows)
	clear(m.locked)
	clear(m.poison)
	for _, k := range m.keys {
		m.due[k] = true
	}
	r := pace.NewRates(func(string, time.Duration) {})
	r.Set(0, pace.Limit{PerSecond: float64(perSecond)}, 0)
	w := newWalk(m, plan.WalkRange, plan.Range{}, pace.NewBatchSize(1000, 2000, time.Second), r, nil)
	w.sparse = true

	read := int64(0)
	for done := false; !done; {
		var err error
		if done, err = w.step(t.Context()); err != nil && classify(err) != notExecuted {
			t.Fatal(err)
		}
		if err != nil {
			w.resume(cursorOf(m), 0)
		}
		read += w.took
		if passed := rows - int64(len(m.keys)); m.scanned < passed*9/10 || m.scanned > passed*11/10 {
			t.Fatalf("%d rows count as examined, the cursor has passed %d", m.scanned, passed)
		}
	}
	if read > 3*rows { // a DELETE of twenty fails, and its block is read again
		t.Errorf("%d rows were read to delete %d", read, rows)
	}
}

// TestSlowStatementsLetOthersHaveTheirTurn: a step ends when it has worked for long, also if nothing was deleted in
// that time. Rows that are retried are all tried.
func TestSlowStatementsLetOthersHaveTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemTable(t, 6, 300)
		clear(m.locked)
		clear(m.poison)
		m.waits = time.Second
		due := 0
		for _, k := range m.keys {
			if m.behind[k] = true; m.due[k] {
				due++
			}
		}
		w := newWalk(m, plan.WalkRange, plan.Range{}, pace.NewBatchSize(1000, 2000, time.Second),
			pace.NewRates(func(string, time.Duration) {}), nil)
		w.along, w.named, w.family = true, true, 1

		for done := false; !done; {
			began := time.Now()
			var err error
			if done, err = w.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Fatalf("a step lasted %v", took)
			}
		}
		if int(m.skipped) != due {
			t.Errorf("%d rows count as skipped, want %d", m.skipped, due)
		}

		clear(m.behind)
		m.waits, m.deleted = 0, 0
		w.revisit(t.Context(), revisits)
		if int(m.deleted) != due || m.skipped != 0 {
			t.Errorf("once they are free %d of %d rows go, and %d count as skipped", m.deleted, due, m.skipped)
		}
	})
}

// newResting are no rows, so far.
func newResting() *resting {
	r := &resting{known: map[string]time.Time{}}
	r.ask = func(context.Context, []tables.Key, bool) (map[string]time.Time, error) { return r.known, nil }
	return r
}

func (r *resting) add(key int) {
	r.keys = append(r.keys, keyOf(key))
	r.known[keyOf(key).Encode()] = expiryOf(key)
}

// TestPoisonCostsABoundedShare: when many rows object, a walk finds out a bounded number of them. The
// others are left, and known to the walks after it, which come to an end of them.
func TestPoisonCostsABoundedShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, along := range []bool{false, true} {
			m := newMemTable(t, 5, 10_000)
			clear(m.locked)
			poison := 0
			for i, k := range m.keys {
				m.due[k], m.poison[k] = true, i%4 == 0
				if m.poison[k] {
					poison++
				}
			}

			rests, walks := newResting(), 0
			for rests.many = true; len(m.due) > poison; walks++ {
				w := newWalk(m, plan.WalkRange, plan.Range{}, pace.NewBatchSize(1000, 1000, time.Hour),
					pace.NewRates(func(string, time.Duration) {}),
					func(_ context.Context, key tables.Key, _ time.Time, _ error) error {
						rests.add(m.number(key, 0))
						return nil
					})
				w.resting, w.along, w.named = rests, along, along
				m.cursor, m.failed, m.sent = 0, 0, nil
				for done := false; !done; {
					var err error
					if done, err = w.step(t.Context()); err != nil {
						w.resume(cursorOf(m), 0)
						done = false
					}
				}
				if m.failed > poisonLimit {
					t.Errorf("%d rows were found to be poison, want at most %d", m.failed, poisonLimit)
				}
				if len(m.sent) > 20*poisonLimit {
					t.Errorf("%d DELETEs for %d rows that are poison", len(m.sent), poison)
				}
				if walks > poison/poisonLimit+1 {
					t.Fatalf("%d rows are left after %d walks, %d of them poison", len(m.due), walks, poison)
				}
			}
		}
	})
}

// TestNothingIsLeftForKnownPoison: when the next try of more rows has come than a walk tries, those that
// nothing objects to go nevertheless, wherever in a block the walk gets weary.
func TestNothingIsLeftForKnownPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, along := range []bool{false, true} {
			for _, block := range []int{100, 700, 1000} {
				m := newMemTable(t, 5, 2000)
				clear(m.locked)
				rests := newResting()
				known := rests.known
				for i, k := range m.keys {
					if m.due[k], m.poison[k] = true, i%11 > 0; m.poison[k] {
						known[keyOf(k).Encode()] = expiryOf(k)
					}
				}
				poison := len(known)
				rests.known, rests.many = nil, true
				rests.ask = func(_ context.Context, _ []tables.Key, all bool) (map[string]time.Time, error) {
					if all {
						return known, nil
					}
					return nil, nil
				}

				w := newWalk(m, plan.WalkRange, plan.Range{}, pace.NewBatchSize(block, block, time.Hour),
					pace.NewRates(func(string, time.Duration) {}),
					func(context.Context, tables.Key, time.Time, error) error { return nil })
				w.resting, w.along, w.named = rests, along, along
				for done := false; !done; {
					var err error
					if done, err = w.step(t.Context()); err != nil {
						w.resume(cursorOf(m), 0)
						done = false
					}
				}

				if len(m.due) != poison {
					t.Errorf("blocks of %d, along %v: %d rows are left that nothing objects to", block, along, len(m.due)-poison)
				}
				if m.stuck.rows != int64(poison) || m.failed > poisonLimit {
					t.Errorf("blocks of %d, along %v: %d rows are undeletable, want %d; %d were tried, want at most %d",
						block, along, m.stuck.rows, poison, m.failed, poisonLimit)
				}
			}
		}
	})
}

// TestRestingRowsCostLittle: rows known to be poison do not make a walk halve its way to them.
func TestRestingRowsCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		statements := func(rest bool) int {
			m := newMemTable(t, 3, 5000)
			rests := newResting()
			clear(m.locked)
			clear(m.poison)

			for i, k := range m.keys {
				if m.due[k] = true; i%500 == 7 {
					m.poison[k] = true
					rests.add(k)
				}
			}

			w := newWalk(m, plan.WalkRange, plan.Range{}, pace.NewBatchSize(500, 500, time.Hour),
				pace.NewRates(func(string, time.Duration) {}),
				func(context.Context, tables.Key, time.Time, error) error { return nil })
			if rest {
				w.resting = rests
			}

			for done := false; !done; {
				var err error
				if done, err = w.step(t.Context()); err != nil {
					w.resume(cursorOf(m), 0)
				}
			}

			return m.statements
		}
		if tried, rested := statements(false), statements(true); rested > tried/4 {
			t.Errorf("%d statements with ten rows that rest, %d when each is tried", rested, tried)
		}
	})
}

func cursorOf(m *memTable) tables.Key {
	if m.cursor == 0 {
		return nil
	}
	return keyOf(m.cursor)
}

func TestWalkWithoutKeyDeletesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemTable(t, 7, 1000)
		clear(m.poison)
		w := newWalk(m, plan.DeleteSome, plan.Range{}, pace.NewBatchSize(100, 200, time.Second),
			pace.NewRates(func(string, time.Duration) {}), nil)
		for done := false; !done; {
			var err error
			if done, err = w.step(t.Context()); err != nil && classify(err) != notExecuted {
				t.Fatal(err)
			}
		}

		for k, due := range m.due {
			if due {
				t.Fatalf("row %d is left", k)
			}
		}
	})
}
