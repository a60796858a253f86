package signal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// Replicas is how far those servers are behind that replicate from the one on which rows are
// deleted. Twice a second, and only while rows are deleted, a row gets a number (a beat), and each
// replica is asked until it has that number: the lag is measured by one clock, and is that of
// applying, not of receiving. The row has a token, too, that nobody else knows: a server that shows
// it replicates from this one.
//
// Names of replicas are what somebody has said by SQL. So they are asked by an account of their own,
// which may read nothing but that row: a stranger whom it is led to learns no more.
type Replicas struct {
	config  ReplicaConfig
	token   string
	beats   []time.Time   // when the row got its last numbers
	number  uint64        // of the last one
	first   uint64        // that of the first one since the last rest
	highest atomic.Uint64 // the number that may have been written, whatever became of it

	mu      sync.Mutex // held by Doubtful, and by whoever changes whom it names
	known   map[string]*replica
	found   []Reading // what discovery says instead of a replica
	foundAt time.Time
	probing sync.WaitGroup
}

// ReplicaConfig is what Replicas work with.
type ReplicaConfig struct {
	// Connect returns how to log in to a replica; nil if no account is there to do that.
	Connect func(hostPort string) *mysql.Config
	// Beat writes token and number into the row.
	Beat func(ctx context.Context, token string, number uint64) error
	// Row is the name of the table that has it, quoted.
	Row string
}

// NewReplicas watches nothing yet.
func NewReplicas(c ReplicaConfig) *Replicas {
	return &Replicas{config: c, token: rand.Text(), known: map[string]*replica{}}
}

const (
	// keptBeats bounds what is remembered: a lag of ten minutes is long enough to be told apart.
	keptBeats = 1200
	// probeFor is how long a replica is asked again and again for one beat, the whole time between
	// two of them.
	probeFor   = 450 * time.Millisecond
	probeEvery = 50 * time.Millisecond
	// lookFor is how long a reading waits for the fastest replicas.
	lookFor = 100 * time.Millisecond
	// restsAfter is how long after a beat the next one says that nothing was deleted meanwhile, and nobody asked: looks
	// are never that far apart.
	restsAfter = 2 * patience
	// discoverEvery is how often the server is asked who replicates from it.
	discoverEvery = 30 * time.Second
	// awayFor is how long one that was found is still watched after the last sign that it replicates: longer than it
	// takes to start it again, and not for ever, because it may have been taken away for good.
	awayFor = 10 * time.Minute
)

// Name is what readings call it.
func (*Replicas) Name() string { return "replica_lag" }

// Read beats and reports what is known of each replica.
func (r *Replicas) Read(ctx context.Context, l Look) ([]Reading, error) {
	most := time.Duration(l.Settings.Int(setting.ThrottleReplicaLag)) * time.Millisecond
	if most == 0 {
		r.keep(nil)
		r.found, r.foundAt = nil, time.Time{} // once it is switched on again they are looked for at once
		return nil, nil
	}
	if err := r.choose(ctx, l); err != nil {
		return nil, err
	}
	if len(r.known) == 0 {
		return r.found, nil
	}
	if l.Idle {
		return r.atRest(), nil
	}

	if err := r.beat(ctx); err != nil {
		return nil, err
	}
	if err := r.probe(ctx, l.Server); err != nil {
		return nil, err
	}

	all := slices.Clone(r.found)
	hold := l.Settings[setting.ThrottleLagUnknown] == setting.LagHold
	for _, k := range r.known {
		s := k.look()
		all = append(all, k.reading(s, r.lag(k, s), most, hold))
	}
	return all, nil
}

