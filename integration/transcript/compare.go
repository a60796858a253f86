package transcript

import (
	"regexp"
	"strings"
)

// Matches reports whether a page may show an answer like this.
func Matches(shown []string, printed string) bool {
	return match(shown, strings.Split(strings.TrimRight(printed, "\n"), "\n"))
}

func match(shown, printed []string) bool {
	for i, line := range shown {
		if strings.TrimSpace(line) == "…" {
			for skip := range len(printed) + 1 {
				if match(shown[i+1:], printed[skip:]) {
					return true
				}
			}
			return false
		}

		if len(printed) == 0 || !matchLine(line, printed[0]) {
			return false
		}

		printed = printed[1:]
	}
	return len(printed) == 0
}

var (
	blanks = regexp.MustCompile(`\s+`)
	moment = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
)

func matchLine(shown, printed string) bool {
	even := func(s string) string {
		return moment.ReplaceAllString(blanks.ReplaceAllString(strings.TrimSpace(s), " "), "moment")
	}
	parts := strings.Split(even(shown), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(p))
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(even(printed))
}
