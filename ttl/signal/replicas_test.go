package signal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// lagBed is a server with a replica, and what watches it.
type lagBed struct {
	*testing.T
	*Replicas
	source, replica *mysqltest.Server
	db              *sql.DB // of the source
	settings        setting.Values
}

// TestReplicaLag watches a real replica that stops, goes on, and is mistaken for others.
func TestReplicaLag(t *testing.T) {
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			source := mysqltest.Start(t, flavour, sandbox.Replicating(flavour, 1)...)
			replica := mysqltest.Start(t, flavour, sandbox.Replicating(flavour, 2)...)
			b := newLagBed(t, source, replica)
			if err := replica.Sandbox.Follow(t.Context(), source.Sandbox); err != nil {
				t.Fatal(err)
			}

			b.follows()
			b.losesItsSource()
			b.invents()
			b.rests()
			b.hangs()
			b.isMistaken()
			b.isUnknown()
		})
	}
}

func newLagBed(t *testing.T, source, replica *mysqltest.Server) *lagBed {
	b := &lagBed{T: t, source: source, replica: replica, db: source.Open(t, ""), settings: setting.Defaults()}
	b.run(b.db, "CREATE DATABASE watched", "CREATE TABLE watched.heartbeat (id INT PRIMARY KEY, token VARCHAR(64), "+
		"number BIGINT UNSIGNED)", "CREATE USER watcher@'%'", "GRANT SELECT ON watched.heartbeat TO watcher@'%'")
	b.Replicas = NewReplicas(ReplicaConfig{
		Row: "watched.heartbeat",
		Connect: func(hostPort string) *mysql.Config {
			c := mysql.NewConfig()
			c.User, c.Net, c.Addr = "watcher", "tcp", hostPort
			return c
		},
		Beat: func(ctx context.Context, token string, number uint64) error {
			_, err := b.db.ExecContext(ctx, "REPLACE INTO watched.heartbeat VALUES (1, ?, ?)", token, number)
			return err
		},
	})
	t.Cleanup(b.Close)
	return b
}

