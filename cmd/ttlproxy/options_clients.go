package main

// clientOptions are the part of the table about who may connect, and how.
func clientOptions() []option {
	return []option{
		{
			name: "listen", arg: "ADDRESS", group: "Clients", on: onClients,
			once: true,
			bind: func(o *options) value { return list{&o.Proxy.Listen} },
			text: "Where clients connect: HOST:PORT, unix:PATH, or systemd:NAME for a socket that systemd has opened " +
				"(docs/how-to/systemd.md). May be given several times.",
		},
		{
			name: "tls-cert", arg: "FILE", group: "Clients", on: onServe,
			bind: func(o *options) value { return text{&o.Proxy.TLS.CertFile} },
			text: "Certificate for clients that ask for TLS, in PEM, followed by those that lead to its " +
				"authority. Read again when it changes. See docs/how-to/tls.md.",
		},
		{
			name: "tls-key", arg: "FILE", group: "Clients", on: onServe,
			bind: func(o *options) value { return text{&o.Proxy.TLS.KeyFile} },
			text: "The private key of that certificate.",
		},
		{
			name: "tls-self-signed", arg: "on|off", group: "Clients", on: onServe,
			bind: func(o *options) value { return onOff{&o.Proxy.TLS.SelfSigned} },
			text: "If no certificate is named, make one at start, as servers do when they are set up: clients " +
				"that prefer TLS get it if the server has it too. It proves nothing to clients that verify.",
		},
		{
			name: "require-tls", arg: "on|off", group: "Clients", on: onServe,
			bind: func(o *options) value { return onOff{&o.Proxy.TLS.Require} },
			text: "Turn away clients without TLS (error 3159). Those on a unix socket need none.",
		},
		{
			name: "tls-client-ca", arg: "FILE", group: "Clients", on: onServe,
			bind: func(o *options) value { return text{&o.Proxy.TLS.ClientCAFile} },
			text: "Accept only clients with a certificate signed by one of the authorities in this file.",
		},
		{
			name: "rsa-key", arg: "FILE", group: "Clients", on: onServe,
			bind: func(o *options) value { return text{&o.Proxy.RSAKeyFile} },
			text: "RSA key with which clients without TLS encrypt their password when the leg to the server is " +
				"private. Needed only if clients keep the server's public key: then name the server's own private " +
				"key. Otherwise one is generated. Read again when it changes.",
		},
		{
			name: "proxy-networks", arg: "NETWORK", group: "Clients", on: onServe,
			bind: func(o *options) value { return list{&o.Proxy.ProxyNetworks} },
			text: "Networks of load balancers, whose connections begin with a PROXY header (version 1 or 2): " +
				"addresses, prefixes such as 10.0.0.0/8, or the word unix. Headers from elsewhere are not believed. " +
				"May be given several times. See docs/how-to/load-balancer.md.",
		},
		{
			name: "client-attributes", arg: "on|off", group: "Clients", on: onServe,
			bind: func(o *options) value { return onOff{&o.Proxy.ClientAttributes} },
			text: "Tell the server each client's address as the connection attributes _client_ip and _client_port: " +
				"for servers that read no PROXY header. They are in performance_schema.session_connect_attrs.",
		},
		{
			name: "max-connections", arg: "N", group: "Clients", on: onServe,
			bind: func(o *options) value { return number{&o.Proxy.MaxConnections} },
			text: "How many clients may be connected; further ones get error 1040. 0: as many as there are file " +
				"descriptors for, two for each.",
		},
		{
			name: "max-user-connections", arg: "N", group: "Clients", on: onServe,
			bind: func(o *options) value { return number{&o.Proxy.MaxUserConnections} },
			text: "How many clients may be logged in to one account; further ones get error 1203. 0: no limit.",
		},
		{
			name: "max-logins", arg: "N", group: "Clients", on: onServe,
			bind: func(o *options) value { return number{&o.Proxy.MaxLogins} },
			text: "How many clients may be logging in at a time, each counted for a second at most; further ones " +
				"wait their turn. 0: no limit.",
		},
		{
			name: "login-timeout", arg: "DURATION", group: "Clients", on: onServe,
			bind: func(o *options) value { return span{&o.Proxy.LoginTimeout} },
			text: "How long a client may take for each step of its login, and wait for its turn; at most four fifths " +
				"of the server's connect_timeout.",
		},
		{
			name: "idle-timeout", arg: "DURATION", group: "Clients", on: onServe,
			bind: func(o *options) value { return span{&o.Proxy.IdleTimeout} },
			text: "Close sessions that have been silent for this long outside a transaction. 0s leaves that to the " +
				"server's wait_timeout.",
		},
		{
			name: "idle-transaction-timeout", arg: "DURATION", group: "Clients", on: onServe,
			bind: func(o *options) value { return span{&o.Proxy.IdleTransactionTimeout} },
			text: "Close sessions that have been silent for this long inside a transaction, which the server then " +
				"rolls back. 0s: never.",
		},
		{
			name: "drain-delay", arg: "DURATION", group: "Clients", on: onServe,
			bind: func(o *options) value { return span{&o.Proxy.DrainDelay} },
			text: "How long, after SIGTERM, clients are still accepted while the health check already says no, so " +
				"that a load balancer notices first.",
		},
		{
			name: "drain-timeout", arg: "DURATION", group: "Clients", on: onServe,
			bind: func(o *options) value { return span{&o.Proxy.DrainTimeout} },
			text: "How long, after SIGTERM, sessions in the middle of something may continue before they are cut off.",
		},
	}
}
