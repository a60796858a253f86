package main

// commands lists what the program can do, in the order of the help.
func commands() []command {
	return []command{
		{
			name: "serve", summary: "run the proxy, and the engine that deletes expired rows",
			text: "Runs the proxy in front of a server: clients connect to --listen instead of to the server, log in " +
				"with their own accounts, and may use TTL in CREATE and ALTER TABLE. The engine deletes expired rows " +
				"with the account --engine-user. SIGTERM lets sessions finish what they are doing.",
			run: serve,
		},
		{
			name: "demo", summary: "show what it does, with a private server that is removed afterwards",
			text: "Starts a private MariaDB or MySQL on a free port, the proxy in front of it, and an application " +
				"that fills four tables; prints how to connect and what to try. The page is on 127.0.0.1:4080 unless " +
				"--status says otherwise. Ctrl-C, or closing the terminal, ends it and removes everything. Nothing " +
				"outside of it is touched.",
			run: demo,
		},
		statusCommand(),
		{
			name: "ready", summary: "ask a running proxy whether it is ready for clients",
			text: "Asks /readyz at --status, prints the answer, and exits with 1 if clients should go elsewhere: " +
				"a health check for containers, whose image contains no other program.",
			run: ready,
		},
		{
			name: "init", args: "[SCHEMA...]",
			summary: "print the statements that create the service account, and create the catalog",
			text: "Prints the GRANTs of an account with the fewest rights that suffice, for tables in the given " +
				"schemas or in all. With the account's password it then creates the catalog.",
			run: initialize,
		},
		{
			name: "check", summary: "find out what keeps rows from being deleted, and say what to do",
			text: "Tries each right of the service account and looks at the settings of the server, the catalog " +
				"and the policies. Exits with 1 if rows will not be deleted.",
			run: check,
		},
		{
			name: "export", summary: "print all policies and settings as statements",
			text: "Prints an ALTER TABLE for each policy, and what was set or paused, to be run through a proxy. A " +
				"policy that keeps rows until somebody has looked comes back switched off, below the reason.",
			run: export,
		},
		{
			name: "uninstall", summary: "print what export prints, then remove the catalog",
			text: "Prints what export prints, then drops the tables and views that ttlproxy created, and their " +
				"schema if nothing else is in it. It asks first, and refuses while proxies are using the catalog.",
			run: uninstall,
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
