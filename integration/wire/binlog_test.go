package wire

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// Pitfall 29: a CDC tool reads the binlog through the proxy.
func TestBinlogIsReadThroughTheProxy(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := s.DB(t)
		host, port := split(t, through(t, s.Addr()))
		config := s.Config("")
		flavour := gomysql.MySQLFlavor

		if s.MariaDB() {
			flavour = gomysql.MariaDBFlavor
		}

		syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
			ServerID: 4242, Flavor: flavour, Host: host, Port: uint16(port), User: config.User, Password: config.Passwd,
			Logger: slog.New(slog.DiscardHandler),
		})
		defer syncer.Close()

		file, at := position(t, s)
		stream, err := syncer.StartSync(gomysql.Position{Name: file, Pos: at})
		if err != nil {
			t.Fatal(err)
		}

		const marker = "a row that is read from the binlog"
		for _, q := range []string{"CREATE TABLE t (s TEXT)", "INSERT INTO t VALUES ('" + marker + "')"} {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()

		for {
			event, err := stream.GetEvent(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(event.RawData, []byte(marker)) {
				return
			}
		}
	})
}

// position is where the server's binlog ends.
func position(t *testing.T, s *mysqltest.Server) (file string, at uint32) {
	t.Helper()
	query := "SHOW BINARY LOG STATUS"
	if s.MariaDB() {
		query = "SHOW MASTER STATUS"
	}

	rows, err := s.Open(t, "").QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}

	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}

	values[0], values[1] = &file, &at
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	return file, at
}

func split(t *testing.T, address string) (host string, port int) {
	t.Helper()
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if port, err = strconv.Atoi(p); err != nil {
		t.Fatal(err)
	}
	return host, port
}

// output runs a tool against an address as root.
func output(t *testing.T, s *mysqltest.Server, program, address string, args ...string) []byte {
	t.Helper()
	host, port := split(t, address)
	all := append([]string{
		"--no-defaults", "--host=" + host, fmt.Sprintf("--port=%d", port), "--protocol=tcp",
		"--user=" + s.Config("").User,
	}, args...)
	cmd := exec.CommandContext(t.Context(), program, all...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+s.Config("").Passwd)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", program, all, err, errors.String())
	}
	return out
}

// Dumps, and binlogs read by the command line, are the same directly and through the proxy.
func TestDumpsAreEqual(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		schema := s.Database(t)
		db := s.Open(t, schema)
		for _, q := range []string{
			"FLUSH BINARY LOGS", // what is read below is this test's, not the gigabytes of those before it
			"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s TEXT, b LONGBLOB, j JSON, d DATETIME(6), UNIQUE (d))",
			"INSERT INTO t (s, b, j, d) VALUES ('é''\"\\\\', x'00FF1A', '{\"a\": 1}', '2026-11-21 01:02:03.456789'), " +
				"(NULL, REPEAT('x', 3000000), NULL, NULL)",
			"CREATE VIEW v AS SELECT id, s FROM t",
			"CREATE PROCEDURE p() SELECT 1",
			"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.s = 'x'",
		} {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}

		proxied := through(t, s.Addr())
		dump := mysqltest.Tool(t, s.Flavour, "dump")
		args := []string{
			"--skip-comments", "--routines", "--triggers", "--hex-blob", "--max-allowed-packet=64M",
			schema,
		}
		if !s.MariaDB() {
			args = append([]string{"--set-gtid-purged=OFF"}, args...)
		}

		direct, relayed := output(t, s, dump, s.Addr(), args...), output(t, s, dump, proxied, args...)
		if !bytes.Equal(direct, relayed) || len(direct) < 6000000 {
			t.Errorf("%s: %d bytes directly, %d through the proxy, want the same and more than 6 MB",
				dump, len(direct), len(relayed))
		}

		file, at := position(t, s)
		binlog := mysqltest.Tool(t, s.Flavour, "binlog")
		args = []string{"--read-from-remote-server", fmt.Sprintf("--stop-position=%d", at), file}

		direct, relayed = output(t, s, binlog, s.Addr(), args...), output(t, s, binlog, proxied, args...)
		if !bytes.Equal(direct, relayed) || len(direct) < 1000000 {
			t.Errorf("%s: %d bytes directly, %d through the proxy, want the same", binlog, len(direct), len(relayed))
		}
	})
}
