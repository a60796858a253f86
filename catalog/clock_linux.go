package catalog

import (
	"time"

	"golang.org/x/sys/unix"
)

// steady is the time since the machine was started, asleep or not.
func steady(since time.Time) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(since)
	}
	return time.Duration(t.Nano())
}
