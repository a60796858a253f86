//go:build !linux

package sandbox

import "syscall"

// attributes puts the server in a session of its own, out of reach of the terminal's Ctrl-C; the
// guard alone ends it when we die.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
