// Package integration tests the whole of ttlproxy against real servers: its stories.
//
// A story is a file in testdata: a script of commands (see package testscript) that runs once on
// MariaDB and once on MySQL, and reads as documentation of what a user does and sees. Each has a
// database, an engine account, a catalog schema and an application account of its own. Besides
// testscript's own commands there are:
//
//	proxy start [NAME] [OPTIONS]   run ttlproxy serve; later commands go through this one
//	proxy stop|crash|freeze|thaw|hangup [NAME]
//	proxy log NAME PATTERN         wait until its log matches; the name without one is proxy
//	sql [FLAGS] STATEMENT…         run statements in one session through the proxy; with ! expect an error
//	direct [FLAGS] STATEMENT…      the same on the server itself, with all rights
//	session NAME [FLAGS] STATEMENT…  run statements in a session that stays open; -direct for one on the server itself
//	start NAME [FLAGS] STATEMENT…  the same without waiting for the answer, which comes by
//	finish NAME                    with ! expect an error
//	leave NAME                     the client is gone, in the middle of a statement or not
//	await [FLAGS] QUERY… PATTERN   repeat the queries until what they print matches the regular expression
//	page PATH PATTERN              ask a proxy with --status=unix:$WORK/status until its answer matches
//	server own [ARGUMENTS]         give this story a server of its own, which it may then
//	server restart|crash|freeze|thaw
//	server replica [ARGUMENTS]     start another one, $REPLICA, that follows it and is read-only
//
// The flags are -as=USER ($APP is the default, and owns the database; root is the administrator),
// -db=NAME, -v for one column per line, -direct for await, and for sql also -tls, -at=ADDRESS
// (host:port or unix:path of a proxy) and -from=IP for a PROXY header. A file of the story can stand
// for a statement: its name must end in .sql. Conditions: [mariadb] and [mysql]. Variables: $DB,
// $CATALOG, $SERVER (host:port of the server), $SOCKET (its socket), $PROXY (host:port of the
// proxy), $APP and $ENGINE (the accounts; each one's password is its name).
//
// Run one story on one server with: go test ./integration -run 'Stories/mariadb/create'
package integration
