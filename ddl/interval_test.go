package ddl

import (
	"errors"
	"testing"
	"time"
)

func TestIntervalSpan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		literal string
		unit    Unit
		want    Span
	}{
		{"10", Hour, Span{Micros: 10 * hour}},
		{"0", Day, Span{}},
		{"TRUE", Day, Span{Micros: day}},
		{"false", Day, Span{}},
		{"'3'", Month, Span{Months: 3}},
		{"' 3 '", Month, Span{Months: 3}},
		{"2", Quarter, Span{Months: 6}},
		{"3.1415", Year, Span{Months: 36}},
		{"1.5", Day, Span{Micros: 2 * day}},
		{"'1.0'", Day, Span{Micros: day}},
		{"1.5", Second, Span{Micros: 1_500_000}},
		{".5", Second, Span{Micros: 500_000}},
		{"1.", Second, Span{Micros: second}},
		{"1.23456789", Second, Span{Micros: 1_234_567}},
		{"90", Second, Span{Micros: 90 * second}},
		{"7", Microsecond, Span{Micros: 7}},
		{"'1:3'", HourMinute, Span{Micros: hour + 3*minute}},
		{"1.3", HourMinute, Span{Micros: hour + 3*minute}},
		{"'90'", MinuteSecond, Span{Micros: 90 * second}},
		{"'2 3:4:5.06'", DayMicrosecond, Span{Micros: 2*day + 3*hour + 4*minute + 5*second + 60_000}},
		{"'1.5'", SecondMicrosecond, Span{Micros: 1_500_000}},
		{"'1-6'", YearMonth, Span{Months: 18}},
		{"'2 12'", DayHour, Span{Micros: 2*day + 12*hour}},
		{"8029", Year, Span{Months: 8029 * 12}},
	}
	for _, tt := range tests {
		got, err := Interval{tt.literal, tt.unit}.Span()
		if err != nil || got != tt.want {
			t.Errorf("INTERVAL %s %s: got %+v, %v, want %+v", tt.literal, tt.unit, got, err, tt.want)
		}
	}
}

func TestIntervalSpanRefused(t *testing.T) {
	t.Parallel()
	for _, i := range []Interval{
		{"'one + two'", MinuteSecond},
		{"'-20'", Day},
		{"'1.5'", Day},
		{"''", Day},
		{"NULL", Day},
		{"1e3", Day},
		{"0x10", Day},
		{"'1:2:3'", HourMinute},
		{"8030", Year},
		{"10000", Year},
		{"99999999999", Day},
		{"99999999999999999999", Microsecond},
		{"9223372036854775807", Week},
		{"1", "DAYS"},
	} {
		_, err := i.Span()
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != CodeWrongValue {
			t.Errorf("%v: got %v, want error %d", i, err, CodeWrongValue)
		}
	}
}

func TestParseUnit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		word string
		want Unit
		ok   bool
	}{
		{"day", Day, true},
		{"sql_tsi_Month", Month, true},
		{"SQL_TSI_MICROSECOND", "", false},
		{"SQL_TSI_DAY_HOUR", "", false},
		{"day_hour", DayHour, true},
	}
	for _, tt := range tests {
		if got, ok := ParseUnit(tt.word); ok != tt.ok || ok && got != tt.want {
			t.Errorf("ParseUnit(%q): got %v, %v, want %v, %v", tt.word, got, ok, tt.want, tt.ok)
		}
	}

	if _, ok := ParseUnit("DAYS"); ok {
		t.Error("DAYS was read as a unit")
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	const dayLong = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "0h": 0, "1h": time.Hour, "24h": dayLong, "1d": dayLong, "1h30m": 90 * time.Minute,
		"30m1h": 90 * time.Minute, "1h100m": 160 * time.Minute, "1d10000m": dayLong + 10000*time.Minute,
		"1.5d": 36 * time.Hour, "1d1.5h": dayLong + 90*time.Minute, "30s": 30 * time.Second, "1m30s": 90 * time.Second,
		"8.645124531235h": 31122448312446,
	} {
		if got, err := Duration(text); err != nil || got != want {
			t.Errorf("Duration(%q): got %v, %v, want %v", text, got, err, want)
		}
	}

	for _, text := range []string{
		"1", "h", "10.10.255h", "10hourxx", "1H", "1 h", "-1h", "@monthly", "1ms", "1d5", ".",
		"1e3h", "9999999999d",
	} {
		if got, err := Duration(text); !errors.Is(err, ErrDuration) {
			t.Errorf("Duration(%q): got %v, %v, want a refusal", text, got, err)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	if got, want := Quote("a`b"), "`a``b`"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := QuoteTable("s", "t"), "`s`.`t`"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
