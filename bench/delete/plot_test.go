package main

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPlot: a run becomes a picture that is whole, in which a load step is where it was.
func TestPlot(t *testing.T) {
	t.Parallel()
	began := time.Now()
	l := &load{step: time.Second, began: began}
	var all []felt
	w := &watch{deleted: []sample{{began.Add(-50 * time.Millisecond), 0}}}
	rows := int64(0)
	for n := range 40 {
		at := began.Add(time.Duration(n) * 100 * time.Millisecond)
		took := time.Millisecond
		if rows += 1000; l.busyAt(at) {
			took, rows = 50*time.Millisecond, rows-900
		}
		all = append(all, felt{arrived: at, took: took})
		w.deleted = append(w.deleted, sample{at.Add(time.Millisecond), rows})
	}

	s := newSeries(l, all, w, began.Add(4*time.Second))
	if len(s.latency) != 16 || s.latency[0].value != 50 || s.latency[4].value != 1 {
		t.Errorf("latencies are %v", s.latency)
	}
	for _, p := range s.rows {
		switch into := p.at - float64(int(p.at)); {
		case into < 0.3 || into > 0.7:
		case int(p.at)%2 == 0 && (p.value < 900 || p.value > 1100), int(p.at)%2 == 1 && (p.value < 9000 || p.value > 11_000):
			t.Errorf("at %.2f s there are %.0f rows a second", p.at, p.value)
		}
	}

	var text strings.Builder
	draw(&text, "a server", map[string]series{"ttlproxy": s})
	for d := xml.NewDecoder(strings.NewReader(text.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}
	}
	if lines := regexp.MustCompile(`class="d" d="M[\d. L]{50,}"`).FindAllString(text.String(), -1); len(lines) != 2 {
		t.Errorf("there are %d lines in\n%s", len(lines), text.String())
	}
	if busy := strings.Count(text.String(), `<rect class="b"`); busy != 4 {
		t.Errorf("it is busy %d times", busy)
	}
}
