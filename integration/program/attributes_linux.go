package program

import "syscall"

// attributes has the kernel end a process with the thread that started it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
