package main

// demoOptions are what only the demo takes.
func demoOptions() []option {
	on := []string{"demo"}
	return []option{
		{
			name: "server", arg: "mariadb|mysql", group: "Demo", on: on, from: fromFlag | fromEnvironment,
			bind: func(o *options) value { return choice{&o.Demo.Server, []string{"mariadb", "mysql"}} },
			text: "Which server to start. Without it, whichever is installed, MariaDB first.",
		},
		{
			name: "keep", arg: "DIR", group: "Demo", on: on, from: fromFlag | fromEnvironment,
			bind: func(o *options) value { return text{&o.Demo.Keep} },
			text: "Keep the server's data in this directory and use it again the next time. Without it everything is " +
				"removed at the end.",
		},
	}
}
