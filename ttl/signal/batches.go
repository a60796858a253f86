package signal

import "time"

// Batches is how long the batches of one node take. It decides no speed: the size of the next ones follows from it.
type Batches struct {
	Sent func() (batches int64, took time.Duration) // since the node started

	batches int64
	took    time.Duration
	looked  time.Time
	last    Reading
}

// batchesFor is how long a reading stands while no batch ends.
const batchesFor = time.Minute

// Look measures the batches that have ended since the last look. It returns for how long they have taken more than
// they should; 0 if there were none.
func (b *Batches) Look(target time.Duration) (over time.Duration) {
	now := time.Now()
	batches, took := b.Sent()
	since, sent, spent := now.Sub(b.looked), batches-b.batches, took-b.took
	b.looked, b.batches, b.took = now, batches, took
	if sent <= 0 {
		return 0
	}

	b.last = Reading{
		State: Measured, Unit: "ms", At: now,
		Value: (spent / time.Duration(sent)).Seconds() * 1e3, Threshold: target.Seconds() * 1e3,
	}
	if b.last.Value <= b.last.Threshold {
		return 0
	}
	return since
}

// Reading is what was measured last.
func (b *Batches) Reading() Reading {
	r := b.last
	if time.Since(r.At) > batchesFor {
		r = Reading{State: NotSeen, Detail: "no batch has ended within a minute", At: b.looked}
	}
	r.Signal = "batch_time"
	return r
}
