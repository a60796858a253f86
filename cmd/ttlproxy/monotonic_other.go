//go:build !linux

package main

import "time"

// monotonic is asked for by systemd only.
func monotonic() time.Duration { return 0 }
