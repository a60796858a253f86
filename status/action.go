package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// order is the body of an action; all of it is optional.
type order struct {
	Reason  string  `json:"reason"`  // of a pause or an approval
	Minutes int     `json:"minutes"` // of a pause; 0 until somebody resumes
	Version uint64  `json:"version"` // that approve means; 0 for the present one
	Seen    *uint64 `json:"seen"`    // rows that were due when whoever approves looked; nil to count them now
	UpTo    *uint64 `json:"up_to"`   // rows that approve is for, and not one more
}

// done is the answer of an action.
type done struct {
	Message string   `json:"message"`
	Jobs    []uint64 `json:"jobs,omitempty"`
}

// change is what one action does to a policy.
type change func(ctx context.Context, a *api, actor string, p catalog.Policy, o order) (done, error)

// maxOrder bounds the body of an action, maxPause the length of a pause, maxReason its reason.
const (
	maxOrder  = 16 << 10
	maxPause  = 366 * 24 * 60
	maxReason = 1000
)

func readOrder(w http.ResponseWriter, r *http.Request) (o order, err error) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil && !errors.Is(err, io.EOF) {
		return o, &answerError{http.StatusBadRequest, "body: " + err.Error()}
	}
	switch {
	case o.Minutes < 0 || o.Minutes > maxPause:
		return o, &answerError{http.StatusBadRequest, fmt.Sprintf("minutes: want 0 to %d", maxPause)}
	case len(o.Reason) > maxReason:
		return o, &answerError{http.StatusBadRequest, fmt.Sprintf("reason: want at most %d bytes", maxReason)}
	}
	return o, nil
}

// onPolicy runs an action on the policy that the path names.
func (a *api) onPolicy(do change) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o, err := readOrder(w, r)
		if err != nil {
			a.answer(w, r, nil, err)
			return
		}

		p, err := a.store.Policy(r.Context(), pathTable(r))
		if errors.Is(err, catalog.ErrNoPolicy) {
			err = &answerError{http.StatusNotFound, "table " + pathTable(r).String() + " has no TTL policy"}
		}

		var out done
		if err == nil {
			out, err = do(r.Context(), a, actor(r), p, o)
		}

		a.acted(w, r, out, err)
	}
}

func (a *api) pauseAll(w http.ResponseWriter, r *http.Request) {
	o, err := readOrder(w, r)
	var out done
	if err == nil {
		out, err = pausePolicy(r.Context(), a, actor(r), catalog.Policy{ID: catalog.PauseAll}, o)
	}
	a.acted(w, r, out, err)
}

func (a *api) resumeAll(w http.ResponseWriter, r *http.Request) {
	out, err := resumePolicy(r.Context(), a, actor(r), catalog.Policy{ID: catalog.PauseAll}, order{})
	a.acted(w, r, out, err)
}

// acted logs an action and answers it.
func (a *api) acted(w http.ResponseWriter, r *http.Request, out done, err error) {
	a.view.forget()
	if err == nil {
		a.log.InfoContext(r.Context(), "action over http", slog.String("path", r.URL.Path),
			slog.String("actor", actor(r)))
	}
	a.answer(w, r, out, err)
}

// actor names who acts, in events and pauses: all the token tells is where it came from.
func actor(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = "a local socket"
	}
	return "status page at " + host
}

func pausePolicy(ctx context.Context, a *api, actor string, p catalog.Policy, o order) (done, error) {
	var until time.Time
	text := "Paused. Nothing more is deleted until somebody resumes."
	if o.Minutes > 0 {
		now, err := a.store.Clock(ctx)
		if err != nil {
			return done{}, err
		}
		until = now.Add(time.Duration(o.Minutes) * time.Minute)
		text = "Paused. Nothing more is deleted until " + catalog.Moment(until) + "."
	}
	return done{Message: text}, a.store.Pause(ctx, actor, p.ID, o.Reason, until)
}

func resumePolicy(ctx context.Context, a *api, actor string, p catalog.Policy, _ order) (done, error) {
	return done{Message: "Resumed. Jobs continue where they stopped."}, a.store.Resume(ctx, actor, p.ID)
}

func cancelJob(ctx context.Context, a *api, actor string, p catalog.Policy, _ order) (done, error) {
	jobs, err := a.store.Cancel(ctx, actor, p.ID)
	if err == nil && len(jobs) == 0 {
		err = &answerError{http.StatusConflict, "table " + p.Table.String() + " has no open job"}
	}
	return done{Message: "Cancelled. Nothing more is deleted before the next job.", Jobs: jobs}, err
}

func approvePolicy(ctx context.Context, a *api, actor string, p catalog.Policy, o order) (done, error) {
	version := p.Version
	if o.Version != 0 {
		version = o.Version
	}
	rows, err := a.consent(ctx, actor, p, version, o)
	if errors.Is(err, catalog.ErrPolicyChanged) {
		err = &answerError{http.StatusConflict, "the policy has changed since you looked at it: look again"}
	}
	if errors.Is(err, catalog.ErrTableInDDL) {
		err = &answerError{http.StatusConflict, "a statement is changing the table: look again when it has ended"}
	}
	return done{Message: fmt.Sprintf("Approved version %d: %s.", version, report.Agreed(rows))}, err
}

// consent is for the rows that were shown to whoever approves, as APPROVE TTL JOB is.
func (a *api) consent(
	ctx context.Context, actor string, p catalog.Policy, version uint64, o order,
) (rows *uint64, err error) {
	c := catalog.Consent{UpTo: o.UpTo, Seen: o.Seen, Reason: o.Reason}
	if c.UpTo == nil && c.Seen == nil {
		if c.Seen, err = plan.DueNow(ctx, a.db, a.store, p); err != nil {
			return nil, err
		}
	}
	return a.store.Consent(ctx, actor, p.ID, version, c)
}

func runJob(ctx context.Context, a *api, actor string, p catalog.Policy, _ order) (done, error) {
	s, err := report.ReadOf(ctx, a.store, p.ID)
	if err == nil {
		err = mayStart(s, &p)
	}
	if err != nil {
		return done{}, err
	}
	_, err = a.store.RequestRun(ctx, actor, p.ID)
	return done{Message: "A job starts within seconds."}, err
}

// mayStart says why no job of a policy can start now.
func mayStart(s *report.Snapshot, p *catalog.Policy) error {
	if err := s.MayRun(p); err != nil {
		return &answerError{http.StatusConflict, err.Error()}
	}
	if open := s.OpenJobsOf(p.ID); len(open) > 0 {
		return &answerError{http.StatusConflict, fmt.Sprintf("job %d is open already", open[0].ID)}
	}
	return nil
}
