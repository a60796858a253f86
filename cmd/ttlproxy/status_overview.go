package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// overview is the picture of everything: one line about the whole, and one for each table or
// partition, those that somebody should look at first.
func overview(ctx context.Context, w io.Writer, screen screen, store report.Store) error {
	s, err := report.Read(ctx, store)
	if err != nil {
		return err
	}

	fmt.Fprintln(w, headline(s))
	work := s.Work()
	slices.SortStableFunc(work, func(a, b *report.Work) int { return cmp.Compare(urgency(a), urgency(b)) })
	if len(work) == 0 {
		fmt.Fprintln(w, "No table has a TTL yet: ALTER TABLE t TTL = created_at + INTERVAL 30 DAY, through the proxy.")
		return nil
	}

	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	const narrow = 120
	layout := layout{done: "PROGRESS", bar: 20}

	if screen.columns > 0 && screen.columns < narrow {
		layout = narrowLayout
	}

	fmt.Fprintf(t, "TABLE\t%s\tDELETED\tROWS/S\tBEHIND\tNEXT\tVERDICT\n", layout.done)
	for _, line := range work {
		fmt.Fprintln(t, strings.Join(layout.line(line), "\t"))
	}

	return t.Flush()
}

// urgency is smaller the sooner somebody should look: first what waits for a person, then what is
// going on.
func urgency(w *report.Work) int {
	switch report.Judge(w).Word {
	case report.Disarmed, report.NeedsApproval:
		return 0
	case report.FallingBehind:
		return 1
	default:
		if w.Job != nil {
			return 2
		}
		return 3
	}
}

// layout is how much room the lines take.
type layout struct {
	done      string // heading of the progress
	name, bar int    // columns of names, 0 for no bound, and of bars
}

// narrowLayout leaves room for the word of the verdict in 80 columns.
var narrowLayout = layout{done: "DONE", name: 24}

// headline says whether anything is deleted at all, and by how many engines.
func headline(s *report.Snapshot) string {
	live, engines := s.LiveNodes()
	state := "deleting"
	if why := s.HeldBack(); why != "" {
		state = "held back: " + cellText(why)
	}
	if halt := s.Halt(); halt.Why != "" {
		state = "NOT DELETING: " + cellText(halt.Why)
	}
	stopped := ""
	if why := s.SomeStopped(); why != "" {
		stopped = ", stopped: " + cellText(why)
	}
	return fmt.Sprintf("%s  %s  tables with a TTL: %d, proxies: %d, engines: %d%s",
		catalog.Moment(s.Now), state, len(s.Policies), live, engines, stopped)
}

func (l layout) line(w *report.Work) []string {
	name := w.Policy.Table.Schema + "." + w.Policy.Table.Name
	if w.Partition != "" {
		name += ":" + w.Partition
	}

	p, deleted := progressOf(w)
	rate, behind, next := "", "", ""
	if p.Known || deleted != "" {
		rate = fmt.Sprintf("%.0f", p.RowsPerSecond)
	}
	if d, known := w.Behind(); known {
		behind = brief(d)
	}

	if at := w.NextRun(); w.Job == nil && !at.IsZero() {
		next = "in " + brief(max(0, at.Sub(w.Now)))
	} else if p.LeftKnown {
		next = brief(p.Left) + " left"
	}

	return []string{fit(cellText(name), l.name), l.progress(p), deleted, rate, behind, next, cellText(report.Judge(w))}
}

// brief is a length of time in its two largest units: 4m12s, 1h05m, 39d2h.
func brief(d time.Duration) string {
	d = d.Round(time.Second)
	switch hours := int(d.Hours()); {
	case hours < 1:
		return ddl.FormatDuration(d)
	case hours < 24:
		return fmt.Sprintf("%dh%02dm", hours, int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%dh", hours/24, hours%24)
	}
}

// progressOf is the progress of the open job, or of the last one.
func progressOf(w *report.Work) (p report.Progress, deleted string) {
	var counts catalog.Counts
	switch {
	case w.Job != nil:
		p, counts = w.Progress(), w.Job.Counts
	case w.Last != nil:
		p, counts = report.EndedProgress(w.Last), w.Last.Counts
	default:
		return p, ""
	}
	return p, fmt.Sprint(counts.Deleted)
}

// progress draws how far a job has come.
func (l layout) progress(p report.Progress) string {
	if !p.Known {
		return ""
	}
	percent := fmt.Sprintf("%3.0f%%", p.Percent)
	if l.bar == 0 {
		return percent
	}
	full := min(int(p.Percent*float64(l.bar)/100), l.bar)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", l.bar-full) + "] " + percent
}
