package main

// watchingOptions are the part of the table about what the proxy shows of itself.
func watchingOptions() []option {
	return []option{
		{
			name: "status", arg: "ADDRESS", group: "Watching", on: append([]string{"ready"}, onClients...),
			once: true,
			bind: func(o *options) value { return text{&o.Status} },
			text: "Where the status page, its API, the metrics and the health checks are served over HTTP: " +
				"HOST:PORT or unix:PATH. Empty: nowhere.",
		},
		{
			name: "status-token-file", arg: "FILE", group: "Watching", on: onServe,
			bind: func(o *options) value { return text{&o.StatusTokenFile} },
			text: "File whose first line is the token that lets its bearer act on the status page and see what is in " +
				"rows, at least 16 characters. Without one nothing can be changed over HTTP. Read again with the " +
				"configuration and on SIGHUP.",
		},
		{
			name: "status-token", group: "Watching", on: onServe, from: fromEnvironment,
			bind: func(o *options) value { return text{&o.StatusToken} },
			text: "That token. Only in the environment, because others can see a command line.",
		},
		{
			name: "log-format", arg: "auto|text|json", group: "Watching", on: onServe,
			once: true,
			bind: func(o *options) value { return choice{&o.LogFormat, []string{"auto", "text", "json"}} },
			text: "Form of the log on standard error. With auto, text on a terminal and JSON elsewhere.",
		},
		{
			name: "log-level", arg: "LEVEL", group: "Watching", on: onServe,
			bind: func(o *options) value { return choice{&o.LogLevel, []string{"debug", "info", "warn", "error"}} },
			text: "Least important messages to log: debug, info, warn or error.",
		},
		{
			name: "connection-log", arg: "on|off", group: "Watching", on: onServe,
			bind: func(o *options) value { return onOff{&o.Proxy.ConnectionLog} },
			text: "Log a line for each client's session that ends: from where, as whom, to which server, how long, " +
				"how many bytes, and why it ended.",
		},
		{
			name: "slow-log", arg: "DURATION", group: "Watching", on: onServe,
			bind: func(o *options) value { return span{&o.Proxy.SlowLog} },
			text: "Log client statements that took at least this long, without the values in them, at most ten a " +
				"second. 0s: none.",
		},
	}
}
