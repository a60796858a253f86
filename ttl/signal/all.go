package signal

import (
	"context"
	"sync"
	"time"
)

// All are the signals that are read from the server on which rows are deleted.
func All() []Signal {
	load := []Signal{threads{}, history{}, checkpoint{}, &lockWaits{}, &latency{}}
	return inTurn(append(load, &flowControl{}, receiveQueue{}, group{}, newAurora(auroraTable))...)
}

const (
	// AtATime is how many of these ask at a time: more would be part of the load that they measure.
	AtATime = 2
	// turn is how long the others wait for one that is asking.
	turn = 50 * time.Millisecond
)

// queued is a signal that waits for its turn. Who takes long keeps nobody back.
type queued struct {
	Signal
	turns chan struct{} // those that nobody has
}

func inTurn(signals ...Signal) (all []Signal) {
	turns := make(chan struct{}, AtATime)
	for range AtATime {
		turns <- struct{}{}
	}
	for _, s := range signals {
		all = append(all, queued{s, turns})
	}
	return all
}

// Read asks when it is its turn, and passes that on when it has an answer, or has been asking for long.
func (q queued) Read(ctx context.Context, l Look) ([]Reading, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-q.turns:
	}
	pass := sync.OnceFunc(func() { q.turns <- struct{}{} })
	defer pass()
	defer time.AfterFunc(turn, pass).Stop()
	return q.Signal.Read(ctx, l)
}

// Doubtful is what the signal says, if it does.
func (q queued) Doubtful(l Look) []Reading {
	if d, says := q.Signal.(Doubter); says {
		return d.Doubtful(l)
	}
	return nil
}
