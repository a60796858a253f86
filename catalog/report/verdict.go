package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Verdict answers "is it healthy?" in one word, and says why in a few.
type Verdict struct {
	Word   Word
	Detail string
}

// Word is the answer itself.
type Word string

// The words of a verdict, worst first.
const (
	Disarmed      Word = "DISARMED"       // held until a person looks; the detail says why
	NeedsApproval Word = "NEEDS APPROVAL" // the brake holds it
	FallingBehind Word = "FALLING BEHIND" // rows become due faster than they go, or partitions are not made in time
	Paused        Word = "PAUSED"         // by a person or a signal, or because nothing is deleted anywhere
	WindowClosed  Word = "WAITING FOR WINDOW"
	Off           Word = "OFF"     // TTL_ENABLE='OFF'
	Waiting       Word = "WAITING" // the first job has not started
	KeepingUp     Word = "KEEPING UP"
)

// Words are all verdicts, worst first.
func Words() []Word {
	return []Word{Disarmed, NeedsApproval, FallingBehind, Paused, WindowClosed, Off, Waiting, KeepingUp}
}

// Waits reports whether a table with this verdict runs no job until somebody or something lets it.
func (w Word) Waits() bool {
	switch w {
	case Disarmed, NeedsApproval, Paused, WindowClosed, Off:
		return true
	case FallingBehind, Waiting, KeepingUp:
	}
	return false
}

// String is the word, and the detail in brackets.
func (v Verdict) String() string {
	if v.Detail == "" {
		return string(v.Word)
	}
	return string(v.Word) + " (" + v.Detail + ")"
}

// Judge gives the verdict. What stops a policy for good comes before what stops it temporarily, and
// both before speed.
func Judge(w *Work) Verdict {
	p := w.Policy
	switch p.State {
	case catalog.PolicyDisarmed, catalog.PolicyDormant:
		return Verdict{Disarmed, p.Reason}
	case catalog.PolicyStaged, catalog.PolicyStopped:
		return Verdict{Paused, "a DDL statement on the table is under way"}
	case catalog.PolicyArmed:
	}

	if !p.Rule.Enabled {
		return Verdict{Off, "TTL_ENABLE='OFF'"}
	}
	if p.Unread != "" {
		return Verdict{Disarmed, p.Unread}
	}
	if v, asks := judgeApproval(w); asks {
		return v
	}
	if w.Halt != "" {
		return Verdict{Paused, w.Halt}
	}
	if p.Paused.InForce(w.Now) {
		return Verdict{Paused, pausedBy(p.Paused)}
	}
	if w.Held != "" {
		return Verdict{Paused, w.Held}
	}
	if v, stopped := judgeState(w); stopped {
		return v
	}
	if w.Stuck != "" {
		return Verdict{FallingBehind, "no partitions are made ahead: " + w.Stuck}
	}

	return judgeSpeed(w)
}

// pausedBy says who paused and for how long.
func pausedBy(p catalog.Pause) string {
	parts := []string{"PAUSE TTL"}
	if p.By != "" {
		parts = append(parts, "by "+p.By)
	}
	if !p.Until.IsZero() {
		parts = append(parts, "until "+catalog.Moment(p.Until))
	}
	if p.Reason != "" {
		parts = append(parts, p.Reason)
	}
	return strings.Join(parts, " ")
}

// judgeApproval looks whether a person has to say yes first.
func judgeApproval(w *Work) (Verdict, bool) {
	p := w.Policy
	switch {
	case w.Job != nil && w.Job.State == catalog.JobNeedsApproval:
		return Verdict{NeedsApproval, w.Job.Reason}, true
	case w.Job == nil && p.Approval.Required && !p.Approved():
		return Verdict{NeedsApproval, p.Approval.Reason + "; " + catalog.ApprovalOf(p.Table, p.Version, 0)}, true
	default:
		return Verdict{}, false
	}
}

// jobByNow is the open job as its windows have it: the engine writes into it what it waits for when it comes by, but a
// window closes and opens with the statement that changes it, and the clock.
func (w *Work) jobByNow() *catalog.Job {
	if w.Job == nil || w.Halt != "" || !w.Policy.Armed() || w.Policy.Paused.InForce(w.Now) ||
		w.Job.State == catalog.JobNeedsApproval {
		return w.Job
	}

	j, closed := *w.Job, w.timing().Closed(w.Now, w.Window)
	switch {
	case closed != "":
		j.State, j.Reason = catalog.JobWaitingWindow, closed
	case j.State == catalog.JobWaitingWindow:
		j.State, j.Reason = catalog.JobRunning, ""
	}
	if j.State != w.Job.State {
		if w.Job.State != catalog.JobRunning {
			j.Waited += max(0, w.Now.Sub(j.StateAt))
		}
		j.StateAt = w.Now
	}
	return &j
}

