// Package status shows what the proxy and its engine do: to people as one page, to scripts as JSON,
// to Prometheus as metrics, and to whoever starts and stops processes as /healthz and /readyz.
//
// # A request
//
//	         GET, no token                         POST, token
//	browser ──────────────▶ view ◀── catalog     ──────────────▶ action ──▶ catalog
//	script                  │                                     (run, pause, resume, approve, cancel)
//	                        └─ read once a second at most, however many pages are open
//
// The routes are one table (route.go); the mux, the check of methods and tokens, and the test that
// holds openapi.json against the code all come from it.
//
// # What may be seen
//
// Without the token the listener shows what SHOW TTL shows to an account that sees the tables but may not read them:
// names, policies, counts, states, and how far behind a table is. Keys and dates of rows, what the server says of a row
// that it does not delete (it may quote it), profiles, and everything that changes something need the token. Without a
// configured token nothing can be changed over HTTP. A GET never changes anything.
//
// # The page
//
// page/ is served as it lies there: HTML, CSS and plain ES modules, with uPlot for the charts under
// page/vendor. It talks to nobody but its own server, and knows nothing that the JSON API does not
// say.
//
// # History
//
// A Recorder on each node writes what the node did in the last minute into the catalog (one row per
// minute, and two days later it is removed). So the charts are the same from every proxy, and are
// still there after a restart.
//
// What the package never does: it does not know proxy or ttl (it reads their metrics from the
// registry and their state from the catalog), and it never deletes rows or decides what is due.
package status
