package signal

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestSignalsOfAServer: what each signal reads is what the server does.
func TestSignalsOfAServer(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Start(t, flavour, "--performance-schema=ON")
			b := &bed{
				T: t, server: server, db: server.Open(t, ""), schema: server.Database(t), settings: setting.Defaults(),
			}
			b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, n INT)",
				"INSERT INTO "+b.schema+".t VALUES (1, 0), (2, 0)")

			t.Run("threads", b.threads)
			t.Run("history", b.history)
			t.Run("locks", b.locks)
			t.Run("latency", b.latency)
			t.Run("no latency", b.noLatency)
			t.Run("application", b.application)
			t.Run("checkpoint", b.checkpoint)
			t.Run("nothing of a group's", b.noGroup)
			t.Run("nothing of Galera's", b.noGalera)
			t.Run("rights", b.rights)
			t.Run("Aurora", b.aurora)
			t.Run("off", b.off)
			t.Run("query", b.query)
		})
	}
}

type bed struct {
	*testing.T
	db       *sql.DB
	server   *mysqltest.Server
	settings setting.Values
	schema   string
}

func (b *bed) exec(statements ...string) {
	b.Helper()
	for _, s := range statements {
		if _, err := b.db.ExecContext(b.Context(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
}

// one is the only reading of a signal.
func (b *bed) one(t *testing.T, s Signal, l Look) Reading {
	t.Helper()
	l.Settings = b.settings
	if l.Server == nil {
		l.Server = b.db
	}
	all, err := s.Read(t.Context(), l)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s says %v (%v)", s.Name(), all, err)
	}
	return all[0]
}

// doing runs statements in a session of their own until the test is over.
func (b *bed) doing(t *testing.T, statements ...string) {
	t.Helper()
	b.doingBy(t, b.db, statements...)
}

// doingBy is doing by another account.
func (b *bed) doingBy(t *testing.T, account *sql.DB, statements ...string) {
	t.Helper()
	conn, err := account.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := 0
	if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}

	last := len(statements) - 1
	for _, s := range statements[:last] {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = conn.ExecContext(b.Context(), statements[last]) // is killed
	}()
	t.Cleanup(func() {
		if _, err := b.db.ExecContext(b.Context(), "KILL "+strconv.Itoa(id)); err != nil {
			t.Error(err)
		}
		<-ended
		_ = conn.Close()
	})
}

// until waits for a reading.
func until(t *testing.T, what string, read func() bool) {
	t.Helper()
	for end := time.Now().Add(mysqltest.Patience); !read(); pass(t, 20*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// noLatency: a server without the table, or without the schema, shows no latency, which is no reason to slow down.
func (b *bed) noLatency(t *testing.T) {
	for _, other := range []string{"performance_schema.nothing", "nowhere.nothing", "information_schema.nothing"} {
		r := b.one(t, &latency{}, Look{Server: elsewhere{b.db, latencyTable, other}})
		if r.State != NotSeen || !strings.Contains(r.Detail, "has no table") {
			t.Errorf("where it is looked for in %s it says %v", other, r)
		}
	}
}

// pass lets time pass, over which speeds are measured.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

func (b *bed) threads(t *testing.T) {
	before := b.one(t, threads{}, Look{})
	if before.State != Measured || before.Value < 1 || before.Threshold != 64 {
		t.Errorf("it says %v", before)
	}
	b.doing(t, "DO SLEEP(100)")
	b.doing(t, "DO SLEEP(100)")
	until(t, "two more", func() bool { return b.one(t, threads{}, Look{}).Value >= before.Value+2 })
}

func (b *bed) history(t *testing.T) {
	b.settings[setting.ThrottleHistory] = "20"
	defer func() { b.settings = setting.Defaults() }()
	old := []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "BEGIN", "SELECT * FROM " + b.schema + ".t",
		"DO SLEEP(100)",
	}
	b.prepared(t)
	b.doing(t, old...) // as one of the engine's own
	reader := b.server.Account(t, "reader", "SELECT ON "+b.schema+".*")
	b.doingBy(t, mysqltest.Open(t, reader), old...)
	for range 50 {
		b.exec("UPDATE " + b.schema + ".t SET n = n + 1 WHERE id = 1")
	}
	until(t, "a long history", func() bool { return b.one(t, history{}, Look{}).Pressure() > 1 })

	var id string
	if err := b.db.QueryRowContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE user = ?",
		reader.User).Scan(&id); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("^connection " + id + " has had a transaction open for ([0-9]+m)?[0-9]+s$")
	until(t, "the old transaction", func() bool { return b.one(t, history{}, Look{}).Detail != "" })
	for _, zone := range []string{"SYSTEM", "+00:00", "+05:00", "-05:00"} {
		c := b.server.Config("")
		c.Params = map[string]string{"time_zone": "'" + zone + "'"}
		if r := b.one(t, history{}, Look{Server: mysqltest.Open(t, c)}); !names.MatchString(r.Detail) {
			t.Errorf("in zone %s it says %v, %q, want %v", zone, r, r.Detail, names)
		}
	}

	if r := b.one(t, history{}, Look{Server: elsewhere{b.db, "innodb_trx", "nothing"}}); r.State != Measured ||
		r.Pressure() < 1 || r.Detail != "" {
		t.Errorf("where nobody can tell why it says %v, %q", r, r.Detail)
	}
}

// prepared leaves a transaction of nobody's until the test is over.
func (b *bed) prepared(t *testing.T) {
	t.Helper()
	db := b.server.Open(t, "")
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		"XA START 'x'", "UPDATE " + b.schema + ".t SET n = n + 1 WHERE id = 2", "XA END 'x'", "XA PREPARE 'x'",
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	_ = db.Close()
	t.Cleanup(func() { // once it has been let go
		until(b.T, "an end of the prepared transaction", func() bool {
			_, err := b.db.ExecContext(b.Context(), "XA ROLLBACK 'x'")
			return err == nil
		})
	})
}

// elsewhere is a server in which a name stands for another one.
type elsewhere struct {
	Querier
	name, other string
}

func (e elsewhere) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return e.Querier.QueryRowContext(ctx, strings.ReplaceAll(query, e.name, e.other), args...)
}

