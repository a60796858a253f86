package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

func TestStories(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		binary := program.Build(t)
		testscript.Run(t, testscript.Params{
			Dir: "testdata",
			Setup: func(env *testscript.Env) error {
				env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+env.Getenv("PATH"))
				return setup(env, &story{
					t: t, server: s, binary: binary, proxies: map[string]*program.Process{},
					sessions: map[string]*session{},
				})
			},
			Condition: func(name string) (bool, error) {
				switch name {
				case "mariadb", "mysql":
					return name == string(s.Flavour), nil
				case "tools":
					return tools(s.Flavour)
				}
				return false, fmt.Errorf("unknown condition %q", name)
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"proxy":   command((*story).proxy),
				"server":  command((*story).serverCommand),
				"sql":     sqlCommand,
				"direct":  run((*story).direct),
				"await":   command((*story).await),
				"session": run((*story).session),
				"start":   command((*story).start),
				"finish":  run((*story).finish),
				"leave":   command((*story).leave),
				"page":    command((*story).page),
				"tools":   command((*story).tools),
			},
		})
	})
}

// story is what one script works with.
type story struct {
	t        *testing.T
	server   *mysqltest.Server
	own      *sandbox.Server // set by `server own`
	replica  *sandbox.Server // set by `server replica`
	binary   string
	work     string
	proxies  map[string]*program.Process
	sessions map[string]*session
}

// number makes the names of each story's database and accounts its own.
var number atomic.Int64

// names are those of a new story.
func names() map[string]string {
	n := number.Add(1)
	return map[string]string{
		"DB": fmt.Sprintf("story%d", n), "CATALOG": fmt.Sprintf("ttlproxy%d", n),
		"APP": fmt.Sprintf("app%d", n), "ENGINE": fmt.Sprintf("engine%d", n),
	}
}

// setup gives a story its names and accounts. The engine's account has exactly the rights that
// `ttlproxy init` grants.
func setup(env *testscript.Env, s *story) error {
	s.work = env.WorkDir
	env.Values[storyKey{}] = s
	for name, value := range names() {
		env.Setenv(name, value)
	}
	env.Setenv("HOME", env.WorkDir)
	env.Defer(s.close)
	return s.populate(env.Getenv, env.Setenv)
}

// populate creates the database and the accounts on the story's server, and sets what the options
// of ttlproxy need.
func (s *story) populate(getenv func(string) string, setenv func(string, string)) error {
	config := s.server.Config("")
	setenv("SERVER", config.Addr)
	if s.server.Sandbox != nil {
		setenv("SOCKET", s.server.Sandbox.Socket())
	}

	setenv("TTLPROXY_BACKEND", config.Addr)
	setenv("TTLPROXY_ENGINE_USER", getenv("ENGINE"))
	setenv("TTLPROXY_ENGINE_PASSWORD", getenv("ENGINE"))
	setenv("TTLPROXY_CATALOG_SCHEMA", getenv("CATALOG"))

	if err := s.initialise(getenv); err != nil {
		return err
	}
	s.prepare(getenv("CATALOG"), getenv("ENGINE"))

	db, app := getenv("DB"), getenv("APP")
	return execute(context.Background(), config,
		"CREATE DATABASE "+db,
		fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", app, app),
		fmt.Sprintf("GRANT ALL ON %s.* TO '%s'@'%%'", db, app))
}

// close ends what the story has started. A database stays if the server goes away anyway.
func (s *story) close() {
	for _, p := range s.proxies {
		p.Kill()
	}
	for _, o := range s.sessions {
		_ = o.close()
	}
	for _, started := range []*sandbox.Server{s.replica, s.own} {
		if started != nil {
			_ = started.Close()
		}
	}
}

type storyKey struct{}

func of(ts *testscript.TestScript) *story { return ts.Value(storyKey{}).(*story) }

// command is a command of the script that must not fail.
func command(f func(*story, *testscript.TestScript, []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg {
			ts.Fatalf("this command cannot be negated")
		}
		if err := f(of(ts), ts, args); err != nil {
			ts.Fatalf("%v%s", err, of(ts).logs())
		}
	}
}

// run is a command that behind ! must fail. The error is its standard error.
func run(f func(*story, *testscript.TestScript, []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		err := f(of(ts), ts, args)
		switch {
		case err != nil && !neg:
			ts.Fatalf("%v%s", err, of(ts).logs())
		case err != nil:
			fmt.Fprintln(ts.Stderr(), err)
		case neg:
			ts.Fatalf("this should have failed")
		}
	}
}

// logs are the ends of the proxies' logs, for a story that failed.
func (s *story) logs() string {
	var b strings.Builder
	for name, p := range s.proxies {
		lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
		fmt.Fprintf(&b, "\nlog of proxy %s:\n%s", name, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return b.String()
}
