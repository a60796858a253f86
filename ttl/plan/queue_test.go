package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestByQueue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
	hour := int64(time.Hour / time.Microsecond)
	without := Choice{WalkRange, "key in blocks"}

	for name, c := range map[string]struct {
		change  func(*Statements, *Queueing)
		due     int64 // of 1000 rows
		want    Way
		because string
	}{
		"nobody asked": {
			func(_ *Statements, q *Queueing) { q.Terms.Options.Plan = "" }, 1, WalkRange, "key in blocks",
		},
		"never counted":  {func(_ *Statements, q *Queueing) { q.Census = time.Time{} }, 1, Census, "is empty"},
		"counted lately": {func(*Statements, *Queueing) {}, 1, DrainQueue, "as of the census of 2026-05-10 11:00:00"},
		"counted long ago": {
			func(_ *Statements, q *Queueing) { q.Census = now.Add(-5 * time.Hour) }, 1, Census, "every 5h",
		},
		"half of it is due": {func(*Statements, *Queueing) {}, 500, Census, "too many"},
		"all are meant":     {func(_ *Statements, q *Queueing) { q.Whole = true }, 1, Census, "every expired row"},
		"no key":            {func(s *Statements, _ *Queueing) { s.KeyIndex = "" }, 1, WalkRange, "no key"},
		"an index on time":  {func(s *Statements, _ *Queueing) { s.TimeIndex = "made" }, 1, WalkRange, "has index made"},
		"an index, switched off": {
			func(s *Statements, q *Queueing) { s.TimeIndex, q.IndexScan = "made", false }, 1, DrainQueue, "census",
		},
		"rare jobs": {
			func(_ *Statements, q *Queueing) { q.Terms.Timing.Interval = 3 * time.Hour }, 1, WalkRange, "almost every job",
		},
		"a short life": {func(_ *Statements, q *Queueing) { q.Terms.Span.Micros = hour }, 1, WalkRange, "every 30m"},
		"a long one": {
			func(_ *Statements, q *Queueing) {
				q.Terms.Span = ddl.Span{Months: 12}
				q.Census = now.Add(-23 * time.Hour)
			},
			1, DrainQueue, "census",
		},
	} {
		s := &Statements{KeyIndex: "PRIMARY"}
		q := Queueing{IndexScan: true, Now: now, Census: now.Add(-time.Hour)}
		q.Terms = catalog.Terms{Span: ddl.Span{Micros: 10 * hour}, Options: ddl.Options{Plan: ddl.PlanQueue}}
		q.Terms.Timing.Interval = time.Hour
		c.change(s, &q)

		got := s.ByQueue(without, Estimate{Rows: 1000, Expired: c.due}, q)
		if got.Way != c.want || !strings.Contains(got.Reason, c.because) {
			t.Errorf("%s: got %s (%s), want %s because %s", name, got.Way, got.Reason, c.want, c.because)
		}
	}
}

func TestNewEntry(t *testing.T) {
	t.Parallel()
	key := tables.Key{"Käse", "1"}
	for date, want := range map[string]string{
		"2026-05-10 12:00:00": "2026-05-10 12:00:00.000000", "2026-05-10": "2026-05-10 00:00:00.000000",
		"2026-05-10 12:00:00.12": "2026-05-10 12:00:00.120000", "": "", "0000-00-00 00:00:00": "", "2026-02-31": "",
	} {
		e, ok := NewEntry(key, date, 7)
		if ok != (want != "") || ok && (e.Date != want || e.Shard < 0 || e.Shard > 6 || len(e.Hash) != 16) {
			t.Errorf("%q: got %+v, %v, want %q", date, e, ok, want)
		}

		read := EntryOf(e.Shard, tables.Key{tables.Value(e.Date), e.Hash, tables.Value(key.Encode())})
		if ok && (!read.Key.Equal(key) || !read.Position().Equal(e.Position())) {
			t.Errorf("%q: got %+v back, want %+v", date, read, e)
		}
	}
}

// TestCensusUntil: no row that a census leaves out expires before the next one begins, whatever the
// clocks and the lengths of months; and rows that live on for long are left out.
func TestCensusUntil(t *testing.T) {
	t.Parallel()
	for _, span := range [][2]string{{"1", "MONTH"}, {"30", "DAY"}, {"1", "HOUR"}} {
		for _, kind := range []tables.Kind{tables.Datetime, tables.Timestamp, tables.Date} {
			terms, err := catalog.Rule{
				Column: "made", Literal: span[0], Unit: span[1], JobInterval: "1m", TimeZone: "Europe/Prague",
			}.Terms()
			if err != nil {
				t.Fatal(err)
			}
			c, every := tables.Column{Name: "made", Kind: kind}, CensusEvery(terms)
			began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for ; began.Year() < 2027; began = began.Add(3571 * time.Second) {
				until, err := CensusUntil(terms, c, began)
				if err != nil {
					t.Fatal(err)
				}
				q := ExpiryQueue{Shards: 1, Until: until}

				for _, at := range []time.Duration{0, every / 3, every} { // jobs that begin later are censuses
					cutoff, err := CutoffOf(terms, c, began.Add(at))
					if err != nil {
						t.Fatal(err)
					}
					due := cutoff.upper().Add(-time.Second).Format(time.DateTime)
					if _, written := q.Entry(tables.Key{"1"}, due); !written {
						t.Fatalf("%v, %v: a row of %s is due %v after %v, and left out (until %s)", span, kind, due, at,
							began, until)
					}
				}
				if _, written := q.Entry(tables.Key{"1"}, began.Add(48*time.Hour).Format(time.DateTime)); written {
					t.Fatalf("%v, %v: a row of the day after tomorrow is written down at %v", span, kind, began)
				}
			}
		}
	}
}

// TestShape: whatever would make entries useless makes another shape.
func TestShape(t *testing.T) {
	t.Parallel()
	terms := catalog.Terms{Span: ddl.Span{Micros: 7}}
	terms.Timing.Zone = time.UTC
	of := func(id uint64, column string, kind tables.Kind, key ...tables.Column) string {
		return (&Statements{Expired: Predicate{Column: column, Kind: kind}, Key: key}).Shape(id, terms)
	}
	under := func(s ddl.Span, zone *time.Location) string {
		before := terms
		defer func() { terms = before }()
		terms.Span, terms.Timing.Zone = s, zone
		return of(1, "`made`", tables.Datetime)
	}
	a, b := tables.Column{Name: "a", Kind: tables.Number}, tables.Column{Name: "b", Kind: tables.Text, Collation: "x"}
	c := b
	c.Collation = "y"

	seen := map[string]bool{}
	for _, shape := range []string{
		of(1, "`made`", tables.Datetime, a), of(2, "`made`", tables.Datetime, a), of(1, "`born`", tables.Datetime, a),
		of(1, "`made`", tables.Date, a), of(1, "`made`", tables.Datetime, b), of(1, "`made`", tables.Datetime, a, b),
		of(1, "`made`", tables.Datetime, b, a), of(1, "`made`", tables.Datetime, c),
		under(ddl.Span{Micros: 7}, time.UTC), under(ddl.Span{Micros: 8}, time.UTC), under(ddl.Span{Months: 7}, time.UTC),
		under(ddl.Span{Micros: 7}, time.FixedZone("other", 3600)),
	} {
		if seen[shape] {
			t.Errorf("shape %s occurs twice", shape)
		}
		seen[shape] = true
	}
}
