// Package mysqltest gives tests a real MariaDB or MySQL.
//
// [Both] runs a test once per flavour, side by side, [Each] one after the other. Each test binary
// starts at most one server per flavour, when the first test asks for it, and shares it among its
// tests; each test gets a fresh database from [Server.Database]. The servers end with the test
// binary (package sandbox sees to it). [Start] gives a test a server of its own, with arguments of
// its own, to restart or kill.
//
// TTLPROXY_TEST_MARIADB and TTLPROXY_TEST_MYSQL name servers to use instead, as data source names
// of the Go driver: root:secret@tcp(127.0.0.1:3306)/. Under -short, or where there is no server, a
// test is skipped and says why; with CI=true a missing server fails the test, so that nothing goes
// untested unseen.
package mysqltest
