package setting

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the reference pages")

// page is docs/reference/settings.md.
func page() string {
	var b strings.Builder
	b.WriteString(intro)
	for _, s := range All() {
		b.WriteString(s.Markdown())
	}
	return b.String()
}

const intro = `# Settings

Set with ` + "`SET GLOBAL name = value`" + ` through the proxy, read with ` + "`SELECT @@name`, `SHOW VARIABLES LIKE '%ttl%'` or `SHOW TTL VARIABLES`" + `.
They are kept in the catalog and hold for all proxies of it. Ten have a second name that TiDB knows. Numbers out of range are clamped with
warning 1292; where that would lift a limit, as a negative one of a setting that 0 switches off, or more than 100 percent, they are
refused (1231), unless TiDB has the setting, too. ` + "`SET GLOBAL name = DEFAULT`" + ` leaves a setting as if nobody had ever set it;
NULL is refused.

Once the statement has answered, no row goes by the old value, on any node: the batches that were planned by it are refused, and work
goes on, within a second, by the new one. The last column says what else there is to a change. A value that a node does not understand,
as another version may have stored, stops that node until it is set anew: it could be a limit. It is shown as it is stored.

Options of the program itself are in [options.md](options.md).

| setting | default | values | counts per | meaning | a change holds |
|---|---|---|---|---|---|
`

func TestSettingsPageIsUpToDate(t *testing.T) {
	t.Parallel()
	const file = "../../docs/reference/settings.md"
	if *update {
		if err := os.WriteFile(file, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != page() {
		t.Errorf("%s (%v) is not what the table of settings says: run `make docs`", file, err)
	}
}
