package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestReplicaReadsThroughTheProxy puts the proxy between a source and its replica, which reads by
// global transaction ids: on MySQL that is COM_BINLOG_DUMP_GTID, on MariaDB COM_BINLOG_DUMP behind
// a few SETs.
func TestReplicaReadsThroughTheProxy(t *testing.T) {
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			var gtid []string
			if flavour == sandbox.MySQL {
				gtid = []string{"--gtid-mode=ON", "--enforce-gtid-consistency=ON"}
			}

			source := mysqltest.Start(t, flavour, append(gtid, "--server-id=11")...)
			replica := mysqltest.Start(t, flavour, append(gtid, "--server-id=12")...)
			user(t, source, "replica")
			// MySQL's replicas ask for TLS
			proxies := throughBoth(t, source.Addr(), func(c *proxy.Config) { c.TLS.SelfSigned = true })
			stop := "STOP REPLICA"
			follow := "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_PORT = %d, SOURCE_USER = 'replica', " +
				"SOURCE_AUTO_POSITION = 1"
			start, failure := "START REPLICA",
				"SELECT CONCAT(service_state, ' ', last_error_message) FROM "+
					"performance_schema.replication_connection_status"

			if source.MariaDB() {
				stop = "STOP SLAVE"
				follow = "CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %d, MASTER_USER = 'replica', " +
					"MASTER_USE_GTID = slave_pos"
				failure = "SELECT CONCAT(variable_name, ' ', variable_value) FROM information_schema.global_status " +
					"WHERE variable_name = 'Slave_running'"
			}

			run := func(s *mysqltest.Server, statements ...string) {
				db := s.Open(t, "")
				for _, q := range statements {
					if _, err := db.ExecContext(t.Context(), q); err != nil {
						t.Fatalf("%s: %v", q, err)
					}
				}
			}

			for way, proxied := range proxies {
				host, port := split(t, proxied)
				run(replica, fmt.Sprintf(follow, host, port), start)
				run(source, "CREATE DATABASE "+way, "CREATE TABLE "+way+".t (id INT PRIMARY KEY, b LONGBLOB)",
					"INSERT INTO "+way+".t VALUES (1, REPEAT('x', 20000000)), (2, NULL)",
					"DELETE FROM "+way+".t WHERE id = 2")
				awaitRow(t, replica, "SELECT COUNT(*) = 1 AND SUM(LENGTH(b)) = 20000000 FROM "+way+".t", failure)
				run(replica, stop)
			}
		})
	}
}

// awaitRow waits until a query says 1; the other says what is wrong when it does not.
func awaitRow(t *testing.T, s *mysqltest.Server, query, failure string) {
	t.Helper()
	db := s.Open(t, "")
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var there *bool
		err := db.QueryRowContext(t.Context(), query).Scan(&there)
		if err == nil && there != nil && *there {
			return
		}

		if time.Now().After(deadline) {
			var why string
			reason := db.QueryRowContext(t.Context(), failure).Scan(&why)
			t.Fatalf("the replica has not followed: %v, %s, %v", err, why, reason)
		}

		<-time.After(100 * time.Millisecond)
	}
}
