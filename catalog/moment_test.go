package catalog

import (
	"testing"
	"time"
)

func TestMomentsOfASentence(t *testing.T) {
	t.Parallel()
	prague, err := time.LoadLocation("Europe/Prague")
	if err != nil {
		t.Fatal(err)
	}

	at := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)
	text := "paused until " + Moment(at) + ", and then until " + Moment(at.Add(time.Hour)) +
		"; not 2026-13-40 00:00:00+00:00"
	want := "paused until 2026-03-29 01:30:00+01:00, and then until 2026-03-29 03:30:00+02:00; not 2026-13-40 " +
		"00:00:00+00:00"
	if got := Localize(text, prague); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Localize(text, time.UTC); got != text {
		t.Errorf("in UTC: got %s, want %s", got, text)
	}
	if HasMoment("at 2026-03-29 01:30:00") || !HasMoment(text) {
		t.Error("a time without an offset is no moment")
	}
}
