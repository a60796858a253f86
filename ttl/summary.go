package ttl

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// A job is big if it has deleted bigRows and a bigShare of its table: then there is something to do
// that the server does late by itself, or never.
const (
	bigRows  = 10_000
	bigShare = 0.1
	// longHistory is from how much on unpurged undo is worth a line.
	longHistory = 10_000
)

// aftermath is what a big job leaves to the server and to people.
type aftermath struct {
	table   string // quoted
	of      string // that rows are of: the partition; empty for the table
	deleted uint64
	before  uint64 // rows of the table or partition when the job began
	bytes   int64  // of its pages
	history int64  // undo that is not purged; negative when it cannot be read
}

// sumUp adds what a big job leaves behind to its note, for people: the engine does nothing about
// it.
func (t *ticker) sumUp(ctx context.Context, job catalog.Job) {
	if !big(job) || t.summedUp[job.ID] { // it ended before, but that could not be written
		return
	}

	a, err := t.aftermathOf(ctx, job)
	if err == nil {
		facts := job.JobFacts
		facts.Note = strings.Join(slices.DeleteFunc(append([]string{facts.Note}, a.lines()...),
			func(s string) bool { return s == "" }), "\n")
		err = t.store.SetJobFacts(ctx, job.ID, job.Fence, facts)
		t.summedUp[job.ID] = err == nil
	}

	if err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "job ends without a summary",
			slog.Uint64("job", job.ID), slog.Any("err", err))
	}
}

// big leaves out partitions that went whole: they left no page behind that is free, and no row that is purged.
func big(job catalog.Job) bool {
	return plan.Way(job.Plan) != plan.GoWhole && job.Counts.Deleted >= bigRows && job.TableRows != nil &&
		float64(job.Counts.Deleted) >= bigShare*float64(*job.TableRows)
}

func (t *ticker) aftermathOf(ctx context.Context, job catalog.Job) (aftermath, error) {
	a := aftermath{
		table: job.Table.String(), of: partitionOf(job),
		deleted: job.Counts.Deleted, before: max(*job.TableRows, job.Counts.Deleted), history: -1,
	}
	if err := t.session.Ready(ctx); err != nil {
		return a, err
	}

	size := t.session.QueryRowContext(ctx, selectTableSize,
		job.Table.Schema, job.Table.Name, job.Partition, job.Partition)
	if err := size.Scan(&a.bytes); err != nil {
		return a, fmt.Errorf("read the size of %s: %w", job.Table, err)
	}
	if err := t.session.QueryRowContext(ctx, selectHistoryLength).Scan(&a.history); err != nil {
		a.history = -1 // needs PROCESS
	}

	return a, nil
}

// partitionOf is what is said behind "rows": a job of a partition knows how many that had, not the table.
func partitionOf(job catalog.Job) string {
	if job.Partition == "" {
		return ""
	}
	return " of partition " + job.Partition
}

func (a aftermath) lines() []string {
	share := float64(a.deleted) / float64(a.before)
	lines := []string{fmt.Sprintf("about %.0f %% of the rows%s are gone: ANALYZE TABLE %s refreshes the optimizer's "+
		"statistics", 100*share, a.of, a.table)}
	if a.history >= longHistory {
		lines = append(lines,
			fmt.Sprintf("InnoDB's history list has %d entries: statements have to read past deleted rows until "+
				"purge has removed them", a.history))
	}
	return append(lines,
		fmt.Sprintf("about %s of pages will be free for new rows; OPTIMIZE TABLE %s would return them to the disk",
			bytesText(share*float64(a.bytes)), a.table))
}

func bytesText(n float64) string {
	unit := "KiB"
	n /= 1024
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if n < 1024 {
			break
		}
		n, unit = n/1024, next
	}
	return fmt.Sprintf("%.0f %s", n, unit)
}
