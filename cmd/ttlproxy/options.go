package main

import (
	"log/slog"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// options are the values of all options, in the shape the packages want them.
type options struct {
	File  string
	Proxy proxy.Config

	Backends proxy.BackendsConfig

	EngineUser, EnginePassword, EnginePasswordFile string
	Engine                                         bool
	Schema                                         string
	StopFile                                       string
	StateDir                                       string

	Status, StatusToken, StatusTokenFile string
	StatusFormat                         string
	Watch                                bool

	LogFormat, LogLevel string

	BackendCheck string

	level *slog.LevelVar           // of the log, which can change
	again func() (*options, error) // reads them from where they came, another time

	Demo struct{ Server, Keep string }
}

// defaults are the values where nothing is said.
func defaults() *options {
	return &options{
		Proxy: proxy.Config{
			Listen: []string{"127.0.0.1:4000"}, LoginTimeout: 30 * time.Second, DrainTimeout: 10 * time.Second, TLS: proxy.ClientTLS{SelfSigned: true},
		},
		Backends: proxy.BackendsConfig{
			DialTimeout: 10 * time.Second, CheckInterval: 2 * time.Second,
			TLS: proxy.BackendTLS{Mode: proxy.TLSAsClient, Verify: proxy.VerifyNone},
		},
		BackendCheck: "account",
		level:        new(slog.LevelVar),
		Engine:       true,
		Schema:       catalog.DefaultSchema,
		StatusFormat: "table",
		LogFormat:    "auto",
		LogLevel:     "info",
	}
}

// The commands that options are for.
var (
	onServe   = []string{"serve"}
	onClients = []string{"serve", "demo"}
	onCatalog = []string{"serve", "status", "init", "check", "export", "uninstall"}
	onLogging = []string{"serve"}
)

// table is everything that can be set when the program starts. What can be set while it runs, for the whole cluster and
// by SQL, is in catalog's table of settings.
func table() []option {
	return slices.Concat([]option{
		{
			name: "config", arg: "FILE", group: "General", on: append([]string{"ready"}, onCatalog...), from: fromFlag | fromEnvironment,
			bind: func(o *options) value { return text{&o.File} },
			text: "Configuration file in TOML. `ttlproxy config` prints an example with every key.",
		},
		{
			name: "listen", arg: "ADDRESS", group: "Clients", on: onClients,
			bind: func(o *options) value { return list{&o.Proxy.Listen} },
			text: "Where clients connect: HOST:PORT or unix:PATH. May be given several times.",
		},
		{
			name: "backend", arg: "ADDRESS", group: "Servers", on: onCatalog,
			bind: func(o *options) value { return list{&o.Backends.Addresses} },
			text: "The MySQL or MariaDB server: HOST:PORT or unix:PATH. May be given several times, for the members of one cluster, in order of preference.",
		},
		{
			name: "engine-user", arg: "NAME", group: "Engine", on: onCatalog,
			bind: func(o *options) value { return text{&o.EngineUser} },
			text: "Account on the server that keeps the policies and deletes expired rows. `ttlproxy init` prints the statements that make it.",
		},
		{
			name: "engine-password-file", arg: "FILE", group: "Engine", on: onCatalog,
			bind: func(o *options) value { return text{&o.EnginePasswordFile} },
			text: "File whose first line is that account's password.",
		},
		{
			name: "engine-password", group: "Engine", on: onCatalog, from: fromEnvironment,
			bind: func(o *options) value { return text{&o.EnginePassword} },
			text: "That account's password. Only in the environment, because others can see a command line.",
		},
		{
			name: "engine", arg: "on|off", group: "Engine", on: onServe,
			bind: func(o *options) value { return onOff{&o.Engine} },
			text: "Whether this proxy deletes expired rows. With off it only relays and answers; other proxies of the same server do the deleting.",
		},
		{
			name: "stop-file", arg: "FILE", group: "Engine", on: onServe,
			bind: func(o *options) value { return text{&o.StopFile} },
			text: "While this file exists, this proxy deletes nothing: a brake that works even when the server cannot be asked.",
		},
		{
			name: "catalog-schema", arg: "NAME", group: "Engine", on: onCatalog,
			bind: func(o *options) value { return text{&o.Schema} },
			text: "Schema on the server for policies, jobs and history.",
		},
		{
			name: "state-dir", arg: "DIR", group: "Engine", on: onServe,
			bind: func(o *options) value { return text{&o.StateDir} },
			text: "Where this proxy remembers how far the catalog has lived, to notice when the server is replaced by an old copy of itself. Without it, it remembers only while it runs.",
		},
		{
			name: "status", arg: "ADDRESS", group: "Watching", on: append([]string{"ready"}, onClients...),
			bind: func(o *options) value { return text{&o.Status} },
			text: "Where the status page, its API, the metrics and the health checks are served by HTTP: HOST:PORT or unix:PATH. Empty: nowhere.",
		},
		{
			name: "status-token-file", arg: "FILE", group: "Watching", on: onServe,
			bind: func(o *options) value { return text{&o.StatusTokenFile} },
			text: "File whose first line is the token that lets its bearer act on the status page and see keys of rows, at least 16 characters. Without one nothing can be changed by HTTP.",
		},
		{
			name: "status-token", group: "Watching", on: onServe, from: fromEnvironment,
			bind: func(o *options) value { return text{&o.StatusToken} },
			text: "That token. Only in the environment, because others can see a command line.",
		},
		{
			name: "log-format", arg: "auto|text|json", group: "Watching", on: onLogging,
			bind: func(o *options) value { return choice{&o.LogFormat, []string{"auto", "text", "json"}} },
			text: "Form of the log on standard error. With auto, text on a terminal and JSON elsewhere.",
		},
		{
			name: "log-level", arg: "LEVEL", group: "Watching", on: onLogging,
			bind: func(o *options) value { return choice{&o.LogLevel, []string{"debug", "info", "warn", "error"}} },
			text: "Least important messages to log: debug, info, warn or error.",
		},
		{
			name: "drain-timeout", arg: "DURATION", group: "Clients", on: onServe,
			bind: func(o *options) value { return span{&o.Proxy.DrainTimeout} },
			text: "How long, after SIGTERM, sessions in the middle of something may go on before they are cut off.",
		},
	}, clientOptions(), serverOptions(), statusOptions(), demoOptions())
}
