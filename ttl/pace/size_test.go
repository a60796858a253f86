package pace

import (
	"testing"
	"time"
)

func TestBatchSizeFollowsTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fixed, perRow time.Duration }{
		{0, time.Microsecond},
		{0, 20 * time.Microsecond},
		{0, time.Millisecond},
		{5 * time.Millisecond, 20 * time.Microsecond},
		{30 * time.Millisecond, 10 * time.Microsecond},
		{200 * time.Millisecond, 20 * time.Microsecond}, // a busy server: fewer rows would not help
	} {
		const target = 50 * time.Millisecond
		b := NewBatchSize(1000, 20_000, target)
		for range 200 {
			n := b.Next()
			b.Took(n, c.fixed+time.Duration(n)*c.perRow)
		}

		forRows := max(target-c.fixed, target/2)
		want := min(max(int(forRows/c.perRow), 100), 20_000)
		if b.Rows < want/2 || b.Rows > want*3/2 {
			t.Errorf("with %v and %v a row: %d rows, want about %d", c.fixed, c.perRow, b.Rows, want)
		}
	}

	b := NewBatchSize(1000, 20_000, 50*time.Millisecond)
	b.Took(1000, time.Second)
	if b.Rows > 100 {
		t.Errorf("after a statement of a second: %d rows, want the least at once", b.Rows)
	}
}

// TestBatchSizeAfterACut: what a limit leaves no time for is not read, and what it costs is remembered.
func TestBatchSizeAfterACut(t *testing.T) {
	t.Parallel()
	b := NewBatchSize(1000, 20_000, 50*time.Millisecond)
	b.Cut(7)
	if n := b.Next(); n != 7 {
		t.Errorf("after a cut at 7 rows the next block has %d", n)
	}
	b.Took(7, time.Millisecond)
	if n := b.Next(); n < 8 || n > 10 {
		t.Errorf("after a block of 7 that was not cut the next one has %d", n)
	}
	for range 40 {
		b.Took(b.Next(), 10*time.Millisecond)
	}
	if n := b.Next(); n < 500 {
		t.Errorf("long after a cut a block has %d rows", n)
	}
}
