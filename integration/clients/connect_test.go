package clients

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/transcript"
)

const connectPage = "../../docs/how-to/connect.md"

// snippet is what the page says about one language or framework.
type snippet struct {
	name   string
	blocks map[string]string // file to write → block of the page: language and word, if any
	table  string            // that gets a TTL
	run    string            // for a shell, in the folder of the files; $here is the folder of this test
	needs  string            // for a shell; Debian's packages that bring it stand behind the #
}

var snippets = []snippet{
	{
		"command line",
		map[string]string{"connect.sh": "sh"},
		"session", "sh connect.sh",
		"mariadb --version # mariadb-client",
	},
	{
		"go",
		map[string]string{"main.go": "go"},
		"session", `main=$PWD/main.go && cd "$here" && go run "$main"`,
		"go version # golang",
	},
	{
		"node",
		map[string]string{"connect.js": "js"},
		"session", "NODE_PATH=$modules node connect.js",
		"node --version # nodejs npm",
	},
	{
		"python",
		map[string]string{"connect.py": "python"},
		"session", "/usr/bin/python3 connect.py",
		`/usr/bin/python3 -c "import pymysql, cryptography" # python3-pymysql python3-cryptography`,
	},
	{
		"php",
		map[string]string{"connect.php": "php"},
		"session", "php connect.php",
		`php -r "new ReflectionExtension('pdo_mysql');" # php-cli php-mysql`,
	},
	{
		"java",
		map[string]string{"Connect.java": "java"},
		"session", "java -cp " + javaClient + " Connect.java",
		"ls " + javaClient + " && java --version # libmariadb-java default-jdk-headless",
	},
	{
		"sqlalchemy",
		map[string]string{"connect.py": "python sqlalchemy"},
		"session", "/usr/bin/python3 connect.py",
		`/usr/bin/python3 -c "import sqlalchemy, pymysql" # python3-sqlalchemy python3-pymysql`,
	},
	{
		"django",
		map[string]string{"settings.py": "python settings", "migration.py": "python migration"},
		"shop_session",
		`sh "$here/frameworks/django.sh"`,
		`/usr/bin/python3 -c "import django, MySQLdb" # python3-django python3-mysqldb`,
	},
	{
		"rails",
		map[string]string{"database.yml": "yaml", "migration.rb": "ruby"},
		"sessions",
		`ruby "$here/frameworks/rails.rb"`, "ruby -ractive_record -rmysql2 -e 0 # ruby-activerecord ruby-mysql2",
	},
	{
		"laravel",
		map[string]string{"env": "ini", "migration.php": "php migration"},
		"sessions",
		`php "$here/frameworks/laravel.php"`,
		"php /usr/share/php/Illuminate/Database/autoload.php # php-illuminate-database php-mysql",
	},
	{
		"spring",
		map[string]string{"application.properties": "properties", "statement": "java spring"},
		"session",
		`sed '/the page.s statement/r statement' "$here/frameworks/Spring.java" >Spring.java && java -cp "` +
			javaClient + `:/usr/share/java/*" Spring.java`,
		"ls /usr/share/java/spring3-jdbc.jar " + javaClient +
			" && java --version # libspring-jdbc-java libmariadb-java default-jdk-headless",
	},
}

const javaClient = "/usr/share/java/mariadb-java-client.jar"

// TestConnectPage runs what the page shows for each language and framework, as it stands there but
// for the port, and then looks whether the table has a TTL.
func TestConnectPage(t *testing.T) {
	text, err := os.ReadFile(connectPage)
	if err != nil {
		t.Fatal(err)
	}

	blocks := map[string]string{}
	for _, b := range transcript.Blocks(string(text)) {
		blocks[strings.Join(append([]string{b.Language}, b.Words...), " ")] = b.Text
	}

	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		admin := s.Open(t, "")
		run(t, admin, "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop",
			"CREATE USER IF NOT EXISTS app IDENTIFIED BY 'secret'", "GRANT ALL ON shop.* TO app")
		t.Cleanup(func() { run(t, admin, "DROP USER app", "DROP DATABASE shop") })
		config := s.Config("shop")
		config.User, config.Passwd = "app", "secret"
		through := startEngine(t, s, config, "shop_catalog")

		for _, n := range snippets {
			t.Run(strings.ReplaceAll(n.name, " ", "-"), func(t *testing.T) { n.try(t, blocks, through) })
		}
	})
}

func (n snippet) try(t *testing.T, blocks map[string]string, a account) {
	t.Helper()
	shell(t, n.name, t.TempDir(), n.needs)
	dir := t.TempDir()
	for name, block := range n.blocks {
		if blocks[block] == "" {
			t.Fatalf("%s has no block %q", connectPage, block)
		}
		text := strings.NewReplacer("4000", a.port).Replace(blocks[block])
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = a.user, a.password, "tcp", net.JoinHostPort(a.host, a.port), a.database
	db := mysqltest.Open(t, c)
	db.SetMaxOpenConns(1)
	tables := []string{
		"session", "sessions", "shop_session", "django_migrations", "schema_migrations",
		"ar_internal_metadata",
	}
	run(t, db, "DROP TABLE IF EXISTS "+strings.Join(tables, ", "))
	shell(t, "", dir, n.run)

	var name, create string
	if err := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+n.table).Scan(&name, &create); err != nil ||
		!strings.Contains(create, "+ INTERVAL 1 DAY */ /*T![ttl] TTL_ENABLE='ON'") {
		t.Errorf("%s has no TTL: %s, %v", n.table, create, err)
	}
}

// shell runs commands. If they are what a snippet needs, their failure means that it is missing.
func shell(t *testing.T, missingFor, dir, commands string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, "sh", "-c", commands)
	cmd.Dir = dir
	modules := ""
	if strings.Contains(commands, "$modules") {
		installed, err := nodeModules()
		if err != nil {
			missing(t, "node", err)
		}
		modules = filepath.Join(installed, "node_modules")
	}

	cmd.Env = append(os.Environ(), "here="+path(t, "."), "modules="+modules)
	out, err := cmd.CombinedOutput()
	if err != nil && missingFor != "" {
		_, packages, _ := strings.Cut(commands, "# ")
		missing(t, missingFor, errors.New("install "+packages))
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, tail(string(out)))
	}
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
