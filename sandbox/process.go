package sandbox

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// process is one run of a server program, with a guard that outlives us just long enough to end it.
type process struct {
	cmd   *exec.Cmd
	guard io.WriteCloser
	done  chan struct{} // closed once the process has ended
}

// startProcess runs a program with its output in a log file. The directory remove, if any, is
// deleted by the guard should we die.
func startProcess(path string, args []string, logPath, remove string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}

	cmd := exec.Command(path, args...) //nolint:noctx // ended by signal and by the guard: a context would only kill
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.supervise(started, log)

	if err := <-started; err != nil {
		return nil, err
	}
	if p.guard, err = startGuard(endProcess, strconv.Itoa(cmd.Process.Pid), remove); err != nil {
		p.kill()
		return nil, err
	}

	return p, nil
}

// supervise starts the process and waits for it on one thread: the kernel ties the death signal to
// the thread that started the child, not to the process, so that thread must live as long.
func (p *process) supervise(started chan<- error, log io.Closer) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.Close()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // how a server ends that we end does not matter
	close(p.done)
}

// guardScript waits for a line, which dismisses it, or for the end of the pipe, which means that we
// are gone: then it runs what follows.
const guardScript = "if read -r line; then exit 0; fi\n"

// endProcess ends the process $1 and removes the directory $2, if any.
const endProcess = `
kill -9 "$1" 2>/dev/null
while kill -0 "$1" 2>/dev/null; do sleep 0.1; done
if [ -n "$2" ]; then rm -rf -- "$2"; fi
`

// startGuard runs outside our process group, so that a Ctrl-C meant for us does not end it.
func startGuard(script string, args ...string) (io.WriteCloser, error) {
	args = append([]string{"-c", guardScript + script, "ttlproxy-guard"}, args...)
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx // must outlive us
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = cmd.Wait() }() // ends with the pipe, at the latest when we end
	return pipe, nil
}

// stop asks the server to end, and makes it after a grace period.
func (p *process) stop(grace time.Duration) {
	if p.cmd.Process.Signal(syscall.SIGTERM) == nil {
		select {
		case <-p.done:
		case <-time.After(grace):
		}
	}
	p.kill()
}

// kill ends the server at once, waits until it is gone, and dismisses the guard.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
	dismiss(p.guard)
	p.guard = nil
}

// dismiss ends a guard that is not needed any more.
func dismiss(guard io.WriteCloser) {
	if guard != nil {
		_, _ = io.WriteString(guard, "done\n")
		_ = guard.Close()
	}
}
