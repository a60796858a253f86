package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// proxy is the command `proxy`: start, stop, crash, freeze, thaw, hangup, log. Names tell several
// proxies apart.
func (s *story) proxy(ts *testscript.TestScript, args []string) error {
	if len(args) == 0 {
		return errors.New("proxy what?")
	}

	verb, name, rest := args[0], "proxy", args[1:]
	if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		name, rest = rest[0], rest[1:]
	}
	if verb == "start" {
		return s.startProxy(ts, name, rest)
	}

	p := s.proxies[name]
	if p == nil {
		return fmt.Errorf("proxy %s was not started", name)
	}

	switch verb {
	case "stop":
		return p.Stop()
	case "crash":
		p.Kill()
		return nil
	case "freeze":
		return p.Signal(syscall.SIGSTOP)
	case "thaw":
		return p.Signal(syscall.SIGCONT)
	case "hangup":
		return p.Signal(syscall.SIGHUP)
	case "log":
		return awaitLog(p, strings.Join(rest, " "))
	}

	return fmt.Errorf("proxy cannot %s", verb)
}

// awaitLog waits until a proxy's log matches.
func awaitLog(p *program.Process, text string) error {
	pattern, err := regexp.Compile(text)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(program.Patience); !pattern.MatchString(p.Log()); {
		if time.Now().After(deadline) {
			return fmt.Errorf("the log does not show %q", text)
		}
		<-time.After(20 * time.Millisecond)
	}
	return nil
}

// engineVariables tell ttlproxy where the server is and which account is the engine's.
var engineVariables = []string{
	"TTLPROXY_BACKEND", "TTLPROXY_ENGINE_USER", "TTLPROXY_ENGINE_PASSWORD",
	"TTLPROXY_CATALOG_SCHEMA",
}

func engineEnv(getenv func(string) string) []string {
	env := make([]string, len(engineVariables))
	for i, v := range engineVariables {
		env[i] = v + "=" + getenv(v)
	}
	return env
}

// startStory is the set-up of a story for a test that is written in Go: its names and accounts, and
// a proxy that uses them.
func startStory(t *testing.T, server *mysqltest.Server) (*story, map[string]string, *program.Process) {
	t.Helper()
	s, vars := &story{t: t, server: server, binary: program.Build(t)}, names()
	get := func(name string) string { return vars[name] }
	if err := s.populate(get, func(name, value string) { vars[name] = value }); err != nil {
		t.Fatal(err)
	}
	return s, vars, program.Start(t, program.Config{Env: engineEnv(get)})
}

func (s *story) startProxy(ts *testscript.TestScript, name string, args []string) error {
	env := append(engineEnv(ts.Getenv), program.PatientChecks)
	p, err := program.Launch(s.binary, s.work, program.Config{Args: args, Env: env})
	if p != nil {
		s.proxies[name] = p
		ts.Setenv("PROXY", p.Addr)
		if err == nil && !slices.Contains(args, "--engine=off") {
			err = awaitEngine(p)
		}
	}
	return err
}

// awaitEngine gives an engine the time that it needs on a busy machine: a story's first statement may
// be to run a job. Where the catalog cannot be opened there is none.
func awaitEngine(p *program.Process) error {
	return awaitLog(p, `"msg":"(engine runs|no rows are deleted and TTL statements fail until the catalog can be opened)`)
}

// serverCommand is the command `server`: own, replica, restart, crash, freeze, thaw.
func (s *story) serverCommand(ts *testscript.TestScript, args []string) error {
	if len(args) == 0 {
		return errors.New("server what?")
	}
	if args[0] == "own" {
		return s.startServer(ts, args[1:])
	}
	if s.own == nil {
		return errors.New("the server is shared: begin the story with `server own`")
	}

	switch args[0] {
	case "replica":
		return s.startReplica(ts, args[1:])
	case "restart":
		return s.own.Restart(context.Background())
	case "crash":
		s.own.Kill()
		return nil
	case "freeze":
		return s.own.Signal(syscall.SIGSTOP)
	case "thaw":
		return s.own.Signal(syscall.SIGCONT)
	}

	return fmt.Errorf("server cannot %s", args[0])
}

func (s *story) startServer(ts *testscript.TestScript, args []string) error {
	own, err := sandbox.Start(context.Background(), s.careless(args))
	if err != nil {
		return err
	}
	s.own, s.server = own, mysqltest.FromSandbox(own)
	return s.populate(ts.Getenv, ts.Setenv)
}

// careless is a server of the story's flavour, as tests have them.
func (s *story) careless(args []string) sandbox.Config {
	return sandbox.Config{Flavour: s.server.Flavour, Args: append(mysqltest.Careless(s.server.Flavour), args...)}
}

// startReplica starts a server that follows the story's own, and cannot be written to.
func (s *story) startReplica(ts *testscript.TestScript, args []string) error {
	ctx := context.Background()
	replica, err := sandbox.Start(ctx, s.careless(args))
	if err != nil {
		return err
	}

	s.replica = replica
	host, port, err := net.SplitHostPort(s.server.Addr())
	if err != nil {
		return err
	}
	if err := execute(ctx, s.server.Config(""), "CREATE USER replica IDENTIFIED BY 'replica'",
		"GRANT REPLICATION SLAVE ON *.* TO replica"); err != nil {
		return err
	}

	follow := []string{"CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%s, SOURCE_USER='replica', " +
		"SOURCE_PASSWORD='replica', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1", "START REPLICA"}
	if s.server.MariaDB() {
		follow = []string{"CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='replica', " +
			"MASTER_PASSWORD='replica', MASTER_USE_GTID=slave_pos", "START REPLICA"}
	}

	follow[0] = fmt.Sprintf(follow[0], host, port)
	ts.Setenv("REPLICA", replica.Config("").Addr)
	return execute(ctx, replica.Config(""), append(follow, "SET GLOBAL read_only=1")...)
}

// execute runs statements in one session.
func execute(ctx context.Context, config *mysql.Config, statements ...string) error {
	_, err := query(ctx, config, statements)
	return err
}

// initialise makes the engine's account, with the rights that `ttlproxy init` prints and no more.
func (s *story) initialise(getenv func(string) string) error {
	account := catalog.ServiceAccount{User: getenv("ENGINE"), Password: getenv("ENGINE"), Catalog: getenv("CATALOG")}
	var statements []string
	for _, g := range account.Grants(s.server.MariaDB()) {
		statements = append(statements, g.SQL)
	}
	return execute(context.Background(), s.server.Config(""), statements...)
}

// prepare makes the tables of the catalog, which take a server longer than most stories.
func (s *story) prepare(schema, engine string) {
	s.t.Helper()
	connector, err := catalog.Connector(s.server.Config(""))
	if err != nil {
		s.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()

	mysqltest.Prepared(s.t, db, schema, "'"+engine+"'@'%'", func(schema string) error {
		_, err := catalog.Open(s.t.Context(), db, catalog.Config{Schema: schema})
		return err
	})
	mysqltest.Unhurried(s.t, db, schema)
}
