package proxy

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Latencies are commands by the time they took at most, since the proxy started.
type Latencies map[time.Duration]uint64

// latencies count commands by the time they took, in four steps for each power of two: an eighth
// of the time is as much as anybody wants to tell apart. All sessions share them.
type latencies [latencySteps]atomic.Uint64

const (
	stepBits     = 2 // of a time that choose among the steps of a power of two
	leastBits    = 16
	latencySteps = 4 * 20 // from 65 µs to more than a minute
)

// add counts a command that took so many nanoseconds.
func (l *latencies) add(took int64) { l[stepOf(took)].Add(1) }

// stepOf is where a time is counted.
func stepOf(took int64) int {
	if took < 1<<leastBits {
		return 0
	}
	power := bits.Len64(uint64(took)) - 1
	within := int(took>>(power-stepBits)) & (1<<stepBits - 1)
	return min((power-leastBits)<<stepBits+within, latencySteps-1)
}

// stepEnd is what everything takes at most that is counted in a step; the last one has no end.
func stepEnd(step int) time.Duration {
	power, within := leastBits+step>>stepBits, step&(1<<stepBits-1)
	return time.Duration(1)<<power + time.Duration(within+1)<<(power-stepBits)
}

// ofLocks reports whether an error is one with which a server refuses a command for the locks of
// others. Some applications provoke them for good reasons (NOWAIT): those have a number of their own
// on MySQL, and are usual on MariaDB.
func ofLocks(code uint16) bool {
	return code == ddl.CodeLockWait || code == ddl.CodeDeadlock || code == ddl.CodeGroupConflict
}

// LockErrors are the clients' commands that the server has refused for the locks of others: waits that
// took too long, deadlocks, and conflicts in a cluster.
func (s *Server) LockErrors() uint64 { return s.metrics.lockErrors.Load() }

// Latencies are those of the clients' queries and executions that the server has answered.
func (s *Server) Latencies() Latencies {
	all := Latencies{}
	for i := range s.metrics.latencies {
		if n := s.metrics.latencies[i].Load(); n > 0 {
			all[stepEnd(i)] = n
		}
	}
	return all
}
