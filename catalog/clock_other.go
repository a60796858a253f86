//go:build !linux

package catalog

import "time"

// steady is the time that has passed, as far as the system counts it.
func steady(since time.Time) time.Duration { return time.Since(since) }