// Doubtful are the replicas that were named, or else those found that have answered before: while the heartbeat cannot
// be written, or they cannot be looked for, nobody knows how far they are behind.
func (r *Replicas) Doubtful(l Look) (all []Reading) {
	if l.Settings.Int(setting.ThrottleReplicaLag) == 0 {
		return nil
	}
	hold := l.Settings[setting.ThrottleLagUnknown] == setting.LagHold
	named := l.Settings.Hosts(setting.ThrottleReplicas)
	for _, address := range named {
		all = append(all, Reading{Source: address, Hold: hold})
	}
	if len(named) > 0 {
		return all
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	for address, k := range r.known {
		if !k.named && !k.look().answered.IsZero() {
			all = append(all, Reading{Source: address, Hold: hold})
		}
	}
	return all
}

// atRest says whom it would ask.
func (r *Replicas) atRest() []Reading {
	all := slices.Clone(r.found)
	for address := range r.known {
		all = append(all, Reading{
			Source: address, State: NotSeen, Detail: "nothing is deleted; replicas are asked only while something is",
		})
	}
	return all
}

// lag is how far behind a replica is that has shown so much: as much as it was when its last number
// came, or as old as the number is that has not come. What it showed before a rest says nothing about now, and when
// a number from before came, nobody saw.
func (r *Replicas) lag(k *replica, s shown) (lag time.Duration) {
	resumed := r.beatAt(r.first)
	switch {
	case !s.ours:
		return time.Since(k.since)
	case s.answered.Before(resumed):
		return time.Since(resumed)
	case s.number >= r.first:
		lag = s.came.Sub(r.beatAt(s.number))
	}
	if s.number < r.number {
		lag = max(lag, time.Since(r.beatAt(s.number+1)))
	}
	return max(lag, 0)
}

// Close ends all connections to replicas.
func (r *Replicas) Close() {
	r.keep(nil)
	r.probing.Wait()
}

// beat writes the next number.
func (r *Replicas) beat(ctx context.Context) error {
	r.highest.Store(r.number + 1)
	if err := r.config.Beat(ctx, r.token, r.number+1); err != nil {
		return fmt.Errorf("write the heartbeat: %w", err)
	}
	r.number++
	r.resume()
	r.beats = append(r.beats, time.Now())
	r.beats = r.beats[max(0, len(r.beats)-keptBeats):]
	return nil
}

// resume notes that this is the first beat since a rest, if it is.
func (r *Replicas) resume() {
	var last time.Time
	if n := len(r.beats); n > 0 {
		last = r.beats[n-1]
	}
	now := time.Now()
	if now.Sub(last) <= restsAfter {
		return
	}
	r.first = r.number
	for _, k := range r.known {
		k.rested(last, now)
	}
}

// beatAt is when the row got a number; of one that is forgotten, when it got the oldest that is not.
func (r *Replicas) beatAt(number uint64) time.Time {
	first := r.number - uint64(len(r.beats)) + 1
	return r.beats[max(number, first)-first]
}

// probe asks every replica that has answered the last question, and waits a moment for the answers.
func (r *Replicas) probe(ctx context.Context, server Querier) error {
	self, err := identity(ctx, server)
	if err != nil {
		return fmt.Errorf("ask the server who it is: %w", err)
	}

	var asked sync.WaitGroup
	q := question{"SELECT token, number FROM " + r.config.Row + " WHERE id = 1", r.token, r.number, &r.highest, self}
	for _, k := range r.known {
		if !k.begin() {
			continue
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		asked.Add(1)
		r.probing.Go(func() {
			defer asked.Done()
			defer cancel()
			k.follow(ctx, q)
		})
	}

	answered := make(chan struct{})
	r.probing.Go(func() {
		asked.Wait()
		close(answered)
	})

	timer := time.NewTimer(lookFor)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// identity is by which two addresses of one server are recognized.
func identity(ctx context.Context, server Querier) (name string, err error) {
	err = server.QueryRowContext(ctx, "SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir)").Scan(&name)
	return name, err
}

// choose finds out which replicas to watch.
func (r *Replicas) choose(ctx context.Context, l Look) error {
	named := l.Settings.Hosts(setting.ThrottleReplicas)
	if r.config.Connect == nil {
		r.keep(nil)
		r.found = nil
		for _, address := range named {
			r.found = append(r.found, Reading{
				Source: address, State: Unknown, Hold: l.Settings[setting.ThrottleLagUnknown] == setting.LagHold,
				Detail: "no account may ask it: start ttlproxy with --replica-user",
			})
		}
		return nil
	}

	if len(named) > 0 {
		r.found, r.foundAt = nil, time.Time{}
		r.keep(named)
		r.name(true)
		return nil
	}

	if time.Since(r.foundAt) < discoverEvery {
		return nil
	}
	all, notes, err := discover(ctx, l.Server)
	if err != nil {
		return err
	}
	r.found, r.foundAt = notes, time.Now()
	r.keep(append(r.away(), all...))
	r.name(false)
	for _, address := range all {
		r.known[address].listed = r.foundAt
	}
	return nil
}

// away are those that were found and have answered, whether the server still lists them or not: it forgets one that has
// lost its connection, of which nobody knows then how far it is behind.
func (r *Replicas) away() (addresses []string) {
	for address, k := range r.known {
		s := k.look()
		replicated := k.listed
		if s.came.After(replicated) {
			replicated = s.came
		}
		if !k.named && !s.answered.IsZero() && time.Since(replicated) < awayFor {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// name notes whether somebody has named the replicas, or the server has.
func (r *Replicas) name(named bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.known {
		k.named = named
	}
}

// keep watches these replicas and no others.
func (r *Replicas) keep(addresses []string) {
	for address, k := range r.known {
		if !slices.Contains(addresses, address) {
			k.close()
			r.mu.Lock()
			delete(r.known, address)
			r.mu.Unlock()
		}
	}

	for _, address := range addresses {
		if r.known[address] == nil {
			k := newReplica(address, r.config.Connect(address))
			r.mu.Lock()
			r.known[address] = k
			r.mu.Unlock()
		}
	}
}

// The two servers' questions for replicas. Each needs a right that the engine's account has only if
// somebody has given it: on MySQL, with REPLICATION SLAVE one can read all changes.
const (
	showReplicas   = "SHOW REPLICAS"
	showSlaveHosts = "SHOW SLAVE HOSTS"
	countDumps     = "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
)

// The servers' errors.
const (
	codeNoSchema    = 1049
	codeNoColumn    = 1054
	codeSyntax      = 1064
	codeTableDenied = 1142
	codeNoTable     = 1146
	codeRightNeeded = 1227
	codeUnreadable  = 3854 // MySQL: a text cannot be converted
)

// discover asks the server for those that have told it their address. Of others there is a note.
func discover(ctx context.Context, server Querier) (addresses []string, notes []Reading, err error) {
	for _, query := range []string{showReplicas, showSlaveHosts} {
		rows, err := server.QueryContext(ctx, query)
		if my, refused := errors.AsType[*mysql.MySQLError](err); refused {
			if my.Number == codeSyntax {
				continue // the other server's spelling
			}
			if my.Number == codeRightNeeded {
				return unlisted(ctx, server)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("look for replicas: %w", err)
		}
		return reported(rows)
	}
	return unlisted(ctx, server)
}

// unlisted says that there are replicas which the account may not see.
func unlisted(ctx context.Context, server Querier) (_ []string, notes []Reading, err error) {
	var n int
	if err := server.QueryRowContext(ctx, countDumps).Scan(&n); err != nil || n == 0 {
		return nil, nil, nil //nolint:nilerr // without the right to look there is nothing to say
	}
	return nil, []Reading{{
		State:  NotSeen,
		Detail: fmt.Sprintf("%d connections read the binary log: name the replicas in ttl_throttle_replicas", n),
	}}, nil
}

func reported(rows *sql.Rows) (addresses []string, notes []Reading, err error) {
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, nil, err
	}

	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}

	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, nil, err
		}
		column := func(name string) string {
			i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
			if i < 0 {
				return ""
			}
			return values[i].String
		}

		if host := column("Host"); host != "" {
			addresses = append(addresses, net.JoinHostPort(host, column("Port")))
			continue
		}
		notes = append(notes, Reading{
			Source: "server id " + column("Server_id"), State: NotSeen,
			Detail: "it does not report its address: start it with --report-host, or name it in ttl_throttle_replicas",
		})
	}

	return addresses, notes, rows.Err()
}
