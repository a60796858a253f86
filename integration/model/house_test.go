package model

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// house is a server with a proxy in front, on which scripts are played, several at once.
type house struct {
	server *mysqltest.Server
	db     *sql.DB // root, around the proxy
	proxy  *program.Process
	binary string
	logs   string
	args   []string
	env    []string
	played atomic.Int64 // numbers the scripts, so that no two share a schema

	steps, liveness, doubted atomic.Int64
}

func open(t *testing.T, flavour sandbox.Flavour) *house {
	t.Helper()
	s := mysqltest.Start(t, flavour, "--innodb-flush-log-at-trx-commit=0", "--max-connections=1000")
	engine := s.Account(t, "engine", "ALL ON *.*")
	root := s.Config("")
	root.MultiStatements = true
	h := &house{server: s, db: mysqltest.Open(t, root), binary: program.Build(t), logs: t.TempDir()}
	h.args = []string{"--backend=" + s.Addr(), "--engine-user=" + engine.User}
	h.env = []string{"TTLPROXY_ENGINE_PASSWORD=" + engine.Passwd, program.PatientChecks}
	h.proxy = program.Start(t, program.Config{Args: h.args, Env: h.env})
	return h
}

// mortal starts a proxy that a script may kill. The engine is elsewhere, so that others' jobs go
// on.
func (h *house) mortal() (*program.Process, error) {
	return program.Launch(h.binary, h.logs,
		program.Config{Args: append([]string{"--engine=off"}, h.args...), Env: h.env})
}

// exec runs statements as root, around the proxy, in one packet.
func (h *house) exec(ctx context.Context, statements ...string) error {
	text := strings.Join(statements, "; ")
	if _, err := h.db.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}
