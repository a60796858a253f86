// Command suites runs the regression tests of servers and drivers through the proxy: `make suites`.
//
// A test is run over TCP twice against one server, through a plain relay that copies bytes and
// through ttlproxy. Before each run everything that an earlier test left is removed. What passes
// through the relay must pass through the proxy; what fails through the relay, because it needs a
// debug server, a local file or another configuration, says nothing and is only counted.
//
//	go run ./integration/suites -suite mariadb
//	go run ./integration/suites -suite mysql -tests …/mysql-test -player …/mysqltest
//	go run ./integration/suites -suite client
//	go run ./integration/suites -suite go -server mysql
//
// The servers' tests are those of Debian's packages mariadb-test and mysql-testsuite; client is
// mariadb-client-test or, with -player, mysql_client_test; go is the Go driver's own tests. A test
// that stops the server or asks for options that the server was not started with is left out.
package main
