package report

import "time"

// Flow compares the rows that become due with the rows that are deleted.
type Flow struct {
	// Inflow is rows per second whose expiry fell between the last two cutoffs.
	Inflow float64
	// InflowKnown is false before the second job.
	InflowKnown bool
	// Outflow is rows per second deleted while a job runs.
	Outflow float64
	// OutflowKnown is false before the first job.
	OutflowKnown bool
	// Backlog is the rows that were due when the job started and have not gone yet, as far as
	// known.
	Backlog uint64
}

// FlowOf reads the flow off the open job and the one before it.
func FlowOf(w *Work) Flow {
	var f Flow
	if w.Job != nil {
		f.Outflow, f.OutflowKnown = ProgressOf(w.Job, w.Now).RowsPerSecond, true
		f.Backlog = backlog(w)
		if w.Last != nil {
			f.inflow(w.Job.Inflow, w.Job.Cutoff.Sub(w.Last.Cutoff))
		}
	}

	if w.Last == nil {
		return f
	}
	if !f.OutflowKnown {
		f.Outflow, f.OutflowKnown = EndedProgress(w.Last).RowsPerSecond, true
	}
	if !f.InflowKnown {
		// The job before the last is not at hand: cutoffs are as far apart as starts.
		f.inflow(w.Last.Inflow, max(w.Interval(), minInterval))
	}

	return f
}

func (f *Flow) inflow(rows *uint64, between time.Duration) {
	if rows == nil || between <= 0 {
		return
	}
	f.Inflow, f.InflowKnown = perSecond(*rows, between), true
}

func backlog(w *Work) uint64 {
	if w.Job.EstimatedRows == nil {
		return 0
	}
	c := w.Job.Counts
	if gone := c.Deleted + c.Refreshed; gone < *w.Job.EstimatedRows {
		return *w.Job.EstimatedRows - gone
	}
	return 0
}
