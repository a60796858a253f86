package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the module's version as the Go toolchain recorded it, or the commit of a build from a
// checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}

	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}

	return "devel"
}

func printVersion(_ context.Context, w world, _ *options, _ []string) error {
	_, err := fmt.Fprintf(w.stdout, "ttlproxy %s (%s, %s/%s)\n",
		version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
