package signal

import (
	"math"
	"time"
)

// lockErrors is how often clients of the proxies are refused for locks: because a wait took too long,
// in a deadlock, or because another member of the cluster was first. Such a client has lost its work,
// so a few of them count; but some applications live with many, so what is usual while the engine rests
// may double.
type lockErrors struct {
	at       time.Time // the last look
	refused  float64   // of late
	commands float64   // of late
	watched  float64   // how much of the memory there is, up to 1
	usual    usual
}

const (
	// errorsMemory is how long it takes to forget most of what was seen: errors are rare, and half a
	// second of them is no number.
	errorsMemory = 15 * time.Second
	// leastWatched is the part of the memory that what was seen counts for at least: one error in the
	// first half second is not a hundred a minute.
	leastWatched = 0.3
)

// reading judges what is new. What is usual is an average of what came at rest, not of late: shortly
// after a batch that would be our own doing.
func (e *lockErrors) reading(news Suffered, most float64, resting bool) Reading {
	took := e.add(news)
	r := Reading{Signal: "lock_errors", Source: throughProxies, State: NotSeen, Unit: "a minute"}
	if e.commands < 1 && e.refused < 1 {
		r.Detail = "nothing passes through the proxies"
		return r
	}

	perMinute := e.refused / max(e.watched, leastWatched) * time.Minute.Seconds() / errorsMemory.Seconds()
	if resting && took > 0 {
		e.usual.learn(float64(news.LockErrors) / took.Minutes())
	}
	if !e.usual.known() {
		r.Detail = "what is usual is learnt while the engine rests"
		return r
	}

	r.State, r.Value = Measured, perMinute
	r.Threshold = e.usual.mean + max(most, e.usual.mean)
	r.Detail = "usual are " + figure(math.Round(e.usual.mean)) + " a minute"
	return r
}

// add takes what is new, and returns since when; 0 at the first look.
func (e *lockErrors) add(news Suffered) (took time.Duration) {
	now := time.Now()
	left := 0.0
	if !e.at.IsZero() {
		took = now.Sub(e.at)
		left = math.Exp(-took.Seconds() / errorsMemory.Seconds())
		e.watched = e.watched*left + 1 - left
	}
	e.at = now

	e.refused = e.refused*left + float64(news.LockErrors)
	e.commands *= left
	for _, n := range news.Took {
		e.commands += float64(n)
	}
	return took
}
