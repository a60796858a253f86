package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// findServer takes the server that was named, or starts one, and fills it. It returns how to end
// it.
func (b *bench) findServer(ctx context.Context) (*target, func(), error) {
	direct := &target{name: "direct", address: b.server}
	end := func() {}
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = "root", "tcp", b.server

	if b.server == "" {
		s, err := sandbox.Start(ctx, sandbox.Config{Args: []string{
			"--innodb-buffer-pool-size=512M",
			"--max-connections=3000",
		}})
		if err != nil {
			return nil, nil, err
		}
		end = func() { s.Close() }
		config, direct.address, direct.pid = s.Config(""), s.Addr(), readPID(filepath.Join(s.Dir(), "server.pid"))
	}

	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, end, err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	err = prepare(func(q string) error {
		_, err := db.ExecContext(ctx, q)
		return err
	})
	return direct, end, err
}

// readPID reads the number that a server writes to a file.
func readPID(file string) int {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}
