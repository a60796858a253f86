// Ttlproxy is a proxy for MySQL and MariaDB which gives every table a time to live.
//
// This package is the only one that reads flags, files, the environment and signals, and the only
// one that knows all the others. One table in options.go lists what can be set; from it come the
// flags, the environment variables (TTLPROXY_ and the name in capitals), the keys of the
// configuration file, the help, docs/reference/options.md and the output of `ttlproxy config`. A
// value given on the command line wins over the environment, which wins over the file.
//
// Life of a command:
//
//	main ─► run: find the command ─► load: flags, environment, file into options ─► command.run(ctx) ─► exit code
//
// Wrong usage exits with 2, anything else that fails with 1, and either says in one line what to
// do.
package main
