package proxy

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// holdsAll holds every statement back and lets it pass.
type holdsAll struct{ handlerFunc }

func (holdsAll) Candidate([]byte) bool { return true }

// A thousand clients are cut off in the middle of answers that exchanges wait for. Nothing of them
// is left: no session, no descriptor, no thread of the server.
func TestNoSessionOutlivesItsClient(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		const clients, atOnce = 250, 10 // of each kind
		p := startEdgeWith(t, BackendsConfig{Addresses: []string{s.Addr()}},
			Config{DrainTimeout: 200 * time.Millisecond}, holdsAll{pass})
		schema := s.Database(t)
		db := s.Open(t, schema)
		wide := "CREATE TABLE wide (id INT"
		for i := range 55 {
			wide += fmt.Sprintf(", c%d INT COMMENT '%s'", i, strings.Repeat("x", 1000))
		}
		if _, err := db.ExecContext(t.Context(), wide+")"); err != nil {
			t.Fatal(err)
		}

		account := s.Account(t, "vanishing", "SELECT ON "+schema+".*")
		account.Addr, account.DBName = p.address, schema
		var g errgroup.Group
		for _, script := range longAnswers(s.MariaDB()) {
			for range atOnce {
				g.Go(func() error {
					for range clients / atOnce {
						if err := vanish(t.Context(), account, script); err != nil {
							return fmt.Errorf("%.40s: %w", script[len(script)-1], err)
						}
					}
					return nil
				})
			}
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}

		await(t, func() bool { return p.count() == 0 })
		await(t, func() bool {
			var threads int
			err := db.QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM information_schema.processlist WHERE user = ?", account.User).Scan(&threads)
			return err == nil && threads == 0
		})
	})
}

// longAnswers are statements which answer more than fits into the buffers of sockets, the last of
// each script, with what must go before it.
func longAnswers(mariaDB bool) [][]string {
	const rows = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) " +
		"SELECT REPEAT('x', 1000) FROM n"
	scripts := [][]string{
		{"SHOW FULL COLUMNS FROM wide"},
		{"EXPLAIN SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 900)},
		{"PREPARE s FROM \"" + rows + "\"", "EXECUTE s"},
		{rows},
	}
	if mariaDB {
		scripts[3] = []string{"SET STATEMENT max_statement_time = 100 FOR " + rows}
	}
	return scripts
}

// vanish runs a script as a client that is gone after the first bytes of the last answer.
func vanish(ctx context.Context, account *mysql.Config, script []string) error {
	var socket net.Conn
	config := account.Clone()
	config.DialFunc = func(ctx context.Context, network, address string) (c net.Conn, err error) {
		d := net.Dialer{Control: narrowSocket}
		socket, err = d.DialContext(ctx, network, address)
		return socket, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}

	c, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()

	for _, q := range script[:len(script)-1] {
		if _, err := c.(driver.ExecerContext).ExecContext(ctx, q, nil); err != nil {
			return err
		}
	}
	return cutOff(socket, script[len(script)-1])
}

// narrowSocket makes a connection on which little is on its way at a time.
func narrowSocket(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536)
	})
}

// cutOff asks, and leaves while the answer comes.
func cutOff(c net.Conn, text string) error {
	if err := query(text).Play(c); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
		return err
	}
	return wiretest.Reset().Play(c)
}
