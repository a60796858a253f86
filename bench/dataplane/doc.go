// Command dataplane measures what the proxy costs: `make bench-proxy`.
//
// It sends the same queries to one server directly, through ttlproxy and, where it is installed,
// through HAProxy in TCP mode, all on this machine. Rounds are interleaved, so that whatever else
// the machine does affects all alike, and each target is compared with HAProxy in the same round;
// the table shows medians.
//
// The figure to steer by is the CPU time of the proxy's own process per query. Throughput on one
// machine says less: client, server and proxy share its cores.
package main
