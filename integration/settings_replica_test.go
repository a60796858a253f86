package integration

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// replicaTrials are those of a replica that nobody can ask, which is enough to hold everything.
// TestReplicaLagSlowsDeletion has a real one.
var replicaTrials = map[string]func(*trial){
	setting.ThrottleReplicas: func(s *trial) {
		s.sql("SET GLOBAL ttl_throttle_replicas = 'db2'")
		s.wait("the replica to be looked for, before anything is due",
			func() bool { return s.reading("replica_lag").state == "unknown" })
		s.sql("SET GLOBAL ttl_throttle_replicas = ''")
		s.heldByReplica()
		s.goesOn("SET GLOBAL ttl_throttle_replicas = ''")
	},
	setting.ThrottleReplicaLag: func(s *trial) {
		s.heldByReplica()
		s.goesOn("SET GLOBAL ttl_throttle_replica_lag = 0")
	},
	setting.ThrottleLagUnknown: func(s *trial) {
		s.heldByReplica()
		s.goesOn("SET GLOBAL ttl_throttle_lag_unknown = 'floor'")
	},
}

// heldByReplica makes a running job wait for a replica that cannot be asked.
func (s *trial) heldByReplica() {
	s.Helper()
	s.running(slowly)
	s.sql("SET GLOBAL ttl_throttle_replicas = 'db2'")
	s.wait("rows to stay", s.still)
}

// still reports that no row has gone for a second.
func (s *trial) still() bool { return s.gone("AND at > NOW(6) - INTERVAL 1 SECOND") == 0 }

// goesOn demands that rows go once a statement has answered.
func (s *trial) goesOn(statement string) {
	s.Helper()
	since := s.after(statement)
	s.wait("rows to go", func() bool { return s.gone(since) > 0 })
}

// TestReplicaLagSlowsDeletion has a replica that stops applying, goes on, and is gone.
func TestReplicaLagSlowsDeletion(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			source := mysqltest.Start(t, flavour, sandbox.Replicating(flavour, 1)...)
			replica := mysqltest.Start(t, flavour, sandbox.Replicating(flavour, 2)...)
			s := newTrialOn(t, source, "--replica-user=ttl_lag")
			execAll(t, s.direct, "CREATE USER ttl_lag", "GRANT SELECT ON ttlproxy.heartbeat TO ttl_lag")
			if err := replica.Sandbox.Follow(t.Context(), source.Sandbox); err != nil {
				t.Fatal(err)
			}

			applier := func(verb string) {
				word := "REPLICA"
				if source.MariaDB() {
					word = "SLAVE"
				}
				execAll(t, replica.Open(t, ""), verb+" "+word+" SQL_THREAD")
			}
			s.sql("SET GLOBAL ttl_brake_percent = 100, " + strings.Join(mysqltest.Signals, " = 0, ") + " = 0")
			s.sql("SET GLOBAL ttl_throttle_replicas = '" + replica.Addr() + "', ttl_throttle_replica_lag = 500")
			s.running(lasting)
			s.wait("a replica that follows", func() bool { return s.lag("measured") && s.speed() > 50 })

			applier("STOP")
			var r shownReading
			s.wait("deletion to make way", func() bool {
				r = s.reading("replica_lag")
				return r.state == "measured" && r.value > 500 && s.speed() < 20
			})
			if r.threshold != 500 || r.unit != "ms" || r.source != replica.Addr() || r.age < 0 ||
				r.age > mysqltest.Patience.Seconds() || r.node == "" {
				t.Errorf("got %+v", r)
			}
			said := regexp.MustCompile(`held back by replica_lag of ` + replica.Addr() + `: [\d.]+ s > 500 ms`)
			s.wait("the verdict to say how far it is behind", func() bool { return said.MatchString(s.verdict()) })

			applier("START")
			s.wait("deletion to resume", func() bool { return s.speed() > 50 })

			s.holdsWithoutHeartbeat(replica.Addr())
			if err := replica.Sandbox.Close(); err != nil {
				t.Fatal(err)
			}
			s.wait("rows to stay while nobody knows", func() bool { return s.lag("unknown") && s.still() })
			s.goesOn("SET GLOBAL ttl_throttle_replicas = ''")
		})
	}
}

// holdsWithoutHeartbeat: while the row cannot be written by which a replica shows how far it is, nobody knows.
func (s *trial) holdsWithoutHeartbeat(address string) {
	s.Helper()
	lock, err := s.direct.Conn(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(s.Context(), "LOCK TABLES ttlproxy.heartbeat READ"); err != nil {
		s.Fatal(err)
	}
	s.wait("rows to stay while the heartbeat cannot be written", func() bool {
		return s.lag("unknown") && s.reading("replica_lag").source == address && s.still()
	})
	s.goesOn("SET GLOBAL ttl_throttle_lag_unknown = 'floor', ttl_throttle_floor = 50")
	s.sql("SET GLOBAL ttl_throttle_lag_unknown = DEFAULT, ttl_throttle_floor = DEFAULT")
	if _, err := lock.ExecContext(s.Context(), "UNLOCK TABLES"); err != nil {
		s.Fatal(err)
	}
	s.wait("deletion to resume", func() bool { return s.speed() > 50 })
}

// lag reports whether the lag of a replica is shown in that state.
func (s *trial) lag(state string) bool {
	s.Helper()
	return s.reading("replica_lag").state == state
}
