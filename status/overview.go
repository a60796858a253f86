package status

import (
	"net/http"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
)

// overview is the answer of /api/v1/status: everything the first page needs but its charts.
type overview struct {
	Now     time.Time   `json:"now"`     // of the database
	Version string      `json:"version"` // of this proxy
	Server  string      `json:"server"`  // the backend, for people
	Actions bool        `json:"actions"` // a token is configured
	Enabled bool        `json:"enabled"` // ttl_job_enable
	Held    string      `json:"held"`    // why the whole server is held; empty when it is not
	Halted  *haltView   `json:"halted"`  // why nothing is deleted anywhere
	Stopped string      `json:"stopped"` // which engines delete nothing while others do; empty when none
	Paused  *pauseView  `json:"paused"`  // of everything
	Tables  []tableView `json:"tables"`
	Jobs    []jobView   `json:"jobs"` // open ones
	Nodes   []nodeView  `json:"nodes"`

	Throttle throttleView `json:"throttle"`

	Backends []report.Backend `json:"backends"` // as this proxy sees them
}

// haltView says why nothing is deleted, in a word and in a sentence.
type haltView struct {
	Code report.HaltCode `json:"code"`
	Why  string          `json:"why"`
}

// pauseView says who paused, why and until when.
type pauseView struct {
	By     string     `json:"by"`
	Reason string     `json:"reason"`
	Since  time.Time  `json:"since"`
	Until  *time.Time `json:"until"`
}

func (a *api) getStatus(w http.ResponseWriter, r *http.Request) {
	l, err := a.view.read(r.Context())
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}
	a.answer(w, r, a.overview(l, a.readerOf(r)), nil)
}

func (a *api) overview(l *snapshot, who reader) overview {
	o := overview{
		Now: l.Now, Version: a.cfg.Version, Server: serverName(a.store.Server()), Actions: a.hasToken(),
		Enabled: l.Enabled, Stopped: l.SomeStopped(), Paused: viewPause(l.Pause.Pause),
		Jobs: []jobView{}, Nodes: []nodeView{}, Backends: []report.Backend{},
	}
	if a.cfg.Backends != nil {
		o.Backends = a.cfg.Backends()
	}

	if halt := l.Halt(); halt.Why != "" {
		o.Halted = &haltView{halt.Code, halt.Why}
	}
	if l.Pause.Held {
		o.Held = l.Pause.HeldReason
	}

	work := l.Work()
	o.Tables = make([]tableView, len(work))
	report.Share(len(work), func(from, to int) {
		for i := from; i < to; i++ {
			o.Tables[i] = viewTable(work[i], who)
		}
	})

	for _, w := range work {
		if w.Job != nil {
			o.Jobs = append(o.Jobs, viewOpen(&l.Snapshot, w))
		}
	}

	o.Throttle = viewThrottle(l)
	for _, n := range l.Nodes {
		o.Nodes = append(o.Nodes, viewNode(l, n))
	}

	return o
}

func viewPause(p catalog.Pause) *pauseView {
	if !p.Paused {
		return nil
	}
	return &pauseView{By: p.By, Reason: p.Reason, Since: p.Since, Until: moment(p.Until)}
}

// moment is null in JSON for no time.
func moment(t time.Time) *time.Time { return known(!t.IsZero(), t) }

// known is null in JSON for what is not known.
func known[T any](known bool, v T) *T {
	if !known {
		return nil
	}
	return &v
}
