// Ttlproxy is a proxy for MySQL and MariaDB which gives every table a time to live.
//
// This package is the only one that reads flags, files, the environment and signals, and the only
// one that knows all the others. One table in options.go lists what can be set; from it come the
// flags, the environment variables (TTLPROXY_ and the name in capitals), the keys of the
// configuration file, the help, docs/reference/options.md and the output of `ttlproxy config`. The
// command line takes precedence over the environment, and the environment over the file.
//
// Life of a command:
//
//	main ─► run: find the command ─► load: flags, environment, file into options ─► command.run(ctx) ─► exit code
//
// The program exits with 2 after wrong usage and with 1 after any other failure, and says in one
// line what to do.
package main