func (b *lagBed) run(db *sql.DB, statements ...string) {
	b.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(b.Context(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
}

// read asks once.
func (b *lagBed) read() []Reading {
	b.Helper()
	all, err := b.Read(b.Context(), Look{Server: b.db, Settings: b.settings})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// await reads until one source says what is wanted.
func (b *lagBed) await(source, what string, wanted func(Reading) bool) Reading {
	b.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		all := b.read()
		for _, r := range all {
			if r.Source == source && wanted(r) {
				return r
			}
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s never says %s: %v", source, what, all)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// applier stops and starts what the replica applies changes with.
func (b *lagBed) applier(verb string) {
	b.Helper()
	b.thread(verb, "SQL_THREAD")
}

func (b *lagBed) thread(verb, which string) {
	b.Helper()
	word := "REPLICA"
	if b.source.MariaDB() {
		word = "SLAVE"
	}
	b.run(b.replica.Open(b.T, ""), verb+" "+word+" "+which)
}

// follows finds the replica by itself, and sees it fall behind and catch up.
func (b *lagBed) follows() {
	b.Helper()
	b.settings[setting.ThrottleReplicaLag] = "300"
	address := b.replica.Addr()
	b.await(address, "that it is up to date", func(r Reading) bool { return r.State == Measured && r.Pressure() < 1 })

	b.applier("STOP")
	late := b.await(address, "a lag", func(r Reading) bool { return r.State == Measured && r.Value > 600 })
	if late.Pressure() < 1 || late.Unit != "ms" || late.Threshold != 300 {
		b.Errorf("got %+v", late)
	}
	b.applier("START")
	b.await(address, "that it has caught up", func(r Reading) bool { return r.State == Measured && r.Pressure() < 0.9 })

	number := b.number
	if all, err := b.Read(b.Context(), Look{Server: b.db, Settings: b.settings, Idle: true}); err != nil ||
		len(all) != 1 || all[0].Source != address || all[0].State != NotSeen || b.number != number {
		b.Errorf("while nothing is deleted: got %v, %v and %d beats", all, err, b.number-number)
	}
	b.settings[setting.ThrottleReplicaLag] = "0"
	if all := b.read(); len(all) != 0 || b.number != number {
		b.Errorf("turned off: got %v and %d beats", all, b.number-number)
	}
	b.settings[setting.ThrottleReplicaLag] = "1000"
	if all := b.read(); len(all) != 1 || all[0].Source != address {
		b.Errorf("turned on again: got %v", all)
	}
}

// losesItsSource has a replica that reads nothing any more, which its source lists no longer, and then an account that
// may not see the list: the replica is asked all the same, until there has been no sign of it for long.
func (b *lagBed) losesItsSource() {
	b.Helper()
	address := b.replica.Addr()
	b.await(address, "its lag", func(r Reading) bool { return r.State == Measured && r.Pressure() < 1 })
	b.thread("STOP", "IO_THREAD")
	lists := func(whom int) func() bool {
		return func() bool {
			b.read() // the source notices when it has something to send
			all, _, err := discover(b.Context(), b.db)
			return err == nil && len(all) == whom
		}
	}
	until(b.T, "a list without the replica", lists(0))

	looksAnew := func() { b.foundAt = time.Time{} }
	looksAnew()
	late := b.await(address, "a lag", func(r Reading) bool { return r.State == Measured && r.Pressure() > 1 })
	if late.Detail != "" {
		b.Errorf("of one that was listed a moment ago it says %+v", late)
	}

	k := b.known[address]
	k.listed, k.came = time.Now().Add(-awayFor/2), time.Now().Add(-awayFor/2)
	looksAnew()
	b.await(address, "that it is not listed", func(r Reading) bool {
		return r.State == Measured && strings.Contains(r.Detail, "the server has not listed it for 5m")
	})
	k.listed = time.Now().Add(-awayFor)
	looksAnew()
	b.await(address, "a lag all the same", func(r Reading) bool { return r.State == Measured })
	k.came = time.Now().Add(-awayFor)
	looksAnew()
	if all := b.read(); len(all) != 0 {
		b.Errorf("of one that was taken away for good it says %v", all)
	}

	b.thread("START", "IO_THREAD")
	until(b.T, "a list with the replica", lists(1))
	looksAnew()
	b.await(address, "its lag again", func(r Reading) bool { return r.State == Measured && r.Pressure() < 1 })

	blind := mysqltest.Open(b.T, b.source.Account(b.T, "blind"))
	for range 3 {
		looksAnew()
		all, err := b.Read(b.Context(), Look{Server: blind, Settings: b.settings})
		if err != nil || len(all) != 1 || all[0].Source != address || all[0].State != Measured {
			b.Errorf("to an account that may not see who replicates it says %v, %v", all, err)
		}
	}
}

// invents has a replica that shows a number which was never written, until the next one comes.
func (b *lagBed) invents() {
	b.Helper()
	address := b.replica.Addr()
	b.applier("STOP")
	b.run(b.replica.Open(b.T, ""), "UPDATE watched.heartbeat SET number = number + 1000000")
	b.await(address, "that it shows nonsense", func(r Reading) bool {
		return r.State == Unknown && r.Hold && strings.Contains(r.Detail, "never written")
	})
	b.applier("START")
	b.await(address, "its lag again", func(r Reading) bool { return r.State == Measured && r.Pressure() < 1 })
}

// rests has nothing to delete for a while. Then the replica is not judged by the time in which nobody
// asked it, although logging in takes longer than the first look waits.
func (b *lagBed) rests() {
	b.Helper()
	connect, address := b.config.Connect, b.replica.Addr()
	defer func() { b.config.Connect = connect }()
	b.config.Connect = func(hostPort string) *mysql.Config {
		c := connect(hostPort)
		c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			<-time.After(3 * lookFor)
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		return c
	}
	b.settings[setting.ThrottleReplicas] = address
	b.await(address, "its lag", func(r Reading) bool { return r.State == Measured })

	b.known[address].db.SetMaxIdleConns(0) // a longer rest closes connections
	<-time.After(fresh + patience)
	first := b.read()
	if len(first) != 1 || first[0].State == Unknown || first[0].Pressure() >= 1 {
		b.Errorf("at the first look after a rest it says %v", first)
	}
	b.await(address, "its lag again", func(r Reading) bool { return r.State == Measured && r.Pressure() < 1 })
}

// mostTook is how long a question may take on a machine that is not very busy.
const mostTook = 3 * replicaTimeout

// hangs has a replica whose heartbeat is locked, so that no question is answered: each ends within its second, and
// however long that goes on the replica has no more than two connections of ours.
func (b *lagBed) hangs() {
	b.Helper()
	address := b.replica.Addr()
	admin := b.replica.Open(b.T, "")
	b.applier("STOP")
	lock, err := admin.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(b.Context(), "LOCK TABLES watched.heartbeat WRITE"); err != nil {
		b.Fatal(err)
	}

	for range 8 {
		b.asks(address)
		if n := b.known[address].db.Stats().OpenConnections; n > replicaConnections {
			b.Errorf("we have %d connections to a replica that hangs", n)
		}
		// A busy server may need a moment to end what it has given up.
		there := func() int { return len(mysqltest.Processes(b.T, admin, "USER = 'watcher'")) }
		for late := time.Now().Add(time.Minute); there() > replicaConnections; <-time.After(10 * time.Millisecond) {
			if time.Now().After(late) {
				b.Fatalf("a replica that hangs has %d connections", there())
			}
		}
	}
	b.await(address, "that it does not answer", func(r Reading) bool { return r.State == Unknown })

	if _, err := lock.ExecContext(b.Context(), "UNLOCK TABLES"); err != nil {
		b.Fatal(err)
	}
	b.applier("START")
	b.await(address, "its lag again", func(r Reading) bool { return r.State == Measured && r.Pressure() < 1 })
}

// asks reads once, and demands that neither the look nor the question to one replica takes long.
func (b *lagBed) asks(address string) {
	b.Helper()
	lost, began := b.loses(), time.Now()
	b.read()
	look := time.Since(began)
	for k, busy := b.known[address], true; busy && time.Since(began) < time.Minute; {
		<-time.After(10 * time.Millisecond)
		k.mu.Lock()
		busy = k.busy
		k.mu.Unlock()
	}
	if took, more := time.Since(began), lost(); look > mostTook+more || took > mostTook+more {
		b.Errorf("a look takes %v, and a question that is not answered %v, while the machine loses %v", look, took, more)
	}
}

// loses begins to measure how much longer than it should something takes that needs about as long as a question which
// is not answered: a wait, and a server's word.
func (b *lagBed) loses() (lost func() time.Duration) {
	began, longer := time.Now(), make(chan time.Duration, 1)
	go func() {
		<-time.After(replicaTimeout)
		_ = b.db.PingContext(b.Context())
		longer <- time.Since(began) - replicaTimeout
	}()
	return func() time.Duration { return <-longer }
}

// isMistaken names servers that are not replicas of this one, and one that is.
func (b *lagBed) isMistaken() {
	b.Helper()
	stranger := mysqltest.Shared(b.T, b.source.Flavour)
	other := stranger.Open(b.T, "")
	b.run(other, "CREATE USER IF NOT EXISTS watcher@'%'", "CREATE DATABASE IF NOT EXISTS watched")
	b.settings[setting.ThrottleReplicas] = b.source.Addr() + ", " + stranger.Addr() + "," + b.replica.Addr()

	b.await(b.source.Addr(), "who it is", func(r Reading) bool {
		return r.State == Unknown && r.Hold && strings.Contains(r.Detail, "the very server")
	})
	b.age(stranger.Addr())
	b.await(stranger.Addr(), "that it has no heartbeat", func(r Reading) bool {
		return r.State == Unknown && strings.Contains(r.Detail, "does not replicate from this server")
	})

	b.run(other, "CREATE TABLE watched.heartbeat (id INT PRIMARY KEY, token VARCHAR(64), number BIGINT UNSIGNED)",
		"GRANT SELECT ON watched.heartbeat TO watcher@'%'", "INSERT INTO watched.heartbeat VALUES (1, 'another', 1000000)")
	b.settings[setting.ThrottleLagUnknown] = "floor"
	b.await(stranger.Addr(), "another's heartbeat", func(r Reading) bool {
		return r.State == Unknown && !r.Hold && strings.Contains(r.Detail, "not shown our heartbeat")
	})
	b.await(b.replica.Addr(), "its lag all the same", func(r Reading) bool { return r.State == Measured })
	b.run(other, "DROP DATABASE watched", "DROP USER watcher@'%'")
}

// age makes it look as if a replica had been asked for long.
func (b *lagBed) age(address string) {
	long := time.Now().Add(-time.Minute)
	k := b.known[address]
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since, k.quiet = long, long
}

// isUnknown has one replica that says nothing and one whose driver breaks: the other is measured.
func (b *lagBed) isUnknown() {
	b.Helper()
	mute, connections := saysNothing(b.T)
	broken := "broken:3306"
	b.settings[setting.ThrottleReplicas] = mute + "," + broken + "," + b.replica.Addr()
	connect := b.config.Connect
	b.config.Connect = func(hostPort string) *mysql.Config {
		c := connect(hostPort)
		if hostPort == broken {
			c.DialFunc = func(context.Context, string, string) (net.Conn, error) { panic("it breaks") }
		}
		return c
	}

	b.read()
	b.age(broken)
	b.await(broken, "that it is broken", func(r Reading) bool {
		return r.State == Unknown && strings.Contains(r.Detail, "it breaks")
	})
	for range 4 {
		b.asks(mute)
	}
	b.await(mute, "nothing", func(r Reading) bool {
		return r.State == Unknown && strings.Contains(r.Detail, "it has not answered for")
	})
	b.await(b.replica.Addr(), "its lag all the same", func(r Reading) bool { return r.State == Measured })
	if n := connections(); n < 1 || n > replicaConnections {
		b.Errorf("one that says nothing had %d connections at a time", n)
	}
}

// saysNothing is the address of somebody who accepts connections, and how many there were at a time.
func saysNothing(t *testing.T) (address string, most func() int64) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })

	var open, highest atomic.Int64
	go func() { // until l is closed
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			highest.Store(max(highest.Load(), open.Add(1)))
			go func() { // until it is hung up
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
				open.Add(-1)
			}()
		}
	}()
	return l.Addr().String(), highest.Load
}

// TestReplicaWithoutAnAccount: who is named is unknown, and nobody else is looked for.
func TestReplicaWithoutAnAccount(t *testing.T) {
	t.Parallel()
	r := NewReplicas(ReplicaConfig{})
	settings := setting.Defaults()
	if all, err := r.Read(t.Context(), Look{Settings: settings}); len(all) != 0 || err != nil {
		t.Errorf("got %v, %v", all, err)
	}

	settings[setting.ThrottleReplicas] = "db2"
	all, err := r.Read(t.Context(), Look{Settings: settings})
	if err != nil || len(all) != 1 || all[0].State != Unknown || !all[0].Hold || all[0].Source != "db2:3306" ||
		!strings.Contains(all[0].Detail, "--replica-user") {
		t.Errorf("got %v, %v", all, err)
	}
}

// TestLagThatCannotBeAskedFor: while the heartbeat cannot be written, or asking breaks down, replicas that were named,
// or have answered before, are unknown each by its name, and hold everything if they are to.
func TestLagThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	for name, beat := range map[string]func(context.Context, string, uint64) error{
		"fails":  func(context.Context, string, uint64) error { return errors.New("it is locked") },
		"hangs":  func(context.Context, string, uint64) error { time.Sleep(time.Hour); return nil },
		"panics": func(context.Context, string, uint64) error { panic("nil map") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				settings := setting.Defaults()
				set := func(name, value string) { // what is being asked has the former ones
					settings = maps.Clone(settings)
					settings[name] = value
				}
				watched := func() (*Replicas, func() []Reading) {
					r := NewReplicas(ReplicaConfig{
						Connect: func(string) *mysql.Config { return mysql.NewConfig() }, Beat: beat,
					})
					w := NewWatch(r)
					return r, func() []Reading {
						for range 10 {
							w.Ask(t.Context(), Look{Settings: settings})
							time.Sleep(500 * time.Millisecond)
						}
						return w.Readings()
					}
				}
				says := func(all []Reading, source string, hold bool) {
					t.Helper()
					if len(all) != 1 || all[0].Source != source || all[0].State != Unknown || all[0].Hold != hold ||
						all[0].Signal != "replica_lag" || all[0].Detail == "" || all[0].At.IsZero() {
						t.Errorf("it says %+v, want %q to be unknown, and to hold %v", all, source, hold)
					}
				}

				named, look := watched()
				set(setting.ThrottleReplicas, "db2")
				says(look(), "db2:3306", true)
				set(setting.ThrottleLagUnknown, "floor")
				says(look(), "db2:3306", false)

				settings = setting.Defaults()
				found, look := watched()
				k := newReplica("db3:3306", mysql.NewConfig())
				found.known[k.address], found.foundAt = k, time.Now().Add(time.Hour) // nobody is looked for
				says(look(), "", false)
				k.take(question{highest: &found.highest}, "", "another", 1)
				says(look(), "db3:3306", true)
				set(setting.ThrottleReplicaLag, "0")
				if all := look(); name != "hangs" && len(all) != 0 {
					t.Errorf("switched off it says %v", all)
				}
				time.Sleep(2 * time.Hour) // until what hangs has ended
				synctest.Wait()
				named.Close()
				found.Close()
			})
		})
	}
}

