package ddl

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// busy is how long a function keeps a processor busy: what else the machine does meanwhile does not count.
func busy(t *testing.T, do func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := ofThread(t)
	do()
	return ofThread(t) - before
}

// ofThread is for how long this thread has been busy.
func ofThread(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
