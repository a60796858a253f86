package catalog

import (
	"regexp"
	"strings"
	"time"
)

const (
	momentLayout = "2006-01-02 15:04:05-07:00"
	utcMoment    = `\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00:00`
)

// Moment writes a time into a sentence. Sentences are kept in UTC, with the offset written out:
// Localize turns them into another zone.
func Moment(t time.Time) string { return t.UTC().Format(momentLayout) }

var moments = regexp.MustCompile(utcMoment)

// HasMoment reports whether a sentence tells a time.
func HasMoment(sentence string) bool { return mayHaveMoment(sentence) && moments.MatchString(sentence) }

// mayHaveMoment spares most sentences the search.
func mayHaveMoment(sentence string) bool { return strings.Contains(sentence, "+00:00") }

// Localize writes the times of a sentence in a zone, with its offset.
func Localize(sentence string, zone *time.Location) string {
	if !mayHaveMoment(sentence) {
		return sentence
	}
	return moments.ReplaceAllStringFunc(sentence, func(m string) string {
		t, err := time.Parse(momentLayout, m)
		if err != nil {
			return m // looks like one, but is not
		}
		return t.In(zone).Format(momentLayout)
	})
}
