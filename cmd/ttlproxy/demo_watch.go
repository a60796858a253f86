package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// watch prints how many rows there are and how many have been deleted: on a terminal in one line
// that is overwritten again and again, elsewhere as a line now and then.
func (a *application) watch(ctx context.Context, out io.Writer) error {
	every, live := 10*time.Second, isTerminal(out)
	if live {
		every = time.Second
	}

	beat := time.NewTicker(every)
	defer beat.Stop()

	for {
		line := a.progress(ctx)
		if live {
			fmt.Fprintf(out, "\r%s\x1b[K", fit(line, screenOf(out).columns-1))
		} else {
			fmt.Fprintf(out, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
		}

		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
	}
}

// progress fits in a terminal of 80 columns: the rows of each table, and after a minus those that
// are gone.
func (a *application) progress(ctx context.Context) string {
	for i, t := range demoTables {
		inserted := a.inserted[i].Load() // before counting: what is inserted meanwhile must not look deleted
		var rows int64
		if err := a.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+t.name).Scan(&rows); err != nil {
			if ctx.Err() == nil {
				a.shown[i] = t.name + " ?"
			}
			continue
		}

		a.deleted[i] = max(a.deleted[i], inserted-rows)
		a.shown[i] = fmt.Sprintf("%s %d −%d", t.name, rows, a.deleted[i])
	}
	return strings.Join(a.shown[:], " │ ")
}
