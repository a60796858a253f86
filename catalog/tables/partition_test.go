package tables

import (
	"fmt"
	"testing"
)

// TestEndOfAPartition reads bounds as servers print them, and nothing else.
func TestEndOfAPartition(t *testing.T) {
	const byRange, byColumns = "RANGE", "RANGE COLUMNS"
	for _, c := range []struct {
		kind                      Kind
		method, expression, below string
		want                      string
	}{
		{Datetime, byRange, "to_days(`a``t`)", "719529", "1970-01-02 00:00:00"},
		{Datetime, byRange, "TO_DAYS(`A``T`)", "738886", "2023-01-01 00:00:00"},
		{Timestamp, byRange, "unix_timestamp(`a``t`)", "86400", "1970-01-02 00:00:00"},
		{Timestamp, byRange, "floor(unix_timestamp(`a``t`))", "86400", "1970-01-02 00:00:00"},
		{Datetime, byRange, "to_seconds(`a``t`)", "62167305600", "1970-01-02 00:00:00"},
		{Date, byRange, "year(`a``t`)", "2024", "2024-01-01 00:00:00"},
		{Date, byColumns, "`a``t`", "'2024-02-29'", "2024-02-29 00:00:00"},
		{Datetime, byColumns, "`a``t`,`x`", "'2024-02-29 10:00:00.5','2020-01-01'", "2024-02-29 10:00:00.5"},

		{Timestamp, byColumns, "`a``t`", "'2024-02-29'", ""}, // in the zone of a session
		{Timestamp, byRange, "to_days(`a``t`)", "719529", ""},
		{Datetime, byRange, "unix_timestamp(`a``t`)", "86400", ""},
		{Timestamp, byRange, "to_seconds(`a``t`)", "62167305600", ""},
		{Datetime, byRange, "floor(to_seconds(`a``t`))", "62167305600", ""},
		{Datetime, byRange, "to_days(`at`)", "719529", ""},
		{Datetime, byRange, "to_days(`a``t`) + 1", "719529", ""},
		{Datetime, byRange, "to_days(`a``t`)", "MAXVALUE", ""},
		{Datetime, byRange, "to_days(`a``t`)", "99999999999999999999", ""},
		{Datetime, "LIST", "to_days(`a``t`)", "719529", ""},
		{Datetime, byColumns, "`a``t`", "MAXVALUE", ""},
		{Datetime, byColumns, "`a``tail`", "'2024-02-29'", ""},
		{Datetime, byColumns, "`x`,`a``t`", "'2024-02-29','2020-01-01'", ""},
		{Datetime, byColumns, "`a``t`", "'0000-00-00'", ""},
	} {
		got := ""
		p := Partition{Method: c.method, Expression: c.expression, Below: c.below}
		if end, known := p.End(Column{Name: "a`t", Kind: c.kind}); known {
			got = end.Format("2006-01-02 15:04:05.999999")
		}
		if got != c.want {
			t.Errorf("%s (%s), less than %s: got %q, want %q", c.method, c.expression, c.below, got, c.want)
		}
	}
}

// TestEndOfAnotherColumn: a bound is not taken for one of the TTL column if the servers tell the two apart.
func TestEndOfAnotherColumn(t *testing.T) {
	t.Parallel()
	for _, p := range []Partition{
		{Method: "RANGE", Expression: "to_days(`%s`)", Below: "719529"},
		{Method: "RANGE COLUMNS", Expression: "`%s`,`x`", Below: "'2024-02-29','2020-01-01'"},
	} {
		form := p.Expression
		for name, want := range map[string]bool{"aɂ": true, "Aɂ": true, "aɁ": false} {
			p.Expression = fmt.Sprintf(form, name)
			if _, known := p.End(Column{Name: "aɂ", Kind: Datetime}); known != want {
				t.Errorf("of %s it is known where column aɂ ends: %v, want %v", p.Expression, known, want)
			}
		}
	}
}
