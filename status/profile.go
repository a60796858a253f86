package status

import "net/http/pprof"

// profileRoutes are Go's own profiles. They can show texts held in memory, so they need the token,
// or a client on this machine where none is configured.
func profileRoutes() []route {
	return []route{
		{"GET", "/debug/pprof/", profiling, pprof.Index},
		{"GET", "/debug/pprof/cmdline", profiling, pprof.Cmdline},
		{"GET", "/debug/pprof/profile", profiling, pprof.Profile},
		{"GET", "/debug/pprof/symbol", profiling, pprof.Symbol},
		{"GET", "/debug/pprof/trace", profiling, pprof.Trace},
	}
}