func (b *bed) locks(t *testing.T) {
	s := &lockWaits{}
	if r := b.one(t, s, Look{Resting: true}); r.State != Measured || r.Value != 0 {
		t.Errorf("it says %v", r)
	}
	b.doing(t, "BEGIN", "UPDATE "+b.schema+".t SET n = 0 WHERE id = 1", "DO SLEEP(100)")
	for range 3 {
		b.doing(t, "UPDATE "+b.schema+".t SET n = 0 WHERE id = 1")
	}
	until(t, "three waits", func() bool { return b.one(t, s, Look{}).Value >= 2.5 })

	for range 50 {
		pass(t, shortest)
		if b.one(t, s, Look{Resting: true}).Threshold >= 7 {
			return
		}
	}
	t.Errorf("what is usual at rest is not tolerated: %v", b.one(t, s, Look{}))
}

// latency: writes that take long are seen, however they are sent.
func (b *bed) latency(t *testing.T) {
	account := mysqltest.Open(t, b.server.Account(t, "writer", "ALL ON "+b.schema+".*"))
	b.exec("CREATE TABLE "+b.schema+".u (id INT PRIMARY KEY, n INT)",
		"CREATE PROCEDURE "+b.schema+".p(takes FLOAT) UPDATE "+b.schema+".t SET n = n + SLEEP(takes) WHERE id = 2")
	table := b.schema + ".t"
	for i, way := range []struct {
		name, statement string // with a placeholder for how long it takes
		prepared        bool
	}{
		{"UPDATE", "UPDATE " + table + " SET n = n + SLEEP(?) WHERE id = 2", false},
		{"prepared UPDATE", "UPDATE " + table + " SET n = n + SLEEP(?) WHERE id = 2", true},
		{"UPDATE of several", "UPDATE " + table + " a JOIN " + table + " b ON a.id = b.id SET a.n = a.n + SLEEP(?) " +
			"WHERE a.id = 2", false},
		{"REPLACE SELECT", "REPLACE INTO " + b.schema + ".u SELECT id, n + SLEEP(?) FROM " + table + " WHERE id = 2", false},
		{"CALL", "CALL " + b.schema + ".p(?)", false},
	} {
		t.Run(way.name, func(t *testing.T) {
			s, write := b.latencyOf(t, account, way.statement, way.prepared)
			if i < 2 {
				b.latencyAfterHarm(t, s, write)
			}
		})
	}
}

