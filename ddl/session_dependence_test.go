package ddl

import (
	"strings"
	"testing"
)

// TestSessionDependence: what the servers make of expressions (MariaDB without, MySQL with
// parentheses and introducers), and what people write.
func TestSessionDependence(t *testing.T) {
	t.Parallel()
	columns := map[string]Column{
		"n": {Type: "BIGINT"}, "dt": {Type: "DATETIME"}, "da": {Type: "DATE"}, "ts": {Type: "TIMESTAMP"},
		"s": {Type: "VARCHAR"}, "we`ird x": {Type: "DATETIME"}, "r": {Type: "DOUBLE"},
		"v":     {Type: "DATETIME", Virtual: true, Expression: "`dt` + interval 1 day"},
		"vts":   {Type: "DATETIME", Virtual: true, Expression: "`ts`"},
		"vnum":  {Type: "DATETIME", Virtual: true, Expression: "`n`"},
		"loop":  {Type: "DATETIME", Virtual: true, Expression: "`loop2`"},
		"loop2": {Type: "DATETIME", Virtual: true, Expression: "`loop`"},
		"kept":  {Type: "DATETIME", Expression: "from_unixtime(`n`)"}, // STORED
	}

	find := func(name string) (Column, bool) {
		c, found := columns[strings.ToLower(name)]
		c.Name = name
		return c, found
	}

	for _, c := range []struct{ expression, why string }{
		{"`dt`", ""},
		{"`v`", ""},
		{"`kept`", ""},
		{"`dt` + interval 10 day", ""},
		{"(`dt` + interval `n` day)", ""},
		{"'1970-01-01' + interval `n` second", ""},
		{"(_utf8mb4'1970-01-01' + interval `n` second)", ""},
		{"(TIMESTAMP'1970-01-01 00:00:00' + interval ((`n` * 2) + 1) second)", ""},
		{"TIMESTAMP'1970-01-01 00:00:00' + interval `n` * 2 + 1 second", ""},
		{"DATE'2020-01-01' + interval `n` day + interval -1 hour", ""},
		{"`dt` - interval '1 2' day_hour", ""},
		{"(`dt` - interval _utf8mb4'1 2' day_hour)", ""},
		{"interval 1 day + dt", ""},
		{"`dt` + interval `n` DIV 1000 second", ""},
		{"(`dt` + interval (`n` % 7) month)", ""},
		{"if(`n`,`dt`,NULL)", ""},
		{"if(((`n` <> 0) or (`n` between 1 and 3)),`dt`,NULL)", ""},
		{"case when `n` = 1 and `dt` is not null then `dt` else `da` end", ""},
		{"coalesce(`dt`,`da`,`we``ird x`,_utf8mb4'2037-12-31 23:59:59')", ""},
		{"greatest(`dt`,nullif(`da`,`dt`))", ""},
		{"cast(`dt` as date)", ""},
		{"cast(`dt` as datetime(6))", ""},
		{"last_day(date(`dt`))", ""},
		{"DATE_ADD(dt, INTERVAL n DAY)", ""},
		{"adddate(`dt`, 3)", ""},
		{"TIMESTAMPADD(DAY, n, dt)", ""},

		{"", "an expression that the server does not show"},
		{"`ts`", "the TIMESTAMP column `ts`, which every session reads in its own zone"},
		{"`vts`", "the TIMESTAMP column `ts`, which every session reads in its own zone"},
		{"`ts` + interval 0 second", "the TIMESTAMP column `ts`, which every session reads in its own zone"},
		{"if(`n`,`dt`,`ts`)", "the TIMESTAMP column `ts`, which every session reads in its own zone"},
		{"if(`ts` < '2020-01-01',`dt`,NULL)", "the TIMESTAMP column `ts`, which every session reads in its own zone"},
		{"cast(`ts` as datetime)", "the TIMESTAMP column `ts`, which every session reads in its own zone"},
		{"`loop`", "column `loop` itself"},
		{"from_unixtime(`n`)", "FROM_UNIXTIME()"},
		{"coalesce(`dt`,from_unixtime(`n`))", "FROM_UNIXTIME()"},
		{"dt + interval unix_timestamp(dt) second", "UNIX_TIMESTAMP()"},
		{"convert_tz(`dt`,'SYSTEM','+00:00')", "CONVERT_TZ()"},
		{"now()", "NOW()"},
		{"current_timestamp", "current_timestamp"},
		{"cast(`n` as datetime)", "a date where a number is, or a number where a date is"},
		{"`n`", "a number, which is a date only in some sql_mode"},
		{"`vnum`", "a number, which is a date only in some sql_mode"},
		{"`dt` + 1", "a date where a number is, or a number where a date is"},
		{"-`dt`", "a date where a number is, or a number where a date is"},
		{"if(`n`,`dt`,`n`)", "a date where a number is, or a number where a date is"},
		{"`dt` + interval `n` / 1000 second", "/"},
		{"`s`", "column `s` of type VARCHAR"},
		{"`dt` + interval `r` day", "column `r` of type DOUBLE"},
		{"json_value(`s`,'$.x')", "JSON_VALUE()"},
		{"_utf8mb4'2020-01-01 00:00:00+05:00' + interval `n` second", "the text '2020-01-01 00:00:00+05:00'"},
		{"TIMESTAMP'2020-01-01 00:00:00+05:00'", "the text '2020-01-01 00:00:00+05:00'"},
		{"'2020-02-31' + interval `n` second", "the text '2020-02-31'"},
		{"'20-01-01'", "the text '20-01-01'"},
		{"str_to_date(`s`,'%M')", "STR_TO_DATE()"},
		{"`dt` /*!80000 + interval 1 day */", "an expression that the server does not show"},
		{"`dt` `dt`", "`dt`"},
		{"`dt` + interval 1", "an expression that ends too soon"},
		{"`dt` + interval 1 `day`", "`day`"},
		{"if(`n`,`dt`", "an expression that ends too soon"},
		{"`other`.`dt`", "`other`"},
		{"nobody", "nobody"},
		{strings.Repeat("(", 10_000), "("},
	} {
		column := Column{Name: "d", Type: "DATETIME", Virtual: true, Expression: c.expression}
		if got := SessionDependence(column, find); got != c.why {
			t.Errorf("%.80s: got %q, want %q", c.expression, got, c.why)
		}
	}

	if got := SessionDependence(Column{Name: "t", Type: "TIMESTAMP", Virtual: true, Expression: "`dt`"},
		find); !strings.Contains(got, "own zone") {
		t.Errorf("a virtual TIMESTAMP: got %q", got)
	}
	if got := SessionDependence(columns["kept"], find); got != "" {
		t.Errorf("a stored column: got %q", got)
	}
}
