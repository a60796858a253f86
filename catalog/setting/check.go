package setting

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Check reads a value for the setting and returns it as it is stored. A number out of range is
// clamped, with a warning, unless that would end a protection; anything else that is wrong is refused
// with MySQL's error. The zone is the session's, for a time of day without an offset.
func (s Setting) Check(value string, zone *time.Location) (stored string, warning, refusal *ddl.Error) {
	var err error
	switch s.Kind {
	case KindBool:
		stored, err = checkBool(value)
	case KindInt:
		return s.checkInt(value)
	case KindDuration:
		return s.checkDuration(value)
	case KindTime:
		stored, err = checkTime(value, zone)
	case KindZone:
		stored, err = checkZone(value)
	case KindDate:
		stored, err = checkDate(value)
	case KindRates:
		stored, err = checkRates(value)
	case KindHosts:
		stored, err = checkHosts(value)
	case KindChoice:
		stored, err = s.checkChoice(value)
	}

	if err == nil {
		err = hasRoom(stored)
	}
	if err != nil {
		return "", nil, s.wrongValue(value, err)
	}

	return stored, nil, nil
}

// longest is how many characters of a value the catalog has room for.
const longest = 1024

func hasRoom(stored string) error {
	if utf8.RuneCountInString(stored) > longest {
		return fmt.Errorf("it takes %d characters at most", longest)
	}
	return nil
}

// spelling is the name that errors call the setting by: the one that was used.
func (s Setting) spelling() string {
	if s.spelled != "" {
		return s.spelled
	}
	return s.Name
}

func (s Setting) wrongValue(value string, why error) *ddl.Error {
	text := fmt.Sprintf("Variable '%s' can't be set to the value of '%.200s': %v", s.spelling(), value, why) // as MySQL
	return &ddl.Error{Code: ddl.CodeWrongSetting, State: "42000", Message: text}
}

func (s Setting) wrongType() *ddl.Error {
	text := fmt.Sprintf("Incorrect argument type to variable '%s'", s.spelling())
	return &ddl.Error{Code: ddl.CodeWrongType, State: "42000", Message: text}
}

// RefuseNull is MySQL's error for NULL, which no setting takes: a variable that was never set, or a parameter that
// nobody has bound, must not lift a limit.
func (s Setting) RefuseNull() *ddl.Error {
	if s.Kind == KindInt {
		return s.wrongType()
	}
	return s.wrongValue("NULL", errors.New("DEFAULT returns it to its default"))
}

func (s Setting) truncated(value string) *ddl.Error {
	text := fmt.Sprintf("Truncated incorrect %s value: '%s'", s.spelling(), value)
	return &ddl.Error{Code: ddl.CodeTruncated, State: "22007", Message: text}
}

func checkBool(value string) (string, error) {
	switch strings.ToUpper(value) {
	case "ON", "1", "TRUE":
		return "ON", nil
	case "OFF", "0", "FALSE":
		return "OFF", nil
	}
	return "", errors.New("it takes ON or OFF")
}

func (s Setting) checkInt(value string) (string, *ddl.Error, *ddl.Error) {
	n, ok := new(big.Int).SetString(strings.TrimSpace(value), 10)
	if !ok && s.Alias == "" {
		return "", nil, s.wrongNumber(value)
	}
	if !ok { // as TiDB says it of its own
		return "", nil, s.wrongType()
	}
	if s.Name == RunningTasks && n.Cmp(big.NewInt(-1)) == 0 {
		return "-1", nil, nil
	}
	if !s.mayClamp(n) {
		return "", nil, s.wrongNumber(value)
	}

	clamped := n
	if low := big.NewInt(s.Min); n.Cmp(low) < 0 {
		clamped = low
	}
	if high := big.NewInt(s.Max); n.Cmp(high) > 0 {
		clamped = high
	}

	if clamped != n {
		return clamped.String(), s.truncated(value), nil
	}

	return n.String(), nil, nil
}

// mayClamp reports that a number may be clamped. The ends of what ours take may be more than numbers: 0 is no limit,
// and 100 percent never or always. Nobody has asked for that by a number beyond them.
func (s Setting) mayClamp(n *big.Int) bool {
	return s.Alias != "" || s.Min != 0 || n.Sign() >= 0 && (s.Max != 100 || n.Cmp(big.NewInt(s.Max)) <= 0)
}

func (s Setting) wrongNumber(value string) *ddl.Error {
	return s.wrongValue(value, fmt.Errorf("it takes a whole number, %s", s.Allowed()))
}

// checkDuration keeps the text. The minimum is in seconds.
func (s Setting) checkDuration(value string) (string, *ddl.Error, *ddl.Error) {
	d, err := ddl.Duration(value)
	if err == nil && value == "" { // which is 0 for a TTL_JOB_INTERVAL
		err = errors.New("it takes a " + s.Allowed())
	}
	if err == nil {
		err = hasRoom(value)
	}
	if err != nil {
		return "", nil, s.wrongValue(value, err)
	}
	if low := time.Duration(s.Min) * time.Second; d < low {
		return strconv.FormatInt(s.Min, 10) + "s", s.truncated(value), nil
	}
	if high := time.Duration(s.Max) * time.Second; s.Max > 0 && d > high {
		return strconv.FormatInt(s.Max, 10) + "s", s.truncated(value), nil
	}
	return value, nil, nil
}

// timeLayout is how a time of day is stored.
const timeLayout = "15:04 -0700"

func checkTime(value string, zone *time.Location) (string, error) {
	if t, err := time.Parse(timeLayout, value); err == nil {
		return t.Format(timeLayout), nil
	}
	hm, err := time.Parse("15:04", value)
	if err != nil {
		return "", errors.New("it takes HH:MM or HH:MM +ZZZZ")
	}
	if zone == nil {
		zone = time.UTC
	}
	return hm.Format("15:04 ") + time.Now().In(zone).Format("-0700"), nil
}

func checkZone(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	if _, err := ddl.Zone(value); err != nil {
		return "", errors.New("it takes a name such as 'Europe/Berlin' or an offset such as '+02:00'")
	}
	return value, nil
}

func checkRates(value string) (string, error) {
	if strings.TrimSpace(value) == "" {
		return "", nil
	}
	_, err := ddl.ParseRates(value)
	return value, err
}

func checkHosts(value string) (string, error) {
	all, err := readHosts(value)
	return strings.Join(all, ", "), err
}

func checkDate(value string) (string, error) {
	if t, err := time.Parse(time.DateOnly, value); err == nil && t.Year() > 0 {
		return value, nil
	}
	return "", errors.New("it takes YYYY-MM-DD")
}

func (s Setting) checkChoice(value string) (string, error) {
	if v := strings.ToLower(value); slices.Contains(s.Choices, v) {
		return v, nil
	}
	return "", fmt.Errorf("it takes one of %s", strings.Join(s.Choices, ", "))
}