// restBed is a replica in virtual time.
type restBed struct {
	*testing.T
	*Replicas
	replica *replica
}

func newRestBed(t *testing.T) *restBed {
	r := NewReplicas(ReplicaConfig{Beat: func(context.Context, string, uint64) error { return nil }})
	k := newReplica("db2:3306", mysql.NewConfig())
	k.named, r.known[k.address] = true, k
	t.Cleanup(r.Close)
	return &restBed{t, r, k}
}

// job looks so often, twice a second, and returns what is said at first and at last.
func (b *restBed) job(looks int, answer func()) (first, last Reading) {
	b.Helper()
	for n := range looks {
		if err := b.beat(b.Context()); err != nil {
			b.Fatal(err)
		}
		time.Sleep(lookFor)
		answer()
		s := b.replica.look()
		last = b.replica.reading(s, b.lag(b.replica, s), time.Second, true)
		if n == 0 {
			first = last
		}
		time.Sleep(probeFor - lookFor)
	}
	return first, last
}

// owes is a replica that does not answer.
func (*restBed) owes() {}

// shows is one that lacks so many of the last numbers.
func (b *restBed) shows(lacks uint64) func() {
	return func() { b.replica.take(b.question(), "", b.token, b.number-min(lacks, b.number-1)) }
}

