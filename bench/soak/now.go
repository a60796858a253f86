package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	binlog "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

const (
	nowTable = tablesSchema + ".now"
	nowLives = 3 * time.Second // each row
	nowWarm  = 10 * time.Second
	nowPart  = 20 * time.Millisecond // between two INSERTs
	nowRest  = 30 * time.Second

	// What tables in which nothing happens may cost.
	restStatements = 5.0 // per second
	restCore       = 2.0 // %
)

// soakNow lets rows expire all the time, one after the other, in a table whose jobs start as often as
// they can, and measures by the binary log how late each of them is deleted. With -nodes 2 the proxy
// that leads is killed halfway. With -tables it adds so many such tables in which nothing happens,
// and measures what they cost.
func (o options) soakNow(ctx context.Context, flavour sandbox.Flavour, out io.Writer) error {
	p, err := o.start(ctx, flavour, []string{"--innodb-buffer-pool-size=256M"}, nil)
	if err != nil {
		return err
	}
	defer p.Close()

	n := &nowRun{options: o, pair: p, flavour: flavour, out: out}
	if n.db, err = p.clients(); err != nil {
		return err
	}
	defer n.db.Close()

	if n.straight, err = p.direct(); err != nil {
		return err
	}
	defer n.straight.Close()

	fmt.Fprintf(out, "%s %s, %d rows expire per second for %v, %d nodes\n", flavour, p.server.Version, o.now, o.length,
		o.nodes)
	if err := n.prepare(ctx); err != nil {
		return err
	}
	if o.tables > 0 {
		return n.rest(ctx)
	}

	return n.late(ctx)
}

// nowRun is one such run.
type nowRun struct {
	options
	*pair
	flavour  sandbox.Flavour
	db       *sql.DB // through the proxy
	straight *sql.DB // around it
	out      io.Writer
	lateness []time.Duration
}

func (n *nowRun) exec(ctx context.Context, db *sql.DB, statements ...string) error {
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.80s: %w", s, err)
		}
	}
	return nil
}

func (n *nowRun) prepare(ctx context.Context) error {
	const columns = " (id BIGINT AUTO_INCREMENT PRIMARY KEY, at TIMESTAMP(6) NOT NULL, pad VARCHAR(100) NOT NULL, " +
		"KEY (at)) TTL = at + INTERVAL 3 SECOND TTL_JOB_INTERVAL = '1s'"
	err := n.exec(ctx, n.db, "SET GLOBAL ttl_brake_percent = 100", "SET GLOBAL ttl_brake_factor = 0",
		"CREATE DATABASE "+tablesSchema, "CREATE TABLE "+nowTable+columns)
	for i := range n.tables {
		if err == nil {
			err = n.exec(ctx, n.db, fmt.Sprintf("CREATE TABLE %s.idle%d%s", tablesSchema, i, columns))
		}
	}
	return err
}

// rest measures what tables cost in which nothing happens.
func (n *nowRun) rest(ctx context.Context) error {
	if err := pause(ctx, nowWarm+time.Duration(n.tables)*50*time.Millisecond); err != nil {
		return err
	}

	pid := n.pair.proxy.PID()
	before, err := n.statements(ctx)
	if err != nil {
		return err
	}
	cpu, err := cpuTime(pid)
	if err != nil {
		return err
	}
	if err := pause(ctx, nowRest); err != nil {
		return err
	}
	after, err := n.statements(ctx)
	if err != nil {
		return err
	}
	used, err := cpuTime(pid)
	if err != nil {
		return err
	}

	var sent int
	var kinds []string
	for kind, count := range after {
		if count -= before[kind]; count > 0 {
			sent += count
			kinds = append(kinds, fmt.Sprintf("%d %s", count, kind))
		}
	}

	slices.Sort(kinds)
	perSecond := float64(sent) / nowRest.Seconds()
	share := 100 * (used - cpu).Seconds() / nowRest.Seconds()
	fmt.Fprintf(n.out, "    at rest %d tables cost %.1f statements/s and %.1f %% of a core\n", n.tables, perSecond,
		share)
	if perSecond > restStatements || share > restCore {
		return fmt.Errorf("the bar is %.0f statements/s and %.0f %% of a core: %s", restStatements, restCore,
			strings.Join(kinds, ", "))
	}
	return nil
}

