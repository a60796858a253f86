package setting

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Allowed describes the values of a setting, for people.
func (s Setting) Allowed() string {
	switch s.Kind {
	case KindBool:
		return "ON, OFF"
	case KindInt:
		low := strconv.FormatInt(s.Min, 10)
		if s.Name == RunningTasks {
			low = "-1, " + low
		}
		if s.Max == math.MaxInt64 {
			return low + " or more"
		}

		return fmt.Sprintf("%s to %d", low, s.Max)
	case KindDuration:
		if s.Max > 0 {
			return fmt.Sprintf("duration, %ds to %ds", s.Min, s.Max)
		}
		return "duration such as 1d12h, 30m, 45s"
	case KindTime:
		return "HH:MM or HH:MM +ZZZZ"
	case KindZone:
		return "name, offset, or empty"
	case KindDate:
		return "YYYY-MM-DD"
	case KindRates:
		return "rows per second by the clock, or empty"
	case KindHosts:
		return "hosts with ports, separated by commas, or empty"
	case KindChoice:
		return strings.Join(s.Choices, ", ")
	}
	return ""
}

// Markdown returns the setting as a row of the reference page.
func (s Setting) Markdown() string {
	name := "`" + s.Name + "`"
	if s.Alias != "" {
		name += "<br>`" + s.Alias + "`"
	}
	value := s.Default
	if value == "" {
		value = "''"
	}

	return fmt.Sprintf("| %s | `%s` | %s | %s | %s | %s |\n", name, value, s.Allowed(), s.Scope, s.Text, s.Effect)
}
