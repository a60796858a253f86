// Package program builds ttlproxy once per test binary and runs it as the processes that users run.
//
// Call [Main] from TestMain, then [Start] as often as a test needs a proxy:
//
//	func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
//
//	p := program.Start(t, program.Config{Args: []string{"--backend=" + s.Addr(), "--engine-user=root"}})
//	db := connect to p.Addr
//
// A process ends with its test, and with the test binary if that dies first. When a test fails, the
// log of its processes is printed.
package program
