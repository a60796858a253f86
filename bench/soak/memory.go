package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// cost is what the kernel says about a process, in KiB.
type cost struct{ rss, peak, descriptors int }

func measure(pid int) (cost, error) {
	var c cost
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(text)) {
		for name, into := range map[string]*int{"VmRSS:": &c.rss, "VmHWM:": &c.peak} {
			if value, ok := strings.CutPrefix(line, name); ok {
				if _, err := fmt.Sscan(value, into); err != nil {
					return c, err
				}
			}
		}
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	c.descriptors = len(open)
	return c, err
}

// settled measures when the logins have been cleaned up behind.
func settled(ctx context.Context, pid int) (cost, error) {
	select {
	case <-time.After(5 * time.Second):
		return measure(pid)
	case <-ctx.Done():
		return cost{}, ctx.Err()
	}
}
