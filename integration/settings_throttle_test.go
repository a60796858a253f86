package integration

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// throttleTrials are those of the signals that slow deletion down.
var throttleTrials = map[string]func(*trial){
	setting.ThrottleThreads: func(s *trial) {
		defer s.busy("SELECT SLEEP(600)")()
		s.slowsDown("threads_running", "SET GLOBAL ttl_throttle_threads_running = 1",
			"SET GLOBAL ttl_throttle_threads_running = 0")
	},
	setting.ThrottleHistory: func(s *trial) {
		tx, err := s.direct.BeginTx(s.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			s.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(s.Context(), "SELECT * FROM "+s.schema+".seed LIMIT 1"); err != nil {
			s.Fatal(err)
		}
		s.slowsDown("history_length", "SET GLOBAL ttl_throttle_history_length = 1",
			"SET GLOBAL ttl_throttle_history_length = 0")
	},
	setting.ThrottleLockWaits: func(s *trial) {
		lock, letGo := s.locked()
		defer letGo()
		defer s.busy(lock)()
		defer s.busy(lock)()
		s.slowsDown("lock_waits", "SET GLOBAL ttl_throttle_lock_waits = 1", "SET GLOBAL ttl_throttle_lock_waits = 0")
	},
	setting.ThrottleLockErrors: func(s *trial) {
		lock, letGo := s.locked()
		defer letGo()
		client, err := s.db.Conn(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		defer client.Close()
		if _, err := client.ExecContext(s.Context(), "SET SESSION innodb_lock_wait_timeout = 1"); err != nil {
			s.Fatal(err)
		}

		s.sql("SET GLOBAL ttl_throttle_lock_errors = 1")
		s.running(lasting)
		s.learnsUsual("lock_errors")
		s.wait("the job to slow down", func() bool {
			_, err := client.ExecContext(s.Context(), lock)
			if my, refused := errors.AsType[*mysql.MySQLError](err); !refused || my.Number != ddl.CodeLockWait {
				s.Fatalf("the lock was had: %v", err)
			}
			return s.speed() < 25 && strings.Contains(s.verdict(), "held back by lock_errors")
		})
		s.switchesOff("lock_errors")
		s.wait("the job to recover", func() bool { return s.speed() == 100 })
	},
	setting.ThrottleApplication: func(s *trial) {
		stop := s.atWork()
		defer stop()
		s.slowsDown("application", "SET GLOBAL ttl_throttle_application = 20", "SET GLOBAL ttl_throttle_application = 0")

		s.sql("SET GLOBAL ttl_throttle_application = 20")
		s.wait("the job to slow down again", func() bool { return s.speed() < 25 })
		stop()
		s.wait("full speed once nobody else is at work", func() bool { return s.speed() == 100 })
		s.wait("nobody to be seen", func() bool { return s.reading("application").state == "not seen" })
	},
	setting.ThrottleProbe: func(s *trial) {
		s.sql("SET GLOBAL ttl_throttle_probe = 100000")
		s.running(lasting)
		s.wait("a change", func() bool { return s.number("SELECT COALESCE(MAX(number), 0) FROM ttlproxy.probe") > 0 })
		s.wait("the probe", func() bool { return s.reading("probe").state != "" })

		s.sql("SET GLOBAL ttl_throttle_probe = 500")
		defer s.atWork()() // or nobody would be harmed
		s.learnsUsual("probe")
		tx, err := s.direct.BeginTx(s.Context(), nil)
		if err != nil {
			s.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(s.Context(), "SELECT * FROM ttlproxy.probe FOR UPDATE"); err != nil {
			s.Fatal(err)
		}
		s.heldBackBy("probe")
	},
	setting.ThrottleCheckpoint: func(s *trial) {
		s.sql("SET GLOBAL ttl_throttle_checkpoint_age = 100")
		s.running(slowly)
		s.wait("a look", func() bool { return s.reading("checkpoint_age").state == "measured" })
		s.switchesOff("checkpoint_age")
	},
	// How much writes suffer around the proxies is seen in package signal. Nothing is taken for good while too few
	// are there.
	setting.ThrottleLatency: func(s *trial) {
		s.sql("SET GLOBAL ttl_throttle_latency = 300")
		s.running(lasting)
		s.wait("it to be looked at", func() bool { return s.reading("latency").state == "not seen" })
		s.wait("clients to be counted", func() bool {
			return s.number("SELECT COUNT(*) FROM ttlproxy.latency WHERE JSON_LENGTH(content) > 0") > 0
		})

		var slow atomic.Bool
		defer s.clients(&slow)()
		s.learnsUsual("latency")
		slow.Store(true)
		s.heldBackBy("latency")
	},
	// This server is no member of a Galera cluster, nor of a group: package signal has tests with those.
	setting.ThrottleGroupQueue:   func(s *trial) { s.nothingToSee("group_queue", "ttl_throttle_group_queue") },
	setting.ThrottleFlowControl:  func(s *trial) { s.nothingToSee("flow_control", "ttl_throttle_flow_control") },
	setting.ThrottleReceiveQueue: func(s *trial) { s.nothingToSee("receive_queue", "ttl_throttle_receive_queue") },
	ddl.OptionPriority: func(s *trial) {
		defer s.busy("SELECT SLEEP(600)")()
		s.running(slowly + " TTL_MAX_LAG = '1s'")
		s.sql("SET GLOBAL ttl_throttle_threads_running = 1, ttl_throttle_floor = 1")
		s.wait("the job to slow down", func() bool { return s.speed() < 2 })
		s.wait("the verdict to say why", func() bool { return strings.Contains(s.verdict(), "held back by") })

		s.sql("ALTER TABLE " + s.table + " TTL_PRIORITY = 'FRESH'")
		s.wait("the verdict to say what matters more", func() bool {
			return strings.Contains(s.verdict(), "at full speed, by its TTL_PRIORITY")
		})
		s.wait("rows to go as fast as they may", func() bool {
			return s.gone("AND at > NOW(6) - INTERVAL 1 SECOND") > 100
		})

		s.sql("SET GLOBAL ttl_throttle_floor = 0")
		s.wait("a stop", func() bool { return s.speed() == 0 })
		since := s.after("DO SLEEP(1)")
		s.sql("DO SLEEP(2)")
		if n := s.gone(since); n > 0 {
			s.Errorf("%d rows went although nothing may", n)
		}
	},
	ddl.OptionFloor: func(s *trial) {
		defer s.busy("SELECT SLEEP(600)")()
		s.sql("SET GLOBAL ttl_throttle_threads_running = 1, ttl_throttle_floor = 1")
		s.running(slowly + " TTL_THROTTLE_FLOOR = 100")
		s.wait("the others to slow down", func() bool { return s.speed() < 2 })
		s.wait("the verdict to say why", func() bool {
			return strings.Contains(s.verdict(), "at 100 % of its speed, its TTL_THROTTLE_FLOOR")
		})
		s.wait("rows to go as fast as they may", func() bool {
			return s.gone("AND at > NOW(6) - INTERVAL 1 SECOND") > 100
		})

		s.sql("ALTER TABLE " + s.table + " TTL_THROTTLE_FLOOR = 1")
		s.wait("it to be as slow as others", func() bool {
			return strings.Contains(s.verdict(), "held back by threads_running") &&
				s.gone("AND at > NOW(6) - INTERVAL 1 SECOND") < 100
		})
	},
	setting.ThrottleFloor: func(s *trial) {
		defer s.busy("SELECT SLEEP(600)")()
		s.sql("SET GLOBAL ttl_throttle_threads_running = 1, ttl_throttle_floor = 100")
		s.running(slowly)
		s.wait("a look", func() bool { return s.reading("threads_running").state == "measured" })
		s.wait("full speed", func() bool { return s.speed() == 100 })

		s.sql("SET GLOBAL ttl_throttle_floor = 10")
		s.wait("the floor", func() bool { return s.speed() == 10 })
		s.sql("SET GLOBAL ttl_throttle_floor = 0")
		s.wait("a stop", func() bool { return s.speed() == 0 })
		since := s.after("DO SLEEP(1)")
		s.sql("DO SLEEP(2)")
		if n := s.gone(since); n > 0 {
			s.Errorf("%d rows went although nothing may", n)
		}
	},
}

// slowsDown shows that a signal slows a running job down, that every surface names it, and that the job
// is as fast as ever once it is off.
func (s *trial) slowsDown(signal, on, off string) {
	s.Helper()
	s.running(lasting)
	s.sql(on)
	s.wait("the job to slow down", func() bool { return s.speed() < 25 })
	s.wait("the verdict to say why", func() bool { return strings.Contains(s.verdict(), "held back by "+signal) })
	s.wait("the signal to be shown", func() bool {
		r := s.reading(signal)
		return r.state == "measured" && r.value > 1
	})
	s.wait("the last hour to show it", func() bool { return s.reading(signal).held > 0 })

	s.sql(off)
	s.wait("the job to recover", func() bool { return s.speed() == 100 })
	s.wait("it to be shown no more", func() bool { return s.reading(signal).state == "" })
}

// switchesOff shows that a signal is not asked for any more once its setting is 0.
func (s *trial) switchesOff(signal string) {
	s.Helper()
	s.wait("the setting, which has to wait for its turn beside many clients", func() bool {
		_, err := s.db.ExecContext(s.Context(), "SET GLOBAL ttl_throttle_"+signal+" = 0")
		return err == nil
	})
	s.wait("it to be left alone", func() bool { return s.reading(signal).state == "" })
}

// learnsUsual has a job at work, at full speed in the end, beside a signal that has been told what is usual while hardly
// anything was deleted.
func (s *trial) learnsUsual(signal string) {
	s.Helper()
	defer s.busy("SELECT SLEEP(600)")()
	s.sql("SET GLOBAL ttl_throttle_threads_running = 1")
	s.wait("what is usual", func() bool { return s.reading(signal).state == "measured" })
	s.sql("SET GLOBAL ttl_throttle_threads_running = 0")
	s.wait("full speed", func() bool { return s.speed() == 100 })
}

// heldBackBy shows that a signal slows the job down, says so, and does neither once it is off.
func (s *trial) heldBackBy(signal string) {
	s.Helper()
	s.wait("the job to slow down", func() bool {
		return s.speed() < 25 && strings.Contains(s.verdict(), "held back by "+signal)
	})
	s.switchesOff(signal)
	s.wait("the job to recover", func() bool { return s.speed() == 100 })
}

// clients send a few hundred statements a second through the proxy. While that is wanted most of them send slow ones, of
// a time that no busy machine makes usual, and so few that the others still decide how many there are.
func (s *trial) clients(slow *atomic.Bool) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			for ctx.Err() == nil {
				statement := "DO 0"
				if slow.Load() && i%4 > 0 {
					statement = "DO SLEEP(3)"
				}
				if _, err := s.db.ExecContext(s.Context(), statement); err != nil {
					s.Log(err) // a machine may be too busy to let so many log in at once
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// nothingToSee shows that a signal is accepted, and silent, where there is nothing to measure.
func (s *trial) nothingToSee(signal, name string) {
	s.Helper()
	s.running(slowly)
	s.sql("SET GLOBAL " + name + " = 1, ttl_throttle_threads_running = 100000")
	s.wait("a look", func() bool { return s.reading("threads_running").state == "measured" })
	if r := s.reading(signal); r.state != "" {
		s.Errorf("the signal is shown as %+v", r)
	}
	s.wait("full speed", func() bool { return s.speed() == 100 })
}

// locked has a transaction lock a row until it is let go of; lock is a statement that wants it, too.
func (s *trial) locked() (lock string, letGo func()) {
	s.Helper()
	execAll(s.T, s.direct, "CREATE TABLE "+s.schema+".locked (id INT PRIMARY KEY)",
		"INSERT INTO "+s.schema+".locked VALUES (1)")
	tx, err := s.direct.BeginTx(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	letGo = func() { _ = tx.Rollback() }
	lock = "SELECT * FROM " + s.schema + ".locked WHERE id = 1 FOR UPDATE"
	if _, err := tx.ExecContext(s.Context(), lock); err != nil {
		letGo()
		s.Fatal(err)
	}
	return lock, letGo
}

// busy runs a statement until the returned function is called.
func (s *trial) busy(statement string) (stop func()) {
	s.Helper()
	conn, err := s.direct.Conn(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	id := 0
	if err := conn.QueryRowContext(s.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		s.Fatal(err)
	}
	if _, err := conn.ExecContext(s.Context(), "SET SESSION innodb_lock_wait_timeout = 3600"); err != nil {
		s.Fatal(err)
	}

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = conn.ExecContext(s.Context(), statement) // is killed
	}()
	return func() {
		if _, err := s.direct.ExecContext(s.Context(), "KILL "+strconv.Itoa(id)); err != nil {
			s.Error(err)
		}
		<-ended
		_ = conn.Close()
	}
}

// atWork has an application send some hundred statements a second, around the proxy.
func (s *trial) atWork() (stop func()) {
	s.Helper()
	execAll(s.T, s.direct, "CREATE TABLE "+s.schema+".worked (id INT PRIMARY KEY, n INT)")
	db := mysqltest.Open(s.T, s.server.Account(s.T, "worker", "ALL ON "+s.schema+".*"))
	ctx, cancel := context.WithCancel(s.Context())
	var app sync.WaitGroup
	for range 10 { // a busy machine needs more than one
		app.Go(func() {
			for ctx.Err() == nil {
				if _, err := db.ExecContext(s.Context(), "UPDATE "+s.schema+".worked SET n = n + 1 WHERE id = 0"); err != nil {
					s.Error(err)
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	return func() {
		cancel()
		app.Wait()
	}
}

// shownReading is a line of SHOW TTL THROTTLE.
type shownReading struct {
	state                       string // empty if it is not shown
	value, threshold, age, held float64
	source, unit, detail, node  string
}

func (s *trial) reading(signal string) (r shownReading) {
	s.Helper()
	ask := "SHOW TTL THROTTLE LIKE '" + signal + "'"
	s.again(ask, func() error {
		var name string
		var value, threshold sql.NullFloat64
		var source, unit, detail sql.NullString
		rows, err := s.db.QueryContext(s.Context(), ask)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			err := rows.Scan(&name, &source, &r.state, &value, &threshold, &unit, &r.age, &r.held, &detail, &r.node)
			if err != nil {
				return err
			}
			r.value, r.threshold = value.Float64, threshold.Float64
			r.source, r.unit, r.detail = source.String, unit.String, detail.String
		}
		return rows.Err()
	})
	return r
}

// speed is what SHOW TTL STATUS says of it, in percent.
func (s *trial) speed() float64 {
	s.Helper()
	const ask = "SHOW TTL STATUS LIKE 'Speed'"
	var name, value string
	s.again(ask, func() error { return s.db.QueryRowContext(s.Context(), ask).Scan(&name, &value) })
	speed, err := strconv.ParseFloat(strings.TrimSuffix(value, " %"), 64)
	if err != nil {
		s.Fatal(err)
	}
	return speed
}