// strange is one that shows another's.
func (b *restBed) strange() { b.replica.take(b.question(), "", "another", 1000) }

func (b *restBed) question() question { return question{token: b.token, highest: &b.highest} }

// TestRestIsNoSilence: a replica is judged by the time in which it was asked. While nothing is deleted no
// answer that it owes grows old, and no number that it has not shown; but one that owes an answer at each
// of many short jobs is missed.
func TestRestIsNoSilence(t *testing.T) {
	t.Parallel()
	const rest = 3 * time.Hour
	for name, run := range map[string]func(*restBed){
		"one that was up to date": func(b *restBed) {
			b.job(10, b.shows(0))
			time.Sleep(rest)
			b.isLate("at first", first(b.job(1, b.owes)), 100)
		},
		"one that was behind": func(b *restBed) {
			b.job(10, b.shows(4))
			time.Sleep(rest)
			b.isLate("at first", first(b.job(1, b.owes)), 100)
		},
		"one that has come up meanwhile": func(b *restBed) {
			b.job(10, b.shows(4))
			time.Sleep(rest)
			b.isLate("at first", first(b.job(1, b.shows(1))), 100)
		},
		"one that has been behind all the time": func(b *restBed) {
			b.job(10, b.shows(4))
			time.Sleep(rest)
			if r := first(b.job(1, b.shows(2))); r.State != Measured || r.Value < float64(rest.Milliseconds()) {
				b.Errorf("it says %v", r)
			}
		},
		"one that hangs afterwards": func(b *restBed) {
			b.job(10, b.shows(0))
			time.Sleep(rest)
			if r, _ := b.job(1, b.owes); r.State != Measured || r.Pressure() > 1 {
				b.Errorf("at first it says %v", r)
			}
			if _, r := b.job(4, b.owes); r.State != Measured || r.Pressure() <= 1 {
				b.Errorf("two seconds later it says %v", r)
			}
			if _, r := b.job(4, b.owes); r.State != Unknown || !strings.Contains(r.Detail, "it has not answered for 4s") {
				b.Errorf("four seconds later it says %v", r)
			}
		},
		"one that was named long ago": func(b *restBed) {
			time.Sleep(rest)
			if r := first(b.job(1, b.owes)); r.State != NotSeen {
				b.Errorf("at first it says %v", r)
			}
			if _, r := b.job(8, b.owes); r.State != Unknown {
				b.Errorf("seconds later it says %v", r)
			}
		},
		"one that never answers": func(b *restBed) {
			var states []State
			for range 5 {
				r, _ := b.job(1, b.owes)
				states = append(states, r.State)
				time.Sleep(rest)
			}
			if got := fmt.Sprint(states); got != "[not seen not seen not seen unknown unknown]" {
				b.Errorf("it is %s", got)
			}
		},
		"another's": func(b *restBed) {
			time.Sleep(rest)
			b.isLate("at first", first(b.job(10, b.strange)), 100)
			time.Sleep(rest)
			r, last := b.job(14, b.strange)
			if r.State != Measured || r.Value > 6000 {
				b.Errorf("after a rest it says %v", r)
			}
			if last.State != Unknown || !strings.Contains(last.Detail, "not shown our heartbeat for 11s") {
				b.Errorf("seconds later it says %v", last)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { run(newRestBed(t)) })
		})
	}
}

