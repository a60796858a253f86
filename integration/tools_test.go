package integration

import (
	"context"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// tools is the condition of that name: the server's own client and its dump are there. Where everything is supposed
// to be tested, it is an error if they are not.
func tools(flavour sandbox.Flavour) (bool, error) {
	for _, what := range []string{"", "dump"} {
		if _, err := mysqltest.FindTool(context.Background(), flavour, what); err != nil {
			if mysqltest.Everything() {
				return false, err
			}
			return false, nil
		}
	}
	return true, nil
}

// tools sets CLIENT and DUMP to the server's own, with the options that they need to log in without TLS.
func (s *story) tools(ts *testscript.TestScript, _ []string) error {
	for name, what := range map[string]string{"CLIENT": "", "DUMP": "dump"} {
		path, err := mysqltest.FindTool(context.Background(), s.server.Flavour, what)
		if err != nil {
			return err
		}

		command := "'" + path + "' --no-defaults --skip-ssl"
		if !s.server.MariaDB() {
			command = "'" + path + "' --no-defaults --ssl-mode=DISABLED --get-server-public-key"
		}
		if what == "dump" && !s.server.MariaDB() {
			command += " --set-gtid-purged=OFF" // else it sets a variable that takes a right
		}
		ts.Setenv(name, command+" --user="+ts.Getenv("APP")+" --password="+ts.Getenv("APP"))
	}
	return nil
}
