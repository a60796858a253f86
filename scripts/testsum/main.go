// Testsum reads the output of `go test -json` and prints what a person wants to know: one line per
// package, the output of what failed, what was skipped and why, and at the end "N passed, M
// failed". Its arguments are the servers that were not there; their tests are among the skipped,
// and with CI=true they are failures. With TTLPROXY_TEST_LOGS it prints what tests log that pass.
//
// It exits with 1 unless everything passed and something ran.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	s := newSummary(os.Stdout)
	s.logs = os.Getenv("TTLPROXY_TEST_LOGS") != ""
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		s.failed++
	}
	if s.passed == 0 && s.failed == 0 {
		fmt.Fprintln(os.Stdout, "nothing was tested: go test did not come so far")
		s.failed++
	}

	s.report(os.Args[1:], os.Getenv("CI") == "true")
	if s.failed > 0 {
		os.Exit(1)
	}
}

// read takes in a stream of events. Lines that are none come from the go command itself.
func (s *summary) read(r io.Reader) error {
	decoder := json.NewDecoder(r)
	for {
		var e event
		err := decoder.Decode(&e)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of go test -json: %w", err)
		}
		s.add(e)
	}
}
