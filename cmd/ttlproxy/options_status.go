package main

// statusOptions are what only the status command takes.
func statusOptions() []option {
	on := []string{"status"}
	return []option{
		{
			name: "format", arg: "table|vertical|json", group: "Status", on: on, from: fromFlag | fromEnvironment,
			bind: func(o *options) value { return choice{&o.StatusFormat, []string{"table", "vertical", "json"}} },
			text: "Output of `ttlproxy status`: a table for people; a list with each value on a line of its own; " +
				"or JSON for scripts.",
		},
		{
			name: "watch", group: "Status", on: on, from: fromFlag,
			bind: func(o *options) value { return flagOnly{onOff{&o.Watch}} },
			text: "Print again every two seconds, until Ctrl-C.",
		},
	}
}