// statements is how many the server has executed: logins and logouts, which Questions counts, are none.
func (n *nowRun) statements(ctx context.Context) (counts map[string]int, err error) {
	rows, err := n.straight.QueryContext(ctx,
		"SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com\\_%' AND Variable_name <> 'Com_admin_commands'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	counts = map[string]int{}
	for rows.Next() {
		var name string
		var count int
		if err := rows.Scan(&name, &count); err != nil {
			return nil, err
		}
		counts[strings.ToLower(strings.TrimPrefix(name, "Com_"))] = count
	}
	return counts, rows.Err()
}

// late measures how late rows go.
func (n *nowRun) late(ctx context.Context) error {
	if n.nodes > 1 {
		other, err := program.Launch(n.options.proxy, n.dir, program.Config{Args: []string{
			"--backend=" + n.server.Addr(), "--engine-user=" + n.account.User,
		}})
		if err != nil {
			return err
		}
		defer other.Kill()
	}

	ctx, cancel := context.WithTimeout(ctx, n.length)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.write(ctx) })
	g.Go(func() error { return n.follow(ctx) })
	if n.nodes > 1 {
		g.Go(func() error {
			if pause(ctx, n.length/2) == nil {
				n.pair.proxy.Kill()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}

	return n.report()
}

// write inserts rows at a steady rate.
func (n *nowRun) write(ctx context.Context) error {
	each := max(n.now*int(nowPart)/int(time.Second), 1)
	spread := nowPart.Microseconds() / int64(each)
	tick := time.NewTicker(nowPart)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}

		rows := make([]string, each)
		for i := range rows {
			rows[i] = fmt.Sprintf("(NOW(6) + INTERVAL %d MICROSECOND, REPEAT('x', 80))", int64(i)*spread)
		}
		insert := "INSERT INTO " + nowTable + " (at, pad) VALUES " + strings.Join(rows, ", ")
		if _, err := n.straight.ExecContext(ctx, insert); err != nil && ctx.Err() == nil {
			return fmt.Errorf("insert: %w", err)
		}
	}
}

// follow reads the binary log as it grows.
func (n *nowRun) follow(ctx context.Context) error {
	_, text, err := net.SplitHostPort(n.server.Addr())
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return err
	}
	at, err := n.logEnd(ctx)
	if err != nil {
		return err
	}

	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: 4243, Flavor: string(n.flavour), Host: "127.0.0.1", Port: uint16(port), User: n.account.User,
		Password: n.account.Passwd, ParseTime: true, TimestampStringLocation: time.UTC,
		Logger: slog.New(slog.DiscardHandler),
	})
	defer syncer.Close()

	stream, err := syncer.StartSync(at)
	if err != nil {
		return err
	}
	for began := time.Now(); ; {
		e, err := stream.GetEvent(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the binary log: %w", err)
		}
		rows, ok := e.Event.(*replication.RowsEvent)
		if !ok || string(rows.Table.Schema)+"."+string(rows.Table.Table) != nowTable || !deletes(e.Header.EventType) ||
			time.Since(began) < nowWarm {
			continue
		}
		for _, row := range rows.Rows {
			if expired, isTime := row[1].(time.Time); isTime {
				n.lateness = append(n.lateness, time.Since(expired.Add(nowLives)))
			}
		}
	}
}

func deletes(t replication.EventType) bool {
	return t == replication.DELETE_ROWS_EVENTv1 || t == replication.DELETE_ROWS_EVENTv2 ||
		t == replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1
}

// logEnd is where the server's binary log ends now.
func (n *nowRun) logEnd(ctx context.Context) (at binlog.Position, err error) {
	status := "SHOW BINARY LOG STATUS"
	if n.flavour == sandbox.MariaDB {
		status = "SHOW MASTER STATUS"
	}
	rows, err := n.straight.QueryContext(ctx, status)
	if err != nil {
		return at, err
	}
	defer rows.Close()

	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return at, errors.Join(err, rows.Err(), errors.New("there is no binary log"))
	}
	into := []any{&at.Name, &at.Pos}
	for range columns[2:] {
		into = append(into, new(sql.RawBytes))
	}
	return at, rows.Scan(into...)
}

// report prints the figures, and fails if one is above its bar.
func (n *nowRun) report() error {
	if len(n.lateness) == 0 {
		return errors.New("no row was deleted")
	}
	slices.Sort(n.lateness)
	at := func(share float64) time.Duration {
		return n.lateness[int(share*float64(len(n.lateness)-1))].Round(time.Millisecond)
	}
	fmt.Fprintf(n.out, "    %d rows, deleted after p50 %v, p99 %v, max %v\n", len(n.lateness), at(0.5), at(0.99), at(1))
	if n.lateness[0] < 0 {
		return fmt.Errorf("a row went %v before it expired", -n.lateness[0])
	}
	if n.half > 0 && at(0.5) > n.half || n.p99 > 0 && at(0.99) > n.p99 {
		return fmt.Errorf("the bars are %v for half of the rows, and %v for 99 %% of them", n.half, n.p99)
	}
	if n.most > 0 && at(1) > n.most {
		return fmt.Errorf("a row went %v after it had expired, the bar is %v", at(1), n.most)
	}
	return nil
}
