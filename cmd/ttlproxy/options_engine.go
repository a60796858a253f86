package main

// engineOptions are the part of the table about the engine and its account.
func engineOptions() []option {
	return []option{
		{
			name: "engine-user", arg: "NAME", group: "Engine", on: onCatalog,
			once: true,
			bind: func(o *options) value { return text{&o.EngineUser} },
			text: "Account on the server that keeps the policies and deletes expired rows. `ttlproxy init` prints " +
				"the statements that create it.",
		},
		{
			name: "engine-password-file", arg: "FILE", group: "Engine", on: onCatalog,
			bind: func(o *options) value { return text{&o.EnginePasswordFile} },
			text: "File whose first line is that account's password. Read at each login, so that the password can be " +
				"changed while it runs.",
		},
		{
			name: "engine-password", group: "Engine", on: onCatalog, from: fromEnvironment,
			bind: func(o *options) value { return text{&o.EnginePassword} },
			text: "That account's password. Only in the environment, because others can see a command line.",
		},
		{
			name: "replica-user", arg: "NAME", group: "Engine", on: onServe,
			once: true,
			bind: func(o *options) value { return text{&o.ReplicaUser} },
			text: "Account with which replicas are asked how far they are behind (docs/how-to/replicas.md). It " +
				"should have no right but SELECT on the catalog's table heartbeat: whoever names a replica by SQL " +
				"decides who gets to see it log in.",
		},
		{
			name: "replica-password-file", arg: "FILE", group: "Engine", on: onServe,
			bind: func(o *options) value { return text{&o.ReplicaPasswordFile} },
			text: "File whose first line is that account's password. Read at each login.",
		},
		{
			name: "replica-password", group: "Engine", on: onServe, from: fromEnvironment,
			bind: func(o *options) value { return text{&o.ReplicaPassword} },
			text: "That account's password. Only in the environment, because others can see a command line.",
		},
		{
			name: "engine", arg: "on|off", group: "Engine", on: onServe,
			once: true,
			bind: func(o *options) value { return onOff{&o.Engine} },
			text: "Whether this proxy deletes expired rows. With off it only relays and answers; other proxies of " +
				"the same server do the deleting.",
		},
		{
			name: "stop-file", arg: "FILE", group: "Engine", on: []string{"serve", "check"},
			once: true,
			bind: func(o *options) value { return text{&o.StopFile} },
			text: "While this file exists, or nobody can tell whether it does, this proxy deletes nothing: a switch " +
				"that works even when the server cannot be reached.",
		},
		{
			name: "throttle-url", arg: "URL", group: "Engine", on: onServe,
			once: true,
			bind: func(o *options) value { return text{&o.ThrottleURL} },
			text: "While this address answers with anything but 2xx, this proxy deletes nothing; while it does not " +
				"answer, only as much as ttl_throttle_floor says. It is asked all the time while there is " +
				"something to delete, and otherwise every ten seconds.",
		},
		{
			name: "throttle-query", arg: "SELECT", group: "Engine", on: onServe,
			once: true,
			bind: func(o *options) value { return text{&o.ThrottleQuery} },
			text: "A query whose value is how much the server has to bear, as a part of what it may: this proxy's " +
				"deletion slows down before it is 1. It runs with the engine's rights, which is why no statement " +
				"can set it.",
		},
		{
			name: "catalog-schema", arg: "NAME", group: "Engine", on: onCatalog,
			once: true,
			bind: func(o *options) value { return text{&o.Schema} },
			text: "Schema on the server for policies, jobs and history.",
		},
		{
			name: "state-dir", arg: "DIR", group: "Engine", on: onServe,
			once: true,
			bind: func(o *options) value { return text{&o.StateDir} },
			text: "Directory in which this proxy remembers the catalog's generation, to notice when the server is " +
				"replaced by an old copy of itself. Without it, the proxy remembers only while it runs.",
		},
	}
}
