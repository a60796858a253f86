package plan

import (
	"fmt"
	"math"
)

// Way is how a job reaches the expired rows.
type Way string

// The ways, as stored with the job and shown.
const (
	WalkIndex  Way = "index"  // the index on time from its old end, rows deleted by key
	WalkRange  Way = "range"  // the paging key in bounded blocks
	DeleteSome Way = "limit"  // bounded DELETE … LIMIT, for tables without a key
	GoWhole    Way = "whole"  // a partition leaves its table by DDL
	Census     Way = "census" // as WalkRange, and which rows expire soon is written into the expiry queue
	DrainQueue Way = "queue"  // the expiry queue from its old end, rows deleted by key
	Refuse     Way = "refuse" // nothing affordable
)

// Choice is the plan of a job and the reason for it, in one sentence.
type Choice struct {
	Way    Way
	Reason string
}

const (
	// randomCost is how much more a row costs by the index on time than by its block if its
	// neighbours in time are not its neighbours in the table: measured at 5 to 20 times.
	randomCost = 10
	// orderedCost is the same when time runs with the key.
	orderedCost = 2
	// keylessRows bounds tables that have neither a key to walk nor an index on time: every batch
	// may read them whole.
	keylessRows = 200_000
)

// Choose picks the way for a table. indexScan is the setting ttl_enable_index_scan.
func (s *Statements) Choose(e Estimate, indexScan bool) Choice {
	if s.KeyIndex == "" {
		return s.chooseKeyless(e)
	}
	if s.TimeIndex == "" {
		return Choice{WalkRange, fmt.Sprintf("key %s in blocks: no index is led by %s", s.KeyIndex, s.Expired.Column)}
	}
	if !indexScan {
		return Choice{WalkRange, fmt.Sprintf("key %s in blocks: ttl_enable_index_scan is OFF", s.KeyIndex)}
	}

	due := percent(e.Share()) + " of the rows are due"
	if !e.Exact {
		due = "about " + due
	}

	order := "unordered"
	if e.Correlated {
		order = "in step"
	}

	switch {
	case e.Expired*randomCost <= e.Rows:
		return Choice{WalkIndex, fmt.Sprintf("index %s from the old end: %s", s.TimeIndex, due)}
	case e.Correlated && e.Expired*orderedCost <= e.Rows:
		return Choice{WalkIndex, fmt.Sprintf("index %s from the old end: %s, time and key are in step", s.TimeIndex,
			due)}
	default:
		return Choice{WalkRange, fmt.Sprintf("key %s in blocks: %s, time and key are %s, cheaper than index %s",
			s.KeyIndex, due, order, s.TimeIndex)}
	}
}

func (s *Statements) chooseKeyless(e Estimate) Choice {
	switch {
	case s.TimeIndex != "":
		return Choice{
			DeleteSome,
			fmt.Sprintf("bounded deletes by index %s: the table has no unique key of whole columns without NULLs",
				s.TimeIndex),
		}
	case e.Rows <= keylessRows:
		return Choice{
			DeleteSome,
			"bounded deletes: the table has no unique key of whole columns without NULLs, and is small",
		}
	default:
		return Choice{
			Refuse,
			fmt.Sprintf("the table has about %d rows and neither a unique key of whole columns without NULLs nor an "+
				"index led by %s; add one of them", e.Rows, s.Expired.Column),
		}
	}
}

// Second is the choice if the server objects to the first: the other way along an index, or none.
func (s *Statements) Second(first Choice, why error) Choice {
	if first.Way == WalkIndex && s.KeyIndex != "" {
		return Choice{WalkRange, fmt.Sprintf("key %s in blocks: %v", s.KeyIndex, why)}
	}
	return Choice{Refuse, fmt.Sprintf("no index can be read in order: %v", why)}
}

// percent writes a share for people, never rounded to all or nothing.
func percent(share float64) string {
	const dust = 1e-9 // by which a product of floats may fall short of the intended figure
	switch p := 100*share + dust; {
	case p <= dust:
		return "0 %"
	case p < 0.01:
		return "less than 0.01 %"
	case p < 1:
		return fmt.Sprintf("%.2f %%", math.Floor(100*p)/100)
	case p < 10:
		return fmt.Sprintf("%.1f %%", math.Floor(10*p)/10)
	default:
		return fmt.Sprintf("%.0f %%", math.Floor(p))
	}
}
