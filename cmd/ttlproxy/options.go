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

	EngineUser, EnginePassword, EnginePasswordFile    string
	password                                          *secret
	ReplicaUser, ReplicaPassword, ReplicaPasswordFile string
	replicaPassword                                   *secret
	Engine                                            bool
	Schema                                            string
	StopFile                                          string
	ThrottleURL, ThrottleQuery                        string
	StateDir                                          string

	Status, StatusToken, StatusTokenFile string
	StatusFormat                         string
	Watch                                bool

	DryRun, Yes bool

	LogFormat, LogLevel string

	BackendCheck string

	level      *slog.LevelVar // of the log, which can change
	supervisor *supervisor    // who is told how this process is
	reloads    bool           // they are read again on SIGHUP, and when the file has changed

	again func() (*options, error) // reads them again from where they came

	Demo struct{ Server, Keep string }
}

// defaults are the values of options that are not given.
func defaults() *options {
	return &options{
		Proxy: proxy.Config{
			Listen: []string{"127.0.0.1:4000"}, LoginTimeout: 30 * time.Second,
			MaxLogins: 256, DrainTimeout: 10 * time.Second,
			TLS: proxy.ClientTLS{SelfSigned: true},
		},
		Backends: proxy.BackendsConfig{
			DialTimeout: 10 * time.Second, CheckInterval: 2 * time.Second,
			CheckTimeout: time.Second, Switch: proxy.SwitchDrain,
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
)

// table is everything that can be set when the program starts. What can be set while it runs, for
// the whole cluster and by SQL, is in catalog's table of settings.
func table() []option {
	return slices.Concat(generalOptions(), clientOptions(), serverOptions(), engineOptions(), watchingOptions(),
		statusOptions(), uninstallOptions(), demoOptions())
}

// generalOptions are the part of the table about where the others come from.
func generalOptions() []option {
	return []option{
		{
			name: "config", arg: "FILE", group: "General", on: append([]string{"ready"}, onCatalog...),
			from: fromFlag | fromEnvironment, bind: func(o *options) value { return text{&o.File} },
			text: "Configuration file in TOML. `ttlproxy config` prints an example with every key.",
		},
	}
}
