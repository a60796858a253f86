package wiretest

import (
	"sync"
	"testing"
)

// Log writes to a test's log until End: what outlives the test writes nowhere.
type Log struct {
	mu sync.Mutex
	tb testing.TB
}

// NewLog returns one for a test.
func NewLog(tb testing.TB) *Log { //nolint:thelper // it belongs to the test
	return &Log{tb: tb}
}

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tb != nil {
		return l.tb.Output().Write(b)
	}
	return len(b), nil
}

// End is for when the test is about to end.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tb = nil
}
