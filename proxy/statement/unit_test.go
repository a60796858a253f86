package statement

import (
	"strings"
	"testing"
)

// TestEveryUnit declares a TTL in each unit, reads it from SHOW CREATE TABLE, and declares it from
// that text again.
func TestEveryUnit(t *testing.T) {
	onStage(t, func(t *theatre) {
		// seconds need an index that the TTL column leads
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME, KEY (created))")
		for written, want := range map[string]string{
			"5000000 MICROSECOND": "", "3 second": "3 SECOND", "2.5 SECOND": "", "30 MINUTE": "", "10 HOUR": "",
			"1 DAY": "", "2 WEEK": "", "3 MONTH": "", "1 QUARTER": "", "7 YEAR": "",
			"1 SQL_TSI_SECOND": "1 SECOND", "1 SQL_TSI_MINUTE": "1 MINUTE", "1 SQL_TSI_HOUR": "1 HOUR",
			"1 sql_tsi_day": "1 DAY", "1 SQL_TSI_WEEK": "1 WEEK",
			"1 SQL_TSI_MONTH": "1 MONTH", "1 SQL_TSI_QUARTER": "1 QUARTER", "1 SQL_TSI_YEAR": "1 YEAR",
			"'3.000001' SECOND_MICROSECOND": "", "'1:2.5' MINUTE_MICROSECOND": "", "'1:30' MINUTE_SECOND": "",
			"'1:2:3.5' HOUR_MICROSECOND": "", "'1:2:3' HOUR_SECOND": "",
			"'1:30' HOUR_MINUTE": "", "'1 2:3:4.5' DAY_MICROSECOND": "", "'1 2:3:4' DAY_SECOND": "",
			"'1 2:3' DAY_MINUTE": "", "\"1 12\" DAY_HOUR": "'1 12' DAY_HOUR", "'1-6' YEAR_MONTH": "",
			"_utf8mb4'1-6' YEAR_MONTH": "'1-6' YEAR_MONTH", "TRUE DAY": "", "0 DAY": "", "'7' DAY": "", "1.4 DAY": "",
		} {
			if want == "" {
				want = written
			}

			t.exec("ALTER TABLE t TTL = created + INTERVAL " + written)
			shown := t.created("t")
			_, clause, found := strings.Cut(shown, "/*T![ttl] TTL=")
			if !found || !strings.HasPrefix(clause, "`created` + INTERVAL "+want+" */") {
				t.Errorf("%s: got %s", written, shown)
			}

			t.exec("ALTER TABLE t REMOVE TTL", "ALTER TABLE t /*T![ttl] TTL="+clause)
			if again := t.created("t"); again != shown {
				t.Errorf("%s: got %s, want %s", written, again, shown)
			}
		}

		for written, code := range map[string]uint16{
			"1 DAYS": 1064, "-1 DAY": 1064, "1": 1064, "DAY": 1064, "(1) DAY": 1064, "1+1 DAY": 1064, "NOW() DAY": 1064,
			"@a DAY": 1064, "? DAY": 1064,
			"'-20' DAY": 1525, "'one + two' MINUTE_SECOND": 1525, "8030 YEAR": 1525, "99999999999 DAY": 1525,
			"NULL DAY": 1525, "'1:2:3' HOUR_MINUTE": 1525, "'' DAY": 1525,
		} {
			t.fails(code, "ALTER TABLE t TTL = created + INTERVAL "+written)
		}
	})
}
