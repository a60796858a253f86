package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the time since the machine was started, without the time that it slept.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
