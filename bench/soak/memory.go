package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// cost is what the kernel says about a process; memory in KiB.
type cost struct {
	rss, peak, descriptors int
	cpu                    time.Duration
}

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
	if err != nil {
		return c, err
	}

	c.descriptors = len(open)
	c.cpu, err = cpuTime(pid)
	return c, err
}

// cpuTime reads /proc/PID/stat: behind the name, which is in parentheses, fields 12 and 13 are the
// ticks spent in the program and in the kernel for it.
func cpuTime(pid int) (time.Duration, error) {
	const tick = 10 * time.Millisecond
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, behind, _ := strings.Cut(string(text), ") ")
	var user, system time.Duration
	if fields := strings.Fields(behind); len(fields) > 12 {
		_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	}
	return (user + system) * tick, err
}

// pause lets time go by.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settled measures when the logins have been cleaned up behind.
func settled(ctx context.Context, pid int) (cost, error) {
	if err := pause(ctx, 5*time.Second); err != nil {
		return cost{}, err
	}
	return measure(pid)
}