// judgeState looks at what a job waits for, and whether one that is due has to wait for a window.
func judgeState(w *Work) (Verdict, bool) {
	closed := w.timing().Closed(w.Now, w.Window)
	switch {
	case closed != "" && (w.Job != nil || !w.due().After(w.Now)):
		return Verdict{WindowClosed, closed}, true
	case w.Job == nil:
		return Verdict{}, false
	case w.Job.State == catalog.JobPaused:
		return Verdict{Paused, w.Job.Reason}, !w.Job.PausedByPerson() // who has resumed it
	default:
		return Verdict{Paused, w.Slowed}, w.stands()
	}
}

// stands reports whether signals let nothing of the open job go at present.
func (w *Work) stands() bool {
	return w.Job != nil && w.Job.State == catalog.JobRunning && w.Slowed != "" && w.Share <= 0
}

// judgeSpeed compares the time a job takes, or will take, with the time until the next one should
// start.
func judgeSpeed(w *Work) Verdict {
	interval := max(w.Interval(), minInterval)
	if goal := w.timing().MaxLag; goal > 0 && w.lag() > goal {
		why := fmt.Sprintf("rows may have been due for %s, TTL_MAX_LAG is %s", ddl.FormatDuration(w.lag()),
			ddl.FormatDuration(goal))
		if w.Slowed != "" {
			why += "; " + w.slowedThough()
		}
		return Verdict{FallingBehind, why}
	}

	switch {
	case w.Job != nil && w.Job.Counts.Deleted > 0, w.Job != nil && !w.lastFailed():
		return judgeRunning(w, interval)
	case w.Last == nil:
		return Verdict{Waiting, "the first job has not started"}
	case w.lastFailed():
		return Verdict{FallingBehind, "the last job ended as " + string(w.Last.State) + ": " + w.Last.Reason}
	case w.Now.Sub(w.NextRun()) > max(min(interval, overdue), minInterval) && !w.NextRun().IsZero():
		return Verdict{FallingBehind, "no job has started since " + catalog.Moment(w.lastStarted()) +
			": is an engine running?"}
	default:
		return Verdict{Word: KeepingUp}
	}
}

// slowedThough is what holds a job back, or that nothing does although others are: as the engine
// decides it.
func (w *Work) slowedThough() string {
	if w.Slowed == "" || w.Share <= 0 {
		return w.Slowed
	}
	late := w.Job != nil && w.Now.Sub(w.Job.DueSince()) > w.timing().MaxLag
	if late && w.Policy.Terms.Options.Fresh {
		return "at full speed, by its TTL_PRIORITY"
	}
	if floor := w.Policy.Terms.Options.Floor; float64(floor) > 100*w.Share {
		return fmt.Sprintf("at %d %% of its speed, its %s, held back by %s", floor, ddl.OptionFloor, w.SlowedBy)
	}
	return w.Slowed
}

func judgeRunning(w *Work, interval time.Duration) Verdict {
	end := w.Now
	if p := ProgressOf(w.Job, w.Now); p.LeftKnown {
		end = end.Add(p.Left)
	}
	if end.Sub(w.Job.CreatedAt) <= interval {
		return Verdict{KeepingUp, w.slowedThough()}
	}
	f := FlowOf(w)
	why := fmt.Sprintf("needs %s rows/s, has %s", grouped(needed(w, f, interval)), grouped(round(f.Outflow)))
	if w.Slowed != "" {
		why += "; " + w.slowedThough()
	}
	return Verdict{FallingBehind, why}
}

// needed is the rate at which the backlog and what comes in would be gone when the next job should
// start, or within one interval when that moment has passed.
func needed(w *Work, f Flow, interval time.Duration) uint64 {
	left := w.Job.CreatedAt.Add(interval).Sub(w.Now)
	if left < interval/10 {
		left = interval
	}
	return round(math.Ceil(float64(f.Backlog)/left.Seconds() + f.Inflow))
}

func round(f float64) uint64 { return uint64(math.Round(max(f, 0))) }
