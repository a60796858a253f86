//go:build !linux

package ddl

import (
	"testing"
	"time"
)

// busy is how long a function takes.
func busy(t *testing.T, do func()) time.Duration {
	t.Helper()
	began := time.Now()
	do()
	return time.Since(began)
}
