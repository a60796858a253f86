package plan

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Brake holds a job that would delete surprisingly much, until somebody approves it. It judges
// every run before it starts, and says how much the run may delete, whatever the estimate said.
type Brake struct {
	MaxRows int64 // ttl_brake_max_rows
	Rows    int64 // ttl_brake_rows
	Percent int64 // ttl_brake_percent: 0 holds every run, 100 none
	Factor  int64 // ttl_brake_factor, or TTL_BRAKE_FACTOR of the table; 0 judges a table only once

	RunRows    int64 // TTL_MAX_ROWS of the table; 0 for none
	RunPercent int64 // TTL_MAX_PERCENT of the table; 0 for none
}

// NewBrake takes the brake's settings.
func NewBrake(v setting.Values) Brake {
	return Brake{
		MaxRows: v.Int(setting.BrakeMaxRows), Rows: v.Int(setting.BrakeRows), Percent: v.Int(setting.BrakePercent),
		Factor: v.Int(setting.BrakeFactor),
	}
}

// Of is the brake of a table, with what its rule says.
func (b Brake) Of(o ddl.Options) Brake {
	if o.BrakeFactor != nil {
		b.Factor = *o.BrakeFactor
	}
	b.RunRows, b.RunPercent = o.MaxRows, o.MaxPercent
	return b
}

const (
	// From this many rows on, most of a table counts as a surprise, whatever the settings say.
	nearlyWholePercent = 90
	nearlyWholeRows    = 1000
	// margin is how much more than expected a job may delete before it asks again, since what is
	// expected is an estimate.
	margin = 1.2
)

// Run is a job before it starts, as the brake sees it.
type Run struct {
	Estimate
	Usual Usual
	// Known says that the policy has been judged before, in this version: by a person, or by the
	// brake when its table had rows to judge by.
	Known bool
}

// Ruling is what the brake says of a run.
type Ruling struct {
	Why   string  // it waits for approval; empty when it need not
	Bound *uint64 // rows that it may delete without being asked; nil for any number
}

// Judge says whether a run is a surprise, and what would be one.
func (b Brake) Judge(r Run) Ruling {
	ruling := b.first(r)
	if r.Known && b.Percent > 0 { // which at 0 asks about every run, as about the first one
		ruling = b.later(r)
	}
	return b.absolute(r, ruling)
}

// first judges a policy that is new, was changed, or has only seen a tiny table.
func (b Brake) first(r Run) Ruling {
	part := func(percent int64) int64 { return r.Rows * percent / 100 }
	limit := min(b.MaxRows, max(b.Rows, part(b.Percent)), max(nearlyWholeRows, part(nearlyWholePercent)))
	if b.Percent == 0 {
		limit = 0
	}
	return b.ruling(b.surprise(r), limit)
}

// later judges a policy that has been at work. Far more than usual is a surprise, if it is also a
// lot.
func (b Brake) later(r Run) Ruling {
	if b.Factor == 0 {
		return Ruling{}
	}

	limit := max(b.Rows, r.Rows*b.Percent/100)
	if usual := float64(b.Factor) * r.Usual.Rows(); usual > float64(limit) {
		limit = int64(math.Min(usual, math.MaxInt64/2))
	}

	why := ""
	if b.Percent < 100 && r.Expired > limit {
		usual := ""
		if r.Usual.Runs > 0 {
			usual = fmt.Sprintf("ttl_brake_factor = %d times what is usual, than ", b.Factor)
		}
		why = fmt.Sprintf("%s, more than %sttl_brake_rows = %d and ttl_brake_percent = %d",
			r.Due(), usual, b.Rows, b.Percent)
	}

	return b.ruling(why, limit)
}

// ruling bounds a run by the most that would not have been held, and the margin.
func (b Brake) ruling(why string, limit int64) Ruling {
	if b.Percent >= 100 {
		return Ruling{}
	}
	return Ruling{Why: why, Bound: rows(margin * float64(limit))}
}

