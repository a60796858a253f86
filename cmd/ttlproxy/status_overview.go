package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
)

// overview is the picture of everything: one line about the whole, one for each table or partition.
func overview(ctx context.Context, w io.Writer, store report.Store) error {
	s, err := report.Read(ctx, store)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, headline(s))
	work := s.Work()
	if len(work) == 0 {
		fmt.Fprintln(w, "No table has a TTL yet: ALTER TABLE t TTL = created_at + INTERVAL 30 DAY, through the proxy.")
		return nil
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TABLE\tPROGRESS\tDELETED\tROWS/S\tLEFT\tBEHIND\tNEXT RUN\tVERDICT")
	for _, line := range work {
		fmt.Fprintln(t, strings.Join(overviewLine(line), "\t"))
	}
	return t.Flush()
}

// headline says whether anything is deleted at all, and by how many.
func headline(s *report.Snapshot) string {
	live, engines := 0, 0
	for _, n := range s.Nodes {
		if n.Live {
			live++
			if n.Engine {
				engines++
			}
		}
	}
	state := "deleting"
	switch halt := s.Halt(); {
	case halt != "":
		state = "NOT DELETING: " + halt
	case engines == 0:
		state = "NOT DELETING: no engine is running"
	}
	return fmt.Sprintf("%s UTC  tables with a TTL: %d, proxies: %d, engines: %d  %s", s.Now.UTC().Format(time.DateTime), len(s.Policies), live, engines, state)
}

func overviewLine(w *report.Work) []string {
	name := w.Policy.Table.Schema + "." + w.Policy.Table.Name
	if w.Partition != "" {
		name += ":" + w.Partition
	}
	p, deleted := progressOf(w)
	line := []string{name, bar(p), deleted, "", "", "", "", report.Judge(w).String()}
	if p.Known || deleted != "" {
		line[3] = fmt.Sprintf("%.0f", p.RowsPerSecond)
	}
	if p.LeftKnown {
		line[4] = p.Left.Round(time.Second).String()
	}
	if d, known := w.Behind(); known {
		line[5] = d.Round(time.Second).String()
	}
	if at := w.NextRun(); !at.IsZero() && w.Job == nil {
		line[6] = "in " + max(0, at.Sub(w.Now)).Round(time.Second).String()
	}
	return line
}

// progressOf is the progress of the open job, or of the last one.
func progressOf(w *report.Work) (p report.Progress, deleted string) {
	var counts catalog.Counts
	switch {
	case w.Job != nil:
		p, counts = report.ProgressOf(w.Job, w.Now), w.Job.Counts
	case w.Last != nil:
		p, counts = report.EndedProgress(w.Last), w.Last.Counts
	default:
		return p, ""
	}
	return p, fmt.Sprint(counts.Deleted)
}

const barWidth = 20

// bar draws how far a job is.
func bar(p report.Progress) string {
	if !p.Known {
		return ""
	}
	full := int(p.Percent * barWidth / 100)
	return fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), p.Percent)
}
