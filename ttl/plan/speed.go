package plan

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Speed is how fast a job is expected to delete, and how that is known. Limits by the clock come on
// top.
type Speed struct {
	RowsPerSecond float64
	From          string

	clocked []clocked
}

// clocked is a part of a limit by the clock of a zone.
type clocked struct {
	rates ddl.Rates
	zone  *time.Location
	part  float64
}

const (
	// assumedSpeed is what a small server manages without effort, and how many rows a job has to have
	// deleted for its speed to tell something.
	assumedSpeed = 20_000
	// readsPerSecond is about how fast rows are read that stay, where nothing has to wait for a disk.
	readsPerSecond = 500_000
)

// speedOf is the speed of the last job that went this way and deleted many rows, without the time that it
// took to read them.
func speedOf(ended []catalog.EndedJob, way Way) Speed {
	for i := range ended {
		j := &ended[i]
		all := j.Worked().Seconds()
		deleting := all - float64(j.Counts.Examined)/readsPerSecond
		if j.Plan == string(way) && j.Counts.Deleted > assumedSpeed && deleting > max(1, all/2) {
			return Speed{RowsPerSecond: float64(j.Counts.Deleted) / deleting, From: fmt.Sprintf("as in job %d", j.ID)}
		}
	}
	if len(ended) > 0 {
		return Speed{RowsPerSecond: assumedSpeed, From: "assumed, no job was large enough to tell"}
	}
	return Speed{RowsPerSecond: assumedSpeed, From: "assumed, no job has run yet"}
}

// At is the speed at a moment, and when it will be another one; zero if never.
func (s Speed) At(t time.Time) (rowsPerSecond float64, until time.Time) {
	rowsPerSecond = s.RowsPerSecond
	for _, c := range s.clocked {
		if most := c.rates.At(t, c.zone); most > 0 {
			rowsPerSecond = min(rowsPerSecond, float64(most)*c.part)
		}
		if next := c.rates.Changes(t, c.zone); until.IsZero() || !next.IsZero() && next.Before(until) {
			until = next
		}
	}
	return rowsPerSecond, until
}

// clock slows down to a part of a limit by the clock; nil is none.
func (s *Speed) clock(rates *ddl.Rates, zone *time.Location, part float64, from string, now time.Time) {
	if rates == nil {
		return
	}
	if !rates.Clocked() {
		s.bound(float64(rates.At(now, zone))*part, from)
		return
	}
	before, _ := s.At(now)
	s.clocked = append(s.clocked, clocked{*rates, zone, part})
	if after, _ := s.At(now); after < before {
		s.From = from + ", by the clock"
	}
}

// bound slows down to a limit; 0 is none.
func (s *Speed) bound(rowsPerSecond float64, from string) {
	if rowsPerSecond > 0 && rowsPerSecond < s.RowsPerSecond {
		s.RowsPerSecond, s.From = rowsPerSecond, from
	}
}
