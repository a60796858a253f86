package main

// serverOptions are the part of the table about the servers and how to reach them.
func serverOptions() []option {
	return []option{
		{
			name: "backend", arg: "ADDRESS", group: "Servers", on: onCatalog,
			bind: func(o *options) value { return list{&o.Backends.Addresses} },
			text: "The MySQL or MariaDB server: HOST:PORT or unix:PATH. May be given several times, for the members " +
				"of one cluster, in order of preference. ?drain=on behind one takes it out of service.",
		},
		{
			name: "backend-tls", arg: "MODE", group: "Servers", on: onCatalog,
			bind: func(o *options) value {
				return choice{(*string)(&o.Backends.TLS.Mode), []string{"as-client", "always", "never"}}
			},
			text: "When the connection to the server uses TLS: as-client, where the client itself does; always; or " +
				"never. See docs/how-to/tls.md.",
		},
		{
			name: "backend-tls-verify", arg: "MODE", group: "Servers", on: onCatalog,
			bind: func(o *options) value {
				return choice{(*string)(&o.Backends.TLS.Verify), []string{"none", "verify-ca", "verify-identity"}}
			},
			text: "What is required of the server's certificate: none; verify-ca, that a known authority has signed " +
				"it; verify-identity, that it names the server's host, too.",
		},
		{
			name: "backend-tls-ca", arg: "FILE", group: "Servers", on: onCatalog,
			bind: func(o *options) value { return text{&o.Backends.TLS.CAFile} },
			text: "The authorities, in PEM. Empty: those of the system.",
		},
		{
			name: "backend-tls-cert", arg: "FILE", group: "Servers", on: onCatalog,
			bind: func(o *options) value { return text{&o.Backends.TLS.CertFile} },
			text: "Certificate that the proxy shows to the server, for accounts that require one.",
		},
		{
			name: "backend-tls-key", arg: "FILE", group: "Servers", on: onCatalog,
			bind: func(o *options) value { return text{&o.Backends.TLS.KeyFile} },
			text: "The private key of that certificate.",
		},
		{
			name: "backend-check", arg: "HOW", group: "Servers", on: onServe,
			bind: func(o *options) value { return choice{&o.BackendCheck, []string{"account", "greeting"}} },
			text: "How several servers are watched: account logs in as --engine-user and asks for @@read_only and " +
				"the state of the cluster, so that new sessions go to one that is writable; greeting only notices " +
				"which one does not answer.",
		},
		{
			name: "backend-check-interval", arg: "DURATION", group: "Servers", on: onServe,
			bind: func(o *options) value { return span{&o.Backends.CheckInterval} },
			text: "How often.",
		},
		{
			name: "backend-check-timeout", arg: "DURATION", group: "Servers", on: onServe,
			bind: func(o *options) value { return span{&o.Backends.CheckTimeout} },
			text: "How long one check may take. A server that fails two in a row counts as down, and nobody waits " +
				"for it any more. Trouble on the proxy's own machine does not count.",
		},
		{
			name: "fail-back", arg: "DURATION", group: "Servers", on: onServe,
			bind: func(o *options) value { return span{&o.Backends.FailBack} },
			text: "How long a server that comes earlier in the list must have been as good as the one with the new " +
				"sessions before it gets them again. 0s: never by itself.",
		},
		{
			name: "backend-switch", arg: "HOW", group: "Servers", on: onServe,
			bind: func(o *options) value { return choice{(*string)(&o.Backends.Switch), []string{"drain", "keep"}} },
			text: "What becomes of the sessions of a server that new ones have left, or that is no longer in the " +
				"list: drain ends idle ones at once, the others when they are idle, and the rest after " +
				"--drain-timeout; keep leaves them where they are.",
		},
		{
			name: "dial-timeout", arg: "DURATION", group: "Servers", on: onCatalog,
			bind: func(o *options) value { return span{&o.Backends.DialTimeout} },
			text: "How long a new session waits for the greeting of a server that is not known to be down.",
		},
	}
}
