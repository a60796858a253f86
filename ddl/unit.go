package ddl

import "strings"

// Unit is the unit of an INTERVAL, in upper case as SHOW CREATE TABLE prints it.
type Unit string

// The units of MySQL. A composite unit reads its amount from several numbers, as in '1:30'
// HOUR_MINUTE.
const (
	Microsecond       Unit = "MICROSECOND"
	Second            Unit = "SECOND"
	Minute            Unit = "MINUTE"
	Hour              Unit = "HOUR"
	Day               Unit = "DAY"
	Week              Unit = "WEEK"
	Month             Unit = "MONTH"
	Quarter           Unit = "QUARTER"
	Year              Unit = "YEAR"
	SecondMicrosecond Unit = "SECOND_MICROSECOND"
	MinuteMicrosecond Unit = "MINUTE_MICROSECOND"
	MinuteSecond      Unit = "MINUTE_SECOND"
	HourMicrosecond   Unit = "HOUR_MICROSECOND"
	HourSecond        Unit = "HOUR_SECOND"
	HourMinute        Unit = "HOUR_MINUTE"
	DayMicrosecond    Unit = "DAY_MICROSECOND"
	DaySecond         Unit = "DAY_SECOND"
	DayMinute         Unit = "DAY_MINUTE"
	DayHour           Unit = "DAY_HOUR"
	YearMonth         Unit = "YEAR_MONTH"
)

// Lengths of the units in the two measures of a Span.
const (
	second = 1_000_000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// fields says what each number of a unit's amount counts, from left to right.
var fields = map[Unit][]Span{
	Microsecond:       {{Micros: 1}},
	Second:            {{Micros: second}},
	Minute:            {{Micros: minute}},
	Hour:              {{Micros: hour}},
	Day:               {{Micros: day}},
	Week:              {{Micros: 7 * day}},
	Month:             {{Months: 1}},
	Quarter:           {{Months: 3}},
	Year:              {{Months: 12}},
	SecondMicrosecond: {{Micros: second}, {Micros: 1}},
	MinuteMicrosecond: {{Micros: minute}, {Micros: second}, {Micros: 1}},
	MinuteSecond:      {{Micros: minute}, {Micros: second}},
	HourMicrosecond:   {{Micros: hour}, {Micros: minute}, {Micros: second}, {Micros: 1}},
	HourSecond:        {{Micros: hour}, {Micros: minute}, {Micros: second}},
	HourMinute:        {{Micros: hour}, {Micros: minute}},
	DayMicrosecond:    {{Micros: day}, {Micros: hour}, {Micros: minute}, {Micros: second}, {Micros: 1}},
	DaySecond:         {{Micros: day}, {Micros: hour}, {Micros: minute}, {Micros: second}},
	DayMinute:         {{Micros: day}, {Micros: hour}, {Micros: minute}},
	DayHour:           {{Micros: day}, {Micros: hour}},
	YearMonth:         {{Months: 12}, {Months: 1}},
}

// ParseUnit reads a unit in any letter case, and the SQL_TSI_ synonyms of the simple ones.
func ParseUnit(word string) (Unit, bool) {
	word = strings.ToUpper(word)
	short, synonym := strings.CutPrefix(word, "SQL_TSI_")
	unit := Unit(short)
	counts, known := fields[unit]
	if synonym && (len(counts) != 1 || unit == Microsecond) {
		return "", false
	}
	return unit, known
}

// countsMicroseconds reports whether the last number of the amount is a fraction of a second.
func (u Unit) countsMicroseconds() bool {
	return strings.HasSuffix(string(u), "_MICROSECOND")
}
