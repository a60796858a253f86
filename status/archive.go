package status

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

const (
	// archiveAge is how long one reading of the samples serves everybody. Each node adds one a
	// minute.
	archiveAge = 10 * time.Second
	// inflowAge is the same for what became due, which is known when a job ends.
	inflowAge = 30 * time.Second
	// sampleSettles is how long after its own timestamp a sample may become visible on the server.
	sampleSettles = 2 * time.Minute
)

// archive is what has been recorded for the charts. It keeps the samples that it has read, and then
// asks only for those that have come since: a page that is open all day costs little more than one
// that has just been opened.
type archive struct {
	reads Reads

	mu      sync.Mutex // held while reading, so that those who come meanwhile share the answer
	at      time.Time  // of the last reading, by the local clock
	now     time.Time  // of the last reading, by the database's clock
	from    time.Time  // samples are complete from then on
	samples []catalog.Sample
	inflows map[time.Duration]inflows // by how far back they reach
}

type inflows struct {
	at  time.Time
	all []catalog.Inflow
}

// past is what was recorded in a period that ends now.
type past struct {
	now     time.Time // of the database
	samples []catalog.Sample
	inflows []catalog.Inflow
}

func newArchive(reads Reads) *archive {
	return &archive{reads: reads, inflows: map[time.Duration]inflows{}}
}

// past returns what was recorded in the given time before now.
func (a *archive) past(ctx context.Context, reach time.Duration) (past, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.at) >= archiveAge || a.now.Add(-reach).Before(a.from) {
		if err := a.catchUp(ctx, reach); err != nil {
			return past{}, err
		}
	}
	due, err := a.due(ctx, reach)
	if err != nil {
		return past{}, err
	}
	return past{a.now, after(a.samples, a.now.Add(-reach)), due}, nil
}

// catchUp reads the samples added since the last time, or all of them if those it has do not reach
// back far enough.
func (a *archive) catchUp(ctx context.Context, reach time.Duration) error {
	now, err := a.reads.Clock(ctx)
	if err != nil {
		return err
	}

	since := now.Add(-reach)
	from, read := since, since
	var kept []catalog.Sample
	if !a.from.IsZero() && !since.Before(a.from) && !now.Before(a.now) {
		from, read = a.from, a.now.Add(-sampleSettles)
		kept = after(a.samples, now.Add(-seriesReach))
		kept = kept[:len(kept)-len(after(kept, read))]
	}

	fresh, err := a.reads.Samples(ctx, read)
	if err != nil {
		return err
	}

	a.samples = append(slices.Clip(kept), fresh...)
	a.from, a.now, a.at = from, now, time.Now()
	return nil
}

// due returns what became due.
func (a *archive) due(ctx context.Context, reach time.Duration) ([]catalog.Inflow, error) {
	if known, ok := a.inflows[reach]; ok && time.Since(known.at) < inflowAge {
		return known.all, nil
	}
	all, err := a.reads.Inflows(ctx, a.now.Add(-reach))
	if err == nil {
		a.inflows[reach] = inflows{time.Now(), all}
	}
	return all, err
}

// after returns the samples from a moment on.
func after(samples []catalog.Sample, moment time.Time) []catalog.Sample {
	i, _ := slices.BinarySearchFunc(samples, moment,
		func(s catalog.Sample, at time.Time) int { return s.At.Compare(at) })
	return samples[i:]
}
