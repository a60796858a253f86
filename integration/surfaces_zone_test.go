package integration

import (
	"fmt"
	"strings"
	"time"
)

// inZone demands that times in sentences are those of the session's zone, as in columns.
func (s *surfaces) inZone() {
	s.Helper()
	s.sql("SET time_zone = '+05:30'")
	s.sql("PAUSE TTL FOR fresh UNTIL '2037-01-02 03:04:05'")

	verdict := s.list("SHOW TTL TABLES FOR fresh")[0]["Verdict"]
	if !strings.HasSuffix(verdict, " until 2037-01-02 03:04:05+05:30)") {
		s.Errorf("in a session of +05:30 the verdict is %s", verdict)
	}

	view := s.list(fmt.Sprintf("SELECT * FROM %s.policies WHERE `table` = '%s.fresh'", s.store.Schema(), s.table))[0]
	if view["state"] != "paused" || !strings.Contains(view["reason"], "until 2037-01-01 21:34:05+00:00") {
		s.Errorf("the view says %v", view)
	}

	execAll(s.T, s.direct, "UPDATE "+s.store.Schema()+".pause SET until = UTC_TIMESTAMP(6) WHERE policy_id <> 0")
	view = s.list(fmt.Sprintf("SELECT * FROM %s.policies WHERE `table` = '%s.fresh'", s.store.Schema(), s.table))[0]
	if view["state"] != "armed" {
		s.Errorf("when the pause is over, the view says %v", view)
	}

	s.sql("PAUSE TTL FOR paused")
	s.serverInZone()
	s.explainedInZone()
	s.sql("SET time_zone = DEFAULT")
}

// serverInZone looks at times in what is said of the server.
func (s *surfaces) serverInZone() {
	s.Helper()
	execAll(s.T, s.direct, "UPDATE "+s.store.Schema()+".generation SET advanced_at = '2026-01-02 03:04:05'",
		"INSERT INTO "+s.store.Schema()+".lineage (server, uuid, host, port, first_at, last_at)"+
			" VALUES ('elsewhere', 'x', 'x', 1, '2026-01-01 00:00:00', '2026-01-02 23:59:58')")
	s.must(s.store.Hold(s.Context(), "a copy, made at 2026-01-02 12:00:00+00:00"))

	const seen, others, held = "2026-01-02 08:34:05+05:30, ", "elsewhere (last seen 2026-01-03 05:29:58+05:30)",
		"a copy, made at 2026-01-02 17:30:00+05:30"
	for query, want := range map[string]map[string]string{
		"SHOW TTL STATUS": {
			"Last_seen_at_work": seen, "Other_servers": others, "Halted_by": "the server is held: " + held,
		},
		"TRUST TTL SERVER":                    {"Last seen at work": seen, "Other servers": others, "Policies held": held},
		"SHOW TTL EVENTS WHERE Kind = 'held'": {"held": held},
	} {
		said := map[string]string{}
		for _, row := range s.list(query) {
			said[row["Variable_name"]+row["Property"]+row["Kind"]] = row["Value"] + row["Text"]
		}
		for name, text := range want {
			if !strings.HasPrefix(said[name], text) {
				s.Errorf("in a session of +05:30 %s says %s of %s, want %s", query, said[name], name, text)
			}
		}
	}

	s.trust()
	execAll(s.T, s.direct, "UPDATE "+s.store.Schema()+".generation SET advanced_at = NULL",
		"DELETE FROM "+s.store.Schema()+".lineage WHERE server = 'elsewhere'")
}

// explainedInZone looks at the days of EXPLAIN TTL.
func (s *surfaces) explainedInZone() {
	s.Helper()
	days := 0
	for _, line := range s.list("EXPLAIN TTL keeps") {
		if until, is := strings.CutPrefix(line["Property"], "due until "); is {
			days++
			at, err := time.Parse("2006-01-02 15:04:05-07:00", until)
			if ahead := time.Until(at).Hours() / 24; err != nil || !strings.HasSuffix(until, "+05:30") ||
				ahead < float64(days)-1 || ahead > float64(days) {
				s.Errorf("day %d of EXPLAIN TTL is until %s (%v)", days, until, err)
			}
		}
	}
	if days != 7 {
		s.Errorf("EXPLAIN TTL tells of %d days", days)
	}
}
