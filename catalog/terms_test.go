package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestRuleThatIsNotUnderstood: what another version may have written is read and shown, but not
// armed. Everything else in the catalog stays readable.
func TestRuleThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p, other := b.declare(t, b.table(t, "a")), b.declare(t, b.table(t, "b"))

		for what, change := range map[string]string{
			"option TTL_SPARE is unknown": "options = JSON_OBJECT('TTL_SPARE', '1')",
			"option TTL_CRON='whenever'":  "options = JSON_OBJECT('TTL_CRON', 'whenever')",
			"TTL_JOB_INTERVAL='1w'":       "job_interval = '1w'",
			`"Mars/Olympus"`:              "time_zone = 'Mars/Olympus'",
			"1 DECADE":                    "interval_unit = 'DECADE'",
		} {
			b.exec(t, "UPDATE {policy} SET "+change+" WHERE id = ?", p.ID)
			got, err := b.PolicyByID(t.Context(), p.ID)
			if err != nil || got.State != PolicyArmed || got.Armed() || got.Terms.Read() ||
				!strings.Contains(got.Unread, what) {
				t.Errorf("%s: got armed %v, unread %q, %v", change, got.Armed(), got.Unread, err)
			}
			if got, err := b.PolicyByID(t.Context(), other.ID); err != nil || !got.Armed() || !got.Terms.Read() {
				t.Errorf("%s: the other policy: got armed %v, unread %q, %v", change, got.Armed(), got.Unread, err)
			}

			r := p.Rule
			b.exec(t, "UPDATE {policy} SET options = JSON_OBJECT(), job_interval = ?, time_zone = ?, interval_unit = ?"+
				" WHERE id = ?", r.JobInterval, r.TimeZone, r.Unit, p.ID)
		}

		if got, err := b.PolicyByID(t.Context(), p.ID); err != nil || !got.Armed() {
			t.Errorf("as it was: got armed %v, unread %q, %v", got.Armed(), got.Unread, err)
		}
	})
}

func TestTerms(t *testing.T) {
	t.Parallel()
	rule := Rule{
		Literal: "1", Unit: "DAY", JobInterval: "1d12h", TimeZone: "Europe/Prague",
		Options: map[string]string{ddl.OptionDeleteRate: "100", ddl.OptionWindow: "22:00-06:00"},
	}

	got, err := rule.Terms()
	if err != nil || got.Timing.Interval != 36*time.Hour || got.Timing.Zone.String() != "Europe/Prague" ||
		got.Timing.Window.String() != "22:00-06:00" || got.Options.DeleteRate.String() != "100" || !got.Read() {
		t.Errorf("got %+v, %v", got, err)
	}
	if zero := (Terms{}); zero.Read() {
		t.Error("terms of no rule count as read")
	}
}
