package sandbox

import (
	"context"
	"os"
	"time"
)

// stopGrace is how long a server may take to shut down in an orderly way.
const stopGrace = 30 * time.Second

// Close ends the server and removes its directory if that was temporary. If its data is kept, it is
// shut down in an orderly way; otherwise that is not worth waiting for.
func (s *Server) Close() error {
	if s.process != nil {
		if s.temporary {
			s.process.kill()
		} else {
			s.process.stop(stopGrace)
		}
		s.process = nil
	}
	return s.remove()
}

// Kill ends the server without warning, as a power cut would. The data stays for Restart.
func (s *Server) Kill() { s.process.kill() }

// Stop shuts the server down in an orderly way. The data stays for Restart.
func (s *Server) Stop() { s.process.stop(stopGrace) }

// Restart starts the server again on its data and its port, stopping it first if it runs.
func (s *Server) Restart(ctx context.Context) error {
	s.Stop()
	return s.bootOnce(ctx)
}

// Signal sends a signal to the server, such as SIGSTOP to freeze it.
func (s *Server) Signal(sig os.Signal) error { return s.process.cmd.Process.Signal(sig) }

// Done is closed when the running server has ended, whoever ended it.
func (s *Server) Done() <-chan struct{} { return s.process.done }

func (s *Server) remove() error {
	if !s.temporary {
		return nil
	}
	return os.RemoveAll(s.dir)
}