// latencyOf sees the harm that is done to statements which take as long as they are told.
func (b *bed) latencyOf(
	t *testing.T, account *sql.DB, statement string, prepared bool,
) (s *latency, write func(takes float64)) {
	t.Helper()
	s = &latency{}
	write = func(takes float64) {
		var err error
		if prepared {
			_, err = account.ExecContext(t.Context(), statement, takes)
		} else {
			text := strings.Replace(statement, "?", strconv.FormatFloat(takes, 'f', -1, 64), 1)
			_, err = account.ExecContext(t.Context(), text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	writes := func(takes float64) {
		for end := time.Now().Add(2 * shortest); time.Now().Before(end); pass(t, 5*time.Millisecond) {
			write(takes)
		}
	}

	until(t, "what is usual", func() bool {
		writes(0)
		return b.one(t, s, Look{Resting: true}).State == Measured
	})
	writes(0)
	if r := b.one(t, s, Look{}); r.State != Measured || r.Value <= 0 || r.Threshold < leastLatency {
		t.Errorf("it says %v", r)
	}

	until(t, "the harm of slow writes", func() bool {
		writes(0.03)
		r := b.one(t, s, Look{})
		return r.Pressure() > 1 && r.Value > 20
	})
	return s, write
}

// latencyAfterHarm: harm is not taken for usual, and neither who is alone nor nobody suffers any.
func (b *bed) latencyAfterHarm(t *testing.T, s *latency, write func(takes float64)) {
	t.Helper()
	a := &s.writes
	if s.others.count > a.count {
		a = &s.others
	}
	usual := a.usual.mean
	for range 10 {
		pass(t, 40*time.Millisecond)
		write(0)
	}
	a.usual.at = time.Now().Add(-usualBetween) // as if nothing had been learnt for long
	if b.one(t, s, Look{Resting: true}); a.usual.mean > usual+leastLatency {
		t.Errorf("what is usual was %.2f ms, and is %.2f after harm", usual, a.usual.mean)
	}
	if r := b.one(t, s, Look{Alone: true}); r.State != NotSeen {
		t.Errorf("while nobody is at work it says %v", r)
	}
	until(t, "the end of writes", func() bool {
		pass(t, 2*shortest)
		return b.one(t, s, Look{}).State == NotSeen
	})
}

// application: who is at work is seen by transactions where they are counted, and by connections elsewhere.
func (b *bed) application(t *testing.T) {
	account := mysqltest.Open(t, b.server.Account(t, "other", "ALL ON "+b.schema+".*"))
	uncounted := mysqltest.Open(t, b.server.Account(t, "blind", "PROCESS ON *.*"))
	if b.server.MariaDB() {
		b.exec("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES' WHERE NAME = 'transaction'",
			"UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE 'events_transactions%'",
			"UPDATE "+b.schema+".t SET n = n + 1")
	}
	for name, server := range map[string]*sql.DB{"counted": b.db, "estimated": uncounted} {
		t.Run(name, func(t *testing.T) { b.comesAndGoes(t, server, account, name) })
	}

	for _, value := range []string{"OFF", "ON"} {
		if !b.server.MariaDB() { // which has no such variable
			b.exec("SET GLOBAL innodb_log_writer_threads = " + value)
		}
		if got := logWriters(t.Context(), b.db); (got != "") != (value == "OFF" && !b.server.MariaDB()) {
			t.Errorf("with innodb_log_writer_threads = %s the advice is %q", value, got)
		}
	}

	b.unreadable(t, uncounted)
}

// comesAndGoes: an application is there at its first look, or soon after it has begun, and gone a second after its
// end; one of ten statements a second is none.
func (b *bed) comesAndGoes(t *testing.T, server, account *sql.DB, name string) {
	a := &Application{}
	look := func() bool {
		pass(t, 100*time.Millisecond)
		return a.Look(t.Context(), server, false)
	}
	counts := name == "counted" || b.server.MariaDB() // elsewhere whoever is awake is at work
	if !a.Look(t.Context(), server, false) && counts {
		t.Error("before anything was counted nobody is at work")
	}
	until(t, "rest", func() bool { return !look() })
	if r := a.Reading(); r.State != NotSeen || r.Pressure() != 0 {
		t.Errorf("while nobody is at work it says %v", r)
	}

	client, err := account.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	work := func(statements int) {
		for range statements {
			if _, err := client.ExecContext(t.Context(), "UPDATE "+b.schema+".t SET n = n + 1 WHERE id = 2"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if counts {
		until(t, "rest", func() bool { return !look() })
		for range 20 {
			if work(1); look() {
				t.Fatalf("one who does little is at work: %v", a.Reading())
			}
		}
	}

	until(t, "work", func() bool {
		work(100)
		return a.Look(t.Context(), server, false)
	})
	r := a.Reading()
	if r.State != Measured || r.Value < fewPerSecond || r.Pressure() != 0 || (a.way > 0) != (name != "counted") {
		t.Errorf("of one who is at work it says %v", r)
	}
	until(t, "rest again", func() bool { return !look() })
	if counts {
		b.endOfSteadyWork(t, a, account, server)
	}
	if name == "counted" && !b.server.MariaDB() {
		b.standstill(t, account, a, server)
	}
	if name == "counted" {
		b.longTransaction(t, client, a, server)
	}
	if !counts {
		b.endOfALongStatement(t, account, look)
	}
}

// endOfSteadyWork: who has been at work without a pause is gone before his second is over, unless he is in the middle
// of something.
func (b *bed) endOfSteadyWork(t *testing.T, a *Application, account, server *sql.DB) {
	t.Helper()
	early := func() bool {
		working, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { b.worksUntil(working, t, account) })
		}
		for began := time.Now(); time.Since(began) < steadyFor+2*workWindow; pass(t, 50*time.Millisecond) {
			a.Look(t.Context(), server, false)
		}
		end()
		all.Wait()
		a.steady.wrong = time.Time{} // as if a minute had passed since somebody came back
		for ended := time.Now(); time.Since(ended) < presentFor; pass(t, 50*time.Millisecond) {
			if !a.Look(t.Context(), server, false) {
				return a.steady.overrules(a.present) // on a busy machine the last look at work may be long ago
			}
		}
		return false
	}
	until(t, "an early end", early)

	tx, err := account.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE "+b.schema+".t SET n = n + 1 WHERE id = 3"); err != nil {
		t.Fatal(err)
	}
	if early() {
		t.Error("who has a transaction open has ended")
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	until(t, "one more early end", early)
}

// worksUntil does small changes on a connection of its own.
func (b *bed) worksUntil(ctx context.Context, t *testing.T, account *sql.DB) {
	client, err := account.Conn(ctx)
	if err != nil {
		return
	}
	defer client.Close()
	for ctx.Err() == nil {
		_, err := client.ExecContext(t.Context(), "UPDATE "+b.schema+".t SET n = n + 1 WHERE id = 2")
		if err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
		pass(t, 5*time.Millisecond)
	}
}

// standstill: ten who have all begun a statement are at work before the first of them has ended; not so for long.
func (b *bed) standstill(t *testing.T, account *sql.DB, a *Application, server *sql.DB) {
	t.Helper()
	rest := func() bool {
		pass(t, 100*time.Millisecond)
		return !a.Look(t.Context(), server, false)
	}
	conns := make([]*sql.Conn, int(fewPerSecond*workWindow.Seconds()))
	for i := range conns {
		conn, err := account.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns[i] = conn
	}

	until(t, "ten statements, and rest from what takes long", func() bool {
		until(t, "rest", rest)
		var all sync.WaitGroup
		defer all.Wait()
		for _, conn := range conns { // at the same time: a busy machine may need seconds for one after another
			all.Go(func() {
				if _, err := conn.ExecContext(t.Context(), "DO SLEEP(6)"); err != nil {
					t.Error(err)
				}
			})
		}
		began, seen := time.Now(), false
		for ; time.Since(began) < 6*time.Second; pass(t, 20*time.Millisecond) {
			switch atWork := a.Look(t.Context(), server, false); {
			case atWork:
				seen = true
			case seen:
				return true
			}
		}
		return false
	})
}

// longTransaction: a thorough look sees who does much in one.
func (b *bed) longTransaction(t *testing.T, client *sql.Conn, a *Application, server *sql.DB) {
	t.Helper()
	tx, err := client.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	until(t, "a long transaction", func() bool {
		for range 50 {
			if _, err := tx.ExecContext(t.Context(), "UPDATE "+b.schema+".t SET n = n + 1 WHERE id = 2"); err != nil {
				t.Fatal(err)
			}
		}
		pass(t, 100*time.Millisecond)
		return a.Look(t.Context(), server, true)
	})
}

// unreadable: while anybody runs what MySQL cannot show, it shows nobody.
func (b *bed) unreadable(t *testing.T, server *sql.DB) {
	if b.server.MariaDB() { // which shows everybody
		return
	}
	odd, err := b.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer odd.Close()
	if _, err := odd.ExecContext(t.Context(), "SET character_set_client = cp1250"); err != nil {
		t.Fatal(err)
	}

	said := make(chan error, 1)
	go func() {
		_, err := odd.ExecContext(t.Context(), "DO SLEEP(2) /* \x83 */")
		said <- err
	}()
	a := &Application{}
	for len(said) == 0 {
		if !a.Look(t.Context(), server, false) {
			t.Error("whoever runs an odd text is nobody")
		}
		pass(t, 100*time.Millisecond)
	}
	if err := <-said; err != nil {
		t.Error(err)
	}
}

// endOfALongStatement: whoever has just ended one is awake, although MySQL counts his sleep from its beginning.
func (b *bed) endOfALongStatement(t *testing.T, account *sql.DB, atWork func() bool) {
	t.Helper()
	until(t, "who has just ended a long statement", func() bool {
		said := make(chan error, 1)
		go func() {
			_, err := account.ExecContext(t.Context(), "DO SLEEP(2)")
			said <- err
		}()
		for len(said) == 0 {
			atWork()
		}
		if err := <-said; err != nil {
			t.Fatal(err)
		}
		return atWork()
	})
}

func (b *bed) checkpoint(t *testing.T) {
	b.settings[setting.ThrottleCheckpoint] = "95"
	defer func() { b.settings = setting.Defaults() }()

	b.exec("CREATE TABLE " + b.schema + ".long (id INT PRIMARY KEY AUTO_INCREMENT, pad LONGTEXT)")
	before := b.one(t, checkpoint{}, Look{})
	if before.State != Measured || before.Value < 0 || before.Value > 100 || before.Threshold != 95 {
		t.Errorf("it says %v", before)
	}
	until(t, "a longer redo log", func() bool {
		b.exec("INSERT INTO " + b.schema + ".long (pad) VALUES (REPEAT('x', 1000000))")
		now := b.one(t, checkpoint{}, Look{})
		before.Value = min(before.Value, now.Value)
		return now.Value > before.Value+5
	})
}

func (b *bed) noGroup(t *testing.T) {
	if all, err := (group{}).Read(t.Context(), Look{Server: b.db, Settings: b.settings}); err != nil || len(all) != 0 {
		t.Errorf("it says %v (%v)", all, err)
	}
}

func (b *bed) noGalera(t *testing.T) {
	for _, s := range []Signal{&flowControl{}, receiveQueue{}} {
		if all, err := s.Read(t.Context(), Look{Server: b.db, Settings: b.settings}); err != nil || len(all) != 0 {
			t.Errorf("%s says %v (%v)", s.Name(), all, err)
		}
	}
}

// rights: an account that may not look is told which right it needs, and nothing else follows.
func (b *bed) rights(t *testing.T) {
	account := mysqltest.Open(t, b.server.Account(t, "nobody", "SELECT ON "+b.schema+".*"))
	for _, s := range All() {
		all, err := s.Read(t.Context(), Look{Server: account, Settings: b.settings})
		if err != nil {
			t.Errorf("%s: %v", s.Name(), err)
		}
		for _, r := range all {
			if r.State != Measured && !strings.Contains(r.Detail, "GRANT") {
				t.Errorf("%s says %v", s.Name(), r)
			}
		}
	}
}

// off: nothing is asked for a signal that is switched off.
func (b *bed) off(t *testing.T) {
	none := setting.Values{}
	for name := range b.settings {
		none[name] = "0"
	}
	for _, s := range All() {
		if all, err := s.Read(t.Context(), Look{Settings: none}); err != nil || len(all) != 0 {
			t.Errorf("%s says %v (%v)", s.Name(), all, err)
		}
	}
}

// query: the operator's own number is the pressure, and anything that is no number is an error.
func (b *bed) query(t *testing.T) {
	for text, want := range map[string]float64{"SELECT 1.5": 1.5, "SELECT '0.25'": 0.25, "SELECT -3": 0} {
		if r := b.one(t, query{text}, Look{}); r.Pressure() != want {
			t.Errorf("of %s it says %v", text, r)
		}
	}
	for _, text := range []string{
		"SELECT NULL", "SELECT 'much'", "SELECT 1 FROM DUAL WHERE FALSE", "SELECT 1, 2", "SELECT nothing",
		"SELECT 'NaN'", "SELECT '-Infinity'", "SELECT 'inf'", "SELECT '1e999'",
	} {
		if all, err := (query{text}).Read(t.Context(), Look{Server: b.db}); err == nil {
			t.Errorf("of %s it says %v", text, all)
		}
	}
}