func first(first, _ Reading) Reading { return first }

// isLate demands that a replica is measured to be behind by so many milliseconds.
func (b *restBed) isLate(when string, r Reading, ms float64) {
	b.Helper()
	if r.State != Measured || r.Value != ms {
		b.Errorf("%s it says %v, want %v ms", when, r, ms)
	}
}

// TestCourse: a lag that grows presses before it is too long, one that falls does not before it is
// short, and one that does neither for minutes is not our doing.
func TestCourse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = time.Second
		var c course
		for lag := time.Duration(0); lag < 700*time.Millisecond; lag += 100 * time.Millisecond {
			time.Sleep(500 * time.Millisecond)
			if ahead := c.ahead(lag, most); lag == 600*time.Millisecond && ahead < 900 {
				t.Errorf("a lag of %v that grows by 200 ms a second is foreseen as %v ms", lag, ahead)
			}
		}

		for lag := 3 * time.Second; lag > most; lag -= 500 * time.Millisecond {
			time.Sleep(500 * time.Millisecond)
			if ahead := c.ahead(lag, most); ahead < 1000 {
				t.Errorf("a lag of %v is foreseen as %v ms", lag, ahead)
			}
		}

		for _, step := range []struct{ lag, after, want time.Duration }{
			{time.Second, time.Hour, 0},
			{3 * time.Second, time.Minute, 0},
			{3 * time.Second, 4 * time.Minute, 4 * time.Minute},
			{2 * time.Second, time.Minute, 0}, // it falls
			{1950 * time.Millisecond, 6 * time.Minute, 6 * time.Minute},
			{500 * time.Millisecond, time.Minute, 0},
		} {
			time.Sleep(step.after)
			if got := c.stuck(step.lag, most); got != step.want {
				t.Errorf("a lag of %v is stuck for %v, want %v", step.lag, got, step.want)
			}
		}
	})
}

// TestStuckLagIsUnknown says for how long, and obeys the setting.
func TestStuckLagIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &replica{address: "db2:3306", named: true}
		look := func() (r Reading) {
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
				now := time.Now()
				r = k.reading(shown{answered: now, quiet: now, ours: true}, 5*time.Second, time.Second, true)
			}
			return r
		}
		minutes := func() string {
			var got []string
			for range 8 {
				r := look()
				got = append(got, fmt.Sprint(r.State, " ", r.Pressure() > 1e9))
			}
			return strings.Join(got, ", ")
		}
		want := "measured false, measured false, measured false, measured false, measured false, " +
			"unknown true, unknown true, unknown true"
		if all := minutes(); all != want {
			t.Errorf("got %s, want %s", all, want)
		}
		time.Sleep(time.Hour)
		if all := minutes(); all != want {
			t.Errorf("after a rest: got %s, want %s", all, want)
		}
	})
}
