package clients

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestCompressionIsDoneWithout: clients that ask for compression connect, and do without.
func TestCompressionIsDoneWithout(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		config := s.Account(t, "compressed", "PROCESS ON *.*")
		through := startProxy(t, config)
		config.Addr = through.host + ":" + through.port
		if err := config.Apply(mysql.EnableCompression(true)); err != nil {
			t.Fatal(err)
		}

		var name, value string
		if err := mysqltest.Open(t, config).QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Compression'").Scan(&name,
			&value); err != nil || value != "OFF" {
			t.Errorf("the Go driver: got %s, %v, want OFF", value, err)
		}

		for _, c := range clients {
			program, _, isCommandLine := strings.Cut(c.name, " command line")
			if !isCommandLine || c.refuses != nil && c.refuses(s) != "" {
				continue
			}

			t.Run(program, func(t *testing.T) {
				option := " --compress"
				if program == "mysql" {
					option = " --compression-algorithms=zstd,zlib,uncompressed"
				}

				c.command = with(option, c.command)
				got := c.run(t, through, "text", request{"SHOW STATUS LIKE 'Compression'"})
				if !strings.Contains(got, "| OFF ") {
					t.Errorf("got %s", got)
				}
			})
		}
	})
}

// with gives a command-line client one more option.
func with(option string, command func(*testing.T) ([]string, error)) func(*testing.T) ([]string, error) {
	return func(t *testing.T) ([]string, error) {
		t.Helper()
		argv, err := command(t)
		if err == nil {
			argv[2] = strings.Replace(argv[2], " --force", option+" --force", 1)
		}
		return argv, err
	}
}
