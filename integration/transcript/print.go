package transcript

import (
	"fmt"
	"strings"
)

// Print prints rows as the command-line clients do.
func Print(names []string, rows [][]string, vertical bool) string {
	switch {
	case len(rows) == 0:
		return "Empty set\n"
	case vertical:
		return upright(names, rows)
	default:
		return boxed(names, rows)
	}
}

func upright(names []string, rows [][]string) string {
	width := 0
	for _, n := range names {
		width = max(width, len(n))
	}
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "%s %d. row %s\n", strings.Repeat("*", 27), i+1, strings.Repeat("*", 27))
		for k, v := range row {
			fmt.Fprintf(&b, "%*s: %s\n", width, names[k], v)
		}
	}
	return b.String()
}

func boxed(names []string, rows [][]string) string {
	widths := make([]int, len(names))
	for _, row := range append([][]string{names}, rows...) {
		for i, v := range row {
			widths[i] = max(widths[i], len([]rune(v)))
		}
	}

	var rule, b strings.Builder
	for _, w := range widths {
		rule.WriteString("+" + strings.Repeat("-", w+2))
	}

	rule.WriteString("+\n")
	line := func(row []string) {
		for i, v := range row {
			b.WriteString("| " + v + strings.Repeat(" ", widths[i]-len([]rune(v))+1))
		}
		b.WriteString("|\n")
	}

	b.WriteString(rule.String())
	line(names)
	b.WriteString(rule.String())
	for _, row := range rows {
		line(row)
	}

	b.WriteString(rule.String())
	return b.String()
}
