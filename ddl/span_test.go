package ddl

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// someSpan is any days and hours.
func someSpan(r *rand.Rand) span {
	s := span{days(1 + r.IntN(int(everyDay))), r.IntN(minutesOfDay), r.IntN(minutesOfDay)}
	switch r.IntN(4) {
	case 0:
		s.days = everyDay
	case 1:
		s.start, s.end = 0, minutesOfDay-1
	}
	return s
}

// TestWindowsAreReadAsTheyAreWritten writes any windows and reads them.
func TestWindowsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var w Window
		for range 1 + r.IntN(3) {
			w.spans = append(w.spans, someSpan(r))
		}
		got, err := ParseWindow(w.String())
		if err != nil || !reflect.DeepEqual(got, w) {
			t.Fatalf("%s: got %+v, %v, want %+v", w, got, err, w)
		}
	}
}

// TestRatesAreReadAsTheyAreWritten writes any speeds and reads them.
func TestRatesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		want := someRates(r)
		got, err := ParseRates(want.String())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %+v, %v, want %+v", want, got, err, want)
		}
	}
}

func someRates(r *rand.Rand) (all Rates) {
	speed := func() int64 {
		if r.IntN(4) == 0 {
			return noLimit
		}
		return 1 + r.Int64N(100_000)
	}
	if r.IntN(2) == 0 {
		all.otherwise = speed()
	}
	for range r.IntN(4) {
		all.parts = append(all.parts, rate{someSpan(r), speed()})
	}
	if all.otherwise == 0 && all.parts == nil {
		all.otherwise = 1
	}
	if r.IntN(2) == 0 {
		all.zoneName = []string{"Europe/Berlin", "-05:30", "America/Port-au-Prince"}[r.IntN(3)]
		all.zone, _ = Zone(all.zoneName)
	}
	return all
}

// TestEdgesOfWindows compares when windows open and close, and when speeds change, with a look at
// every minute, around clock changes too.
func TestEdgesOfWindows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct{ begin, zone string }{
		{"2026-03-27T12:00:00+01:00", "Europe/Berlin"},
		{"2026-10-24T12:00:30+02:00", "Europe/Berlin"},
		{"2026-04-03T00:00:00+11:00", "Australia/Lord_Howe"},
		{"2026-05-10T09:30:00Z", "UTC"},
	} {
		at, err := time.Parse(time.RFC3339, c.begin)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := Zone(c.zone)
		if err != nil {
			t.Fatal(err)
		}

		for range 60 {
			rates := someRates(r)
			w := Window{spans: []span{someSpan(r), someSpan(r)}}
			from := at.In(zone).Add(time.Duration(r.IntN(3*minutesOfDay)) * time.Minute)

			want := from
			for !w.Contains(want) {
				want = want.Truncate(time.Minute).Add(time.Minute)
			}
			if got := w.Opens(from); !got.Equal(want) {
				t.Fatalf("%s after %v opens at %v, want %v", w, from, got, want)
			}

			for w.Contains(want) && want.Sub(from) < seekFor {
				want = want.Truncate(time.Minute).Add(time.Minute)
			}
			if got := w.Closes(w.Opens(from)); !got.Equal(reached(from, want)) {
				t.Fatalf("%s after %v closes at %v, want %v", w, from, got, want)
			}

			now := rates.At(from, zone)
			for want = from; rates.At(want, zone) == now && want.Sub(from) < seekFor; {
				want = want.Truncate(time.Minute).Add(time.Minute)
			}
			if got := rates.Changes(from, zone); !got.Equal(reached(from, want)) {
				t.Fatalf("%s after %v changes at %v, want %v", rates, from, got, want)
			}
		}
	}
}

// reached is a moment, or zero if it is as far away as never.
func reached(from, moment time.Time) time.Time {
	if moment.Sub(from) >= seekFor {
		return time.Time{}
	}
	return moment
}

func TestDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mon-fri": "mon-fri", "SAT,Sun": "sat-sun", "sat-mon": "mon,sat-sun", "wed": "wed", "mon-sun": "mon-sun",
		"mon,wed,fri": "mon,wed,fri", "fri-thu": "mon-sun", "tue-tue": "tue", "mon-tue,thu-sat": "mon-tue,thu-sat",
	} {
		if got, found := readDays(text); !found || got.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, found, want)
		}
	}
	for _, bad := range []string{"", "monday", "mon-", "-", "mon fri", "mo", "mon--fri", "1-5"} {
		if got, found := readDays(bad); found {
			t.Errorf("%q: got %s", bad, got)
		}
	}
}

func TestWindowOnSomeDays(t *testing.T) {
	t.Parallel()
	w, err := ParseWindow("mon-fri 22:00 - 06:00; SAT")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.String(), "mon-fri 22:00-06:00; sat"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := w.Closed(), 46*time.Hour; got != want { // from Sunday on: it is not a night of Sunday's
		t.Errorf("closed for %v, want %v", got, want)
	}

	for text, want := range map[string]bool{
		"2026-05-10 23:00": false, // Sunday
		"2026-05-11 05:00": false, // the night from Sunday
		"2026-05-11 22:00": true,
		"2026-05-12 06:00": true,
		"2026-05-12 06:01": false,
		"2026-05-16 05:00": true, // the night from Friday, and Saturday
		"2026-05-16 12:00": true,
		"2026-05-17 00:00": false,
	} {
		at, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Contains(at); got != want {
			t.Errorf("%s (%s): got %v, want %v", text, at.Weekday(), got, want)
		}
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	rates, err := ParseRates("1000; mon-fri 22:00-06:00 20000; sat-sun unlimited; sun 08:00-08:59 5; zone Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}

	for text, want := range map[string]int64{
		"2026-05-11 12:00": 1000,
		"2026-05-11 20:00": 20_000, // 22:00 in Berlin
		"2026-05-12 04:00": 20_000,
		"2026-05-12 04:01": 1000,
		"2026-05-15 22:30": 20_000, // the night to Saturday: the slowest decides
		"2026-05-16 12:00": 0,
		"2026-05-17 06:30": 5,
		"2026-05-17 22:30": 1000, // Monday in Berlin
	} {
		at, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := rates.At(at, time.UTC); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}

	for _, bad := range []string{
		"", ";", "0", "-1", "1.5", "1000;", "1000; 2000", "fast", "mon-fri", "22:00-06:00", "1000 mon-fri",
		"mon-fri 25:00-06:00 5", "zone Europe/Berlin", "1; zone Mars/Base", "1; zone UTC; zone UTC", "1; zone",
		"5 6", "9223372036854775808",
	} {
		if got, err := ParseRates(bad); !errors.Is(err, ErrRates) {
			t.Errorf("%q: got %s, %v, want ErrRates", bad, got, err)
		}
	}

	if constant, err := ParseRates("1000"); err != nil || constant.Clocked() || constant.At(time.Now(), time.UTC) != 1000 {
		t.Errorf("got %+v, %v", constant, err)
	}
}

// FuzzRates demands that what is read can be written and read again.
func FuzzRates(f *testing.F) {
	for _, seed := range []string{
		"1000", "1000; mon-fri 22:00-06:00 20000; sat-sun 20000; zone Europe/Berlin", "sat,mon-tue 1:00 - 2:00 unlimited",
		"5; zone -05:00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if rates, err := ParseRates(text); err == nil {
			again, err := ParseRates(rates.String())
			if err != nil || !reflect.DeepEqual(again, rates) {
				t.Errorf("%q is %q, which is %+v, %v", text, rates, again, err)
			}
		}
		if w, err := ParseWindow(text); err == nil {
			again, err := ParseWindow(w.String())
			if err != nil || !reflect.DeepEqual(again, w) {
				t.Errorf("%q is %q, which is %+v, %v", text, w, again, err)
			}
		}
	})
}
