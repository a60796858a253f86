package plan

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// forecast is how long the work takes that a preview has found. Rows are deleted and read side by side,
// each by its own limits: the slowest decides.
type forecast struct {
	rows, read float64
	free       float64 // seconds, if nothing limits it
	speed      Speed   // of what is deleted
	reading    float64 // rows per second that may be read; 0 for any number
	unlimited  string  // how free is known
}

// foresee tells how long the work takes, and when windows let it end, and returns for how long rows are
// deleted.
func (v *preview) foresee(p *Preview) (deleting float64) {
	if v.nodes == 0 {
		return 0
	}

	f := v.forecast()
	p.Seconds, p.SpeedFrom = f.secondsAt(v.Now)
	end, work := v.Terms.Timing.Finish(v.Now, v.Window, 1, func(t time.Time) (float64, time.Time) {
		seconds, _ := f.secondsAt(t)
		_, until := f.speed.At(t)
		return 1 / seconds, until
	})

	switch {
	case end.IsZero():
		p.End = "not within a year of windows"
	default:
		p.Seconds = work.Seconds()
		if end.Sub(v.Now) > work {
			p.End = catalog.Moment(end)
		}
	}

	perSecond, _ := f.speed.At(v.Now)
	return f.rows / perSecond
}

// secondsAt is how long all of the work would take at the speed of a moment, and what decides that.
func (f *forecast) secondsAt(t time.Time) (seconds float64, from string) {
	perSecond, _ := f.speed.At(t)
	seconds, from = f.free, f.unlimited
	if limited := f.rows / perSecond; limited > seconds {
		seconds, from = limited, f.speed.From
	}
	if f.reading > 0 && f.read/f.reading > seconds {
		seconds, from = f.read/f.reading, setting.ScanRateLimit
	}
	return seconds, from
}

func (v *preview) forecast() forecast {
	due := v.due.With(v.staying.Along())
	f := forecast{rows: float64(due.Expired), read: float64(v.willRead()), speed: speedOf(v.ended, v.choice.Way)}
	if v.Terms.Options.Partition != "" { // those that leave their table whole cost next to nothing
		f.rows = max(f.rows-float64(rowsOf(v.leaving)), 0)
	}

	deleting, reading := f.rows/f.speed.RowsPerSecond, f.read/readsPerSecond
	f.free, f.unlimited = deleting+reading, f.speed.From
	if reading > max(deleting, 1) {
		f.unlimited = fmt.Sprintf("to read about %.0f rows", f.read)
	}

	crew := v.crew()
	f.reading = float64(v.settings.Int(setting.ScanRateLimit)) * float64(crew)
	v.limit(&f.speed, crew, v.perStatement(f))
	return f
}

// willRead is how many rows the chosen plan reads.
func (v *preview) willRead() int64 {
	switch v.choice.Way {
	case WalkIndex, DrainQueue, DeleteSome:
		return v.due.Expired
	default:
		return v.read()
	}
}

// crew is how many nodes have a task of the job at the same time.
func (v *preview) crew() int {
	running, _ := RunningTasks(v.settings.Values, v.nodes)
	tasks := TaskCount(v.choice.Way, v.due, running)
	if v.choice.Way == DrainQueue {
		tasks = v.Terms.Options.Shards()
	}
	tasks = max(tasks, len(DuePartitions(v.facts, v.Rule.Column, v.cutoff))) // each has a job of its own
	return max(min(v.nodes, running, tasks), 1)
}

// limit slows down to what settings and options allow to the nodes of a crew: each has its own limits, and
// an equal part of those that are for all.
func (v *preview) limit(s *Speed, crew int, perStatement float64) {
	each, part := float64(crew), float64(crew)/float64(v.nodes)
	own, all := "", ""
	if v.nodes > 1 {
		own = fmt.Sprintf(" of %d of %d nodes", crew, v.nodes)
	}
	if crew < v.nodes {
		all = fmt.Sprintf(", the part of %d of %d nodes", crew, v.nodes)
	}

	s.bound(each*float64(v.settings.Int(setting.DeleteRowsLimit)), setting.DeleteRowsLimit+own)
	s.bound(part*float64(v.settings.Int(setting.ClusterRowsLimit)), setting.ClusterRowsLimit+all)
	s.clock(v.Terms.Options.DeleteRate, v.Terms.Timing.Zone, part, ddl.OptionDeleteRate+all, v.Now)
	s.clock(v.settings.Rates(), time.UTC, part, setting.RateSchedule+all, v.Now)
	s.bound(each*perStatement*float64(v.settings.Int(setting.DeleteRateLimit)), setting.DeleteRateLimit+own)
}

// denseShare is from which due share of its rows on a block is deleted as a range.
const denseShare = 0.2

// perStatement is how many rows a DELETE deletes, on average.
func (v *preview) perStatement(f forecast) float64 {
	if said := v.Terms.Options.BatchSize; said > 0 {
		return float64(said)
	}
	if said := v.settings.Bound(setting.DeleteBatchSize); said > 0 {
		return float64(said)
	}

	listed := float64(v.settings.Int(setting.DeleteBatchSize))
	if v.choice.Way != WalkRange || f.rows < denseShare*f.read {
		return listed
	}
	target := time.Duration(v.settings.Int(setting.BatchTargetMS)) * time.Millisecond
	return max(f.speed.RowsPerSecond*target.Seconds(), listed)
}

// timesOut says that a job cannot end before it is ended.
func (v *preview) timesOut(p *Preview) string {
	most := v.settings.Duration(setting.JobTimeout)
	if v.nodes == 0 || p.Seconds <= most.Seconds() {
		return ""
	}
	return fmt.Sprintf("a job needs about %s and ends as timed out after %s (%s); the next one begins anew",
		ddl.FormatDuration(time.Duration(p.Seconds*float64(time.Second))), v.settings.Values[setting.JobTimeout],
		setting.JobTimeout)
}
