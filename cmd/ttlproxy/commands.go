package main

// commands lists what the program can do, in the order of the help.
func commands() []command {
	return []command{
		{
			name: "serve", summary: "run the proxy, and the engine that deletes expired rows",
			text: "Runs the proxy in front of a server: clients connect to --listen instead of to the server, log in with their own accounts, and may use TTL in CREATE and ALTER TABLE. " +
				"The engine deletes expired rows with the account --engine-user. SIGTERM lets sessions finish what they are doing.",
			run: serve,
		},
		{
			name: "demo", summary: "show what it does, with a private server that is removed afterwards",
			text: "Starts a private MariaDB or MySQL on a free port, the proxy in front of it, and an application that fills four tables; prints how to connect and what to try. " +
				"Ctrl-C ends it and removes everything. Nothing outside of it is touched.",
			run: demo,
		},
		{
			name: "config", summary: "print an example of the configuration file",
			text: "Prints a configuration file with every key, its explanation and its default.",
			run:  printConfig,
		},
		{
			name: "version", summary: "print the version",
			text: "Prints the version.",
			run:  printVersion,
		},
	}
}
