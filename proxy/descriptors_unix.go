//go:build unix

package proxy

import (
	"errors"
	"syscall"
)

// descriptors raises the limit of open files as far as it may, and returns it.
func descriptors() (int, bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}

	if r.Cur < r.Max {
		raised := r
		raised.Cur = raised.Max
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
			r = raised
		}
	}

	const enough = 1 << 30 // an unlimited number may not fit an int
	return int(min(r.Cur, enough)), true
}

// outOfDescriptors reports whether accepting failed because there are too many open files, here or
// on the whole machine.
func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
