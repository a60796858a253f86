package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/transcript"
)

// TestDocumentation runs every block of SQL in the README and in docs through the proxy, on both
// servers, and compares what the statements print with what the page shows. The blocks of a page
// run in their order, in one database. Words behind ```sql say how a block is to be run: root (by
// the administrator), mariadb or mysql (only there). Two pages have tests of their own:
// sql-admin.md, whose answers are compared to the letter (TestReferencePage), and the tutorial,
// whose commands run as well (TestTutorial). A block that is not meant to be run, such as a
// grammar, is no ```sql.
func TestDocumentation(t *testing.T) {
	pages := markdown(t)
	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) {
		for _, page := range pages {
			blocks := sqlOf(t, page, string(server.Flavour))
			if len(blocks) == 0 {
				continue
			}

			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				runPage(t, server, blocks)
			})
		}
	})
}

// markdown lists the pages.
func markdown(t *testing.T) []string {
	t.Helper()
	pages := []string{filepath.Join("..", "README.md")}
	err := filepath.WalkDir(filepath.Join("..", "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") &&
			!slices.Contains([]string{"sql-admin.md", filepath.Base(tutorialPage)}, filepath.Base(path)) {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// sqlOf returns the blocks of a page that are statements for this server.
func sqlOf(t *testing.T, page, flavour string) []transcript.Block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(transcript.Blocks(string(text)), func(b transcript.Block) bool {
		elsewhere := slices.Contains(b.Words, "mariadb") || slices.Contains(b.Words, "mysql")
		isSQL := b.Language == "sql" || b.Language == "console" && len(transcript.Steps(b)) > 0
		return !isSQL || elsewhere && !slices.Contains(b.Words, flavour)
	})
}

func runPage(t *testing.T, server *mysqltest.Server, blocks []transcript.Block) {
	t.Helper()
	s, vars, p := startStory(t, server)
	for _, b := range blocks {
		f := flags{user: vars["APP"], db: vars["DB"], at: p.Addr}
		if slices.Contains(b.Words, "root") {
			f.user = "root"
			// what the page calls by its usual name
			b.Text = strings.ReplaceAll(b.Text, "ttlproxy.", vars["CATALOG"]+".")
		}
		followBlock(t, s.client(f), b, strings.NewReplacer(vars["APP"], "app", vars["DB"], "shop"))
	}
}

// followBlock runs the statements of a block in one session, and compares what they print with what
// the page shows.
func followBlock(t *testing.T, c *mysql.Config, b transcript.Block, usual *strings.Replacer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	conn, err := mysqltest.Open(t, c).Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	for _, step := range transcript.Steps(b) {
		printed, err := say(ctx, conn, step)
		if err != nil {
			t.Errorf("%s: %v", step.Statement, err)
			return
		}
		if printed = usual.Replace(printed); len(step.Shown) > 0 && !transcript.Matches(step.Shown, printed) {
			t.Errorf("%s\nprints\n%s\nand the page shows\n%s", step.Statement, printed, strings.Join(step.Shown, "\n"))
		}
		if m := declaration.FindStringSubmatch(step.Statement); m != nil &&
			!strings.Contains(step.Statement, "TTL_CRON") {
			awaitFirstJob(ctx, t, conn, m[1])
		}
	}
}

var declaration = regexp.MustCompile(`(?s)^(?:CREATE|ALTER) TABLE (\w+).*\bTTL =`)

// say runs a statement and prints what a client would. An error that the page shows is part of
// that.
func say(ctx context.Context, conn *sql.Conn, step transcript.Step) (string, error) {
	r, err := one(ctx, conn, step.Statement)
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && len(step.Shown) > 0 &&
		strings.HasPrefix(step.Shown[0], "ERROR") {
		return fmt.Sprintf("ERROR %d (%s): %s", refused.Number, refused.SQLState, refused.Message), nil
	}
	if err != nil || len(r.columns) == 0 {
		return "", err
	}
	return transcript.Print(r.columns, r.rows, step.Vertical), nil
}

// awaitFirstJob waits for the job that a table gets when its TTL is declared, so that the next one
// is the page's.
func awaitFirstJob(ctx context.Context, t *testing.T, conn *sql.Conn, table string) {
	t.Helper()
	for {
		r, err := one(ctx, conn, "SHOW TTL JOBS FOR "+table+" WHERE Verdict LIKE 'WAITING%' OR State = 'running'")
		if err != nil {
			t.Fatal(err)
		}
		if len(r.rows) == 0 {
			return
		}

		select {
		case <-ctx.Done():
			t.Fatalf("the first job has not ended: %v", r.rows)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
