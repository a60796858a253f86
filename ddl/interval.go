package ddl

import (
	"errors"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Interval is the age at which a row expires, as it was declared.
type Interval struct {
	Literal string // the amount as SQL: 3, 1.5, '1:30', TRUE
	Unit    Unit
}

// String prints the interval as SQL.
func (i Interval) String() string { return "INTERVAL " + i.Literal + " " + string(i.Unit) }

// Span is a length of time in two measures that calendars cannot convert into each other.
type Span struct {
	Months int64
	Micros int64
}

var (
	errNotNumber = errors.New("the amount is not a number, or not numbers for each part of the unit")
	errNegative  = errors.New("the amount is negative")
	errFraction  = errors.New("only SECOND takes a fraction inside quotes")
	errTooLong   = errors.New("it reaches beyond the year 9999")
)

// Span computes the length of the interval by MySQL's rules, and refuses with error 1525 what MySQL
// would silently turn into another number: text that is not a number, negative amounts, and amounts
// beyond the year 9999.
func (i Interval) Span() (Span, error) {
	span, err := i.span()
	if err != nil {
		return Span{}, WrongInterval(i, err.Error())
	}
	return span, nil
}

func (i Interval) span() (Span, error) {
	unit := i.Unit
	amount, quoted := unquoteAmount(i.Literal)
	amount = strings.TrimSuffix(amount, ".")
	if unit == Second && strings.Contains(amount, ".") { // seconds alone keep their fraction
		unit, amount = SecondMicrosecond, "0"+amount
	}

	counts, known := fields[unit]
	if !known {
		return Span{}, errors.New("the unit is unknown")
	}

	numbers, err := splitAmount(amount, quoted, unit, len(counts))
	if err != nil {
		return Span{}, err
	}

	var total Span
	skipped := len(counts) - len(numbers)
	for n, number := range numbers {
		if err := total.add(counts[skipped+n], number); err != nil {
			return Span{}, err
		}
	}

	return total, total.check()
}

// unquoteAmount strips the quotes of a string amount, and turns the booleans into numbers.
func unquoteAmount(literal string) (amount string, quoted bool) {
	if n := len(literal); n >= 2 && literal[0] == '\'' && literal[n-1] == '\'' {
		return strings.TrimSpace(literal[1 : n-1]), true
	}
	switch strings.ToUpper(literal) {
	case "TRUE":
		return "1", false
	case "FALSE":
		return "0", false
	}
	return literal, false
}

// splitAmount returns the numbers of an amount; fewer than the unit counts means that the leftmost
// were left out.
func splitAmount(amount string, quoted bool, unit Unit, counts int) ([]int64, error) {
	amount = strings.TrimPrefix(amount, "+")
	switch {
	case strings.HasPrefix(amount, "-"):
		return nil, errNegative
	case counts == 1:
		return wholeNumber(amount, quoted)
	}

	parts := strings.FieldsFunc(amount, func(r rune) bool { return strings.ContainsRune(" :.,-/;", r) })
	if len(parts) == 0 || len(parts) > counts {
		return nil, errNotNumber
	}

	numbers := make([]int64, len(parts))
	for n, part := range parts {
		if unit.countsMicroseconds() && n == len(parts)-1 {
			part = (part + "00000")[:6] // '1.5' is one second and 500000 microseconds
		}

		number, err := natural(part)
		if err != nil {
			return nil, err
		}

		numbers[n] = number
	}

	return numbers, nil
}

// wholeNumber reads the amount of a simple unit. MySQL rounds a decimal, but truncates a quoted
// one, which would expire rows earlier than written, so that is refused.
func wholeNumber(amount string, quoted bool) ([]int64, error) {
	whole, fraction, decimal := strings.Cut(amount, ".")
	if whole == "" && fraction != "" {
		whole = "0"
	}

	number, err := natural(whole)
	if err != nil || !decimal {
		return []int64{number}, err
	}
	if !isDigits(fraction) {
		return nil, errNotNumber
	}
	if quoted && strings.Trim(fraction, "0") != "" {
		return nil, errFraction
	}
	if fraction != "" && fraction[0] >= '5' {
		number++
	}

	return []int64{number}, nil
}

// natural reads a number without a sign. One that overflows is too long for any unit.
func natural(digits string) (int64, error) {
	if digits == "" || !isDigits(digits) {
		return 0, errNotNumber
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errTooLong
	}
	return number, nil
}

func isDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// add adds number times unit, and refuses to overflow.
func (s *Span) add(unit Span, number int64) error {
	months, ok1 := multiply(unit.Months, number)
	micros, ok2 := multiply(unit.Micros, number)
	if !ok1 || !ok2 || s.Months+months < 0 || s.Micros+micros < 0 {
		return errTooLong
	}
	s.Months += months
	s.Micros += micros
	return nil
}

func multiply(a, b int64) (int64, bool) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return int64(low), high == 0 && int64(low) >= 0
}

// check refuses a span that does not fit between 1970 and 9999.
func (s Span) check() error {
	const longest = 8030 * 366 * day // in microseconds, well inside an int64
	if s.Months > 8030*12 || s.Micros > longest {
		return errTooLong
	}
	end := time.Date(1970, 1+time.Month(s.Months), 1, 0, 0, 0, 0, time.UTC)
	end = end.Add(time.Duration(s.Micros%day)*time.Microsecond).AddDate(0, 0, int(s.Micros/day))
	if end.Year() > 9999 {
		return errTooLong
	}
	return nil
}
