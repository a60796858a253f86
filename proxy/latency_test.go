package proxy

import (
	"testing"
	"time"
)

// TestLatencySteps: every time is counted in a step whose end is beyond it, by a quarter at most, and
// longer times are never counted in an earlier one.
func TestLatencySteps(t *testing.T) {
	t.Parallel()
	before := 0
	for took := int64(1) << leastBits; took < int64(time.Minute); took += took/50 + 1 {
		step := stepOf(took)
		end := int64(stepEnd(step))
		if step < before || end <= took || end > took+took/4+1 {
			t.Fatalf("%v is counted in step %d, which ends at %v, after step %d", time.Duration(took), step,
				time.Duration(end), before)
		}
		before = step
	}

	for _, took := range []int64{-5, 0, 1, 1<<leastBits - 1} {
		if step := stepOf(took); step != 0 {
			t.Errorf("%d ns are counted in step %d", took, step)
		}
	}
	if step := stepOf(int64(time.Hour)); step != latencySteps-1 {
		t.Errorf("an hour is counted in step %d of %d", step, latencySteps)
	}
}

// TestLatencyAllocates: counting costs next to nothing.
func TestLatencyAllocates(t *testing.T) {
	var l latencies
	if n := testing.AllocsPerRun(100, func() { l.add(12345678) }); n != 0 {
		t.Errorf("counting a command allocates %v times", n)
	}
}

func BenchmarkLatency(b *testing.B) {
	var l latencies
	for i := range b.N {
		l.add(int64(i) << 8)
	}
}
