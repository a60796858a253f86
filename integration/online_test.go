package integration

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestPtOnlineSchemaChange runs the tool itself, as the page on online schema changes shows it.
// What it and gh-ost send is a story that needs neither: ddl_online_change.
func TestPtOnlineSchemaChange(t *testing.T) {
	tool, err := exec.LookPath("pt-online-schema-change")
	if err != nil {
		t.Skip("install percona-toolkit to run pt-online-schema-change:", err)
	}

	shown := regexp.MustCompile(`(?m)^pt-online-schema-change (.*) h=127.0.0.1,P=4000,D=shop,t=session --execute$`).FindStringSubmatch(read(t, "../docs/how-to/online-schema-change.md"))
	if shown == nil {
		t.Fatal("the page does not show how to run it")
	}

	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) {
		s, vars, p := startStory(t, server)
		root := s.client(flags{user: "root", db: vars["DB"], at: p.Addr})
		if err := execute(context.Background(), root,
			"CREATE TABLE session (id INT PRIMARY KEY, seen_at DATETIME) TTL = seen_at + INTERVAL 1 DAY",
			"INSERT INTO session VALUES (1, NOW()), (2, NOW()), (3, NULL)"); err != nil {
			t.Fatal(err)
		}

		host, port, _ := strings.Cut(p.Addr, ":")
		dsn := "h=" + host + ",P=" + port + ",D=" + vars["DB"] + ",t=session,u=" + root.User
		if root.Passwd != "" {
			dsn += ",p=" + root.Passwd
		}

		options := " --execute"
		if !server.MariaDB() {
			// Debian's version asks for SLAVE HOSTS, which MySQL 8.4 and later do not know
			options += " --recursion-method=none"
		}

		out, err := exec.CommandContext(t.Context(), "sh", "-c",
			"exec '"+tool+"' "+shown[1]+" '"+dsn+"'"+options).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Successfully altered") {
			t.Fatalf("%v\n%s", err, out)
		}

		results, err := query(context.Background(), root, []string{
			"SHOW TTL TABLES WHERE Table_name LIKE '%session%'", "SHOW CREATE TABLE session",
			"SELECT COUNT(*) FROM session",
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(results[0].rows) != 1 || !strings.Contains(strings.Join(results[0].rows[0], " "), "armed") {
			t.Errorf("policies are %v, want that of session, armed", results[0].rows)
		}
		if create := results[1].rows[0][1]; !strings.Contains(create, "`note`") ||
			!strings.Contains(create, "TTL=`seen_at` + INTERVAL 1 DAY") {
			t.Errorf("the table is %s", create)
		}
		if got := results[2].rows[0][0]; got != "3" {
			t.Errorf("%s rows, want 3", got)
		}
	})
}
