package transcript

import (
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	Language string   // the first word behind the fence
	Words    []string // the others
	Text     string
}

// The indent of a fence inside a list is part of every line of its block.
var fence = regexp.MustCompile("(?ms)^([ ]*)```([^\n`]*)\n(.*?)^[ ]*```[ ]*$")

// Blocks returns the fenced blocks of a page in their order.
func Blocks(page string) []Block {
	var out []Block
	for _, m := range fence.FindAllStringSubmatch(page, -1) {
		b := Block{Text: strings.ReplaceAll("\n"+m[3], "\n"+m[1], "\n")[1:]}
		if words := strings.Fields(m[2]); len(words) > 0 {
			b.Language, b.Words = words[0], words[1:]
		}
		out = append(out, b)
	}
	return out
}

// Step is a statement, and what the page shows of its answer: nothing if Shown is empty.
type Step struct {
	Statement string
	Vertical  bool // ended by \G
	Shown     []string
}

// Steps reads a block of SQL or of a terminal. A block of a terminal without the client's prompt
// has none.
func Steps(b Block) []Step {
	var r reader
	for line := range strings.SplitSeq(strings.TrimRight(b.Text, "\n"), "\n") {
		if b.Language == "console" {
			r.console(line)
		} else {
			r.sql(line)
		}
	}
	r.end()
	return r.steps
}

// reader collects a statement until it ends, then what is shown below it.
type reader struct {
	steps     []Step
	statement []string
	open      bool // inside a statement
	below     bool // right below one: comments show what it printed
}

func (r *reader) sql(line string) {
	switch shown, isComment := strings.CutPrefix(line, "--"); {
	case isComment && r.below:
		r.shown(strings.TrimPrefix(shown, " "))
	case strings.TrimSpace(line) == "":
		r.below = false
	case !isComment:
		r.add(line)
	}
}

func (r *reader) console(line string) {
	const prompt, more = "mysql> ", "    -> "
	if rest, ok := strings.CutPrefix(line, prompt); ok {
		r.add(rest)
	} else if rest, ok := strings.CutPrefix(line, more); ok && r.open {
		r.add(rest)
	} else if r.below {
		r.shown(line)
	}
}

// trailingComment explains a statement to people. It stands behind the statement's end, where it
// cannot be part of a string.
var trailingComment = regexp.MustCompile(`(;|\\G)\s+-- .*$`)

func (r *reader) add(line string) {
	line = trailingComment.ReplaceAllString(line, "$1")
	r.statement, r.open, r.below = append(r.statement, line), true, false
	if strings.HasSuffix(strings.TrimSpace(line), ";") || strings.HasSuffix(line, `\G`) {
		r.end()
	}
}

func (r *reader) end() {
	text, vertical := strings.CutSuffix(strings.TrimSpace(strings.Join(r.statement, "\n")), `\G`)
	if text = strings.TrimSuffix(text, ";"); text != "" {
		r.steps = append(r.steps, Step{Statement: text, Vertical: vertical})
	}
	r.statement, r.open, r.below = nil, false, true
}

func (r *reader) shown(line string) {
	last := &r.steps[len(r.steps)-1]
	last.Shown = append(last.Shown, line)
}