// absolute adds what the table itself says of one run.
func (b Brake) absolute(run Run, r Ruling) Ruling {
	limit := func(most int64, option string, n int64) {
		if run.Expired > most && r.Why == "" {
			r.Why = fmt.Sprintf("%s, more than %s = %d", run.Due(), option, n)
		}
		if bound := rows(float64(most)); r.Bound == nil || *bound < *r.Bound {
			r.Bound = bound
		}
	}

	if b.RunRows > 0 {
		limit(b.RunRows, ddl.OptionMaxRows, b.RunRows)
	}
	if b.RunPercent > 0 {
		limit(run.Rows*b.RunPercent/100, ddl.OptionMaxPercent, b.RunPercent)
	}

	return r
}

func rows(n float64) *uint64 {
	whole := uint64(math.Ceil(max(n, 0)))
	return &whole
}

// Consented is the ruling on a run that a person has agreed to: to a number of rows, or to what it
// finds. A number that a person named is kept to the row; any other also covers what needs no
// approval.
func (r Ruling) Consented(run Run, to *uint64, exactly bool) Ruling {
	if r.Bound == nil && !exactly {
		return Ruling{}
	}

	bound := rows(margin * float64(run.Expired))
	if to != nil {
		bound = to
	}
	if !exactly && r.Bound != nil && *r.Bound > *bound {
		bound = r.Bound
	}

	why := ""
	if uint64(max(run.Expired, 0)) > *bound {
		why = fmt.Sprintf("%s, and %d were approved", run.Due(), *bound)
	}

	return Ruling{Why: why, Bound: bound}
}

// Tiny reports whether a table has too few rows for anything to be a surprise: having judged it
// then says nothing about what comes later.
func (e Estimate) Tiny() bool { return e.Rows <= nearlyWholeRows }

// Harmless reports whether too few rows are due for any part of a table to be a surprise, also where an index that was
// asked errs by four times.
func (e Estimate) Harmless() bool {
	return 4*e.Expired <= nearlyWholeRows || e.DueExact && e.Expired <= nearlyWholeRows
}

// Tiny looks whether a table is, for whom what the server believes of it is not enough.
func Tiny(ctx context.Context, q tables.Querier, table catalog.Table) (bool, error) {
	found, err := QueryKey(ctx, q, fmt.Sprintf("SELECT 1 FROM %s LIMIT %d, 1", table, nearlyWholeRows), 1)
	if err != nil {
		return false, fmt.Errorf("count up to %d rows of %s: %w", nearlyWholeRows, table, err)
	}
	return found == nil, nil
}

// surprise says why so many rows are too many for a policy that has not been at work; empty when they
// are not.
func (b Brake) surprise(r Run) string {
	percent := int64(100 * r.Share())
	switch {
	case b.Percent >= 100:
		return ""
	case b.Percent == 0 && r.Expired > 0:
		return fmt.Sprintf("%s, and ttl_brake_percent is 0", r.Due())
	case r.Expired > b.MaxRows:
		return fmt.Sprintf("%s, more than ttl_brake_max_rows = %d", r.Due(), b.MaxRows)
	case r.Expired > b.Rows && percent >= b.Percent:
		return fmt.Sprintf("%s, more than ttl_brake_rows = %d and ttl_brake_percent = %d", r.Due(), b.Rows, b.Percent)
	case r.Rows > nearlyWholeRows && percent >= nearlyWholePercent:
		return fmt.Sprintf("%s, nearly the whole table", r.Due())
	default:
		return ""
	}
}

// Due says how many rows are due, and how many usually are, in words.
func (r Run) Due() string { return r.Against(r.Usual.Figure()) }

// Against says how many rows are due, and how many usually are, in words; nil is what nobody knows.
func (e Estimate) Against(usual *uint64) string {
	text := fmt.Sprintf("%s of %s rows (%s) are due, ",
		about(e.Expired, e.DueExact), about(e.Rows, e.Exact), percent(e.Share()))
	if usual == nil {
		return text + "nobody knows yet how many are usual"
	}
	return text + fmt.Sprintf("usual are about %d", *usual)
}

// about writes a number that was counted, or only estimated.
func about(n int64, exact bool) string {
	if exact {
		return strconv.FormatInt(n, 10)
	}
	return "about " + strconv.FormatInt(n, 10)
}
