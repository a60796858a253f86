package status

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// Answers of the lists. Each is an object, so that fields can be added later.
type (
	historyAnswer struct {
		Jobs []jobView `json:"jobs"`
	}
	sessionsAnswer struct {
		Sessions []report.Session `json:"sessions"`
	}
	eventsAnswer struct {
		Events []eventView `json:"events"`
	}
	errorsAnswer struct {
		Errors []errorView `json:"errors"`
	}
	tasksAnswer struct {
		Tasks []taskView `json:"tasks"`
	}
	settingsAnswer struct {
		Settings []settingView `json:"settings"`
	}
	tableAnswer struct {
		Now    time.Time   `json:"now"`
		Tables []tableView `json:"tables"` // one, or one for each partition
		Jobs   []jobView   `json:"jobs"`   // open ones
	}
)

// settingView is one line of SHOW TTL VARIABLES.
type settingView struct {
	Name    string `json:"name"`
	Alias   string `json:"alias"` // TiDB's name
	Value   string `json:"value"`
	Default string `json:"default"`
	Text    string `json:"text"`
}

// Lists are short unless asked to be longer.
const (
	listLimit    = 100
	listLimitMax = 1000
)

// filter reads ?schema=, ?table= and ?limit=.
func (a *api) filter(r *http.Request) (catalog.Filter, error) {
	q := r.URL.Query()
	of := catalog.Table{Schema: q.Get("schema"), Name: q.Get("table")}
	f := catalog.Filter{Table: a.store.Stored(of), Limit: listLimit}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > listLimitMax {
			return f, &answerError{
				http.StatusBadRequest,
				"limit: want a number from 1 to " + strconv.Itoa(listLimitMax),
			}
		}
		f.Limit = n
	}
	return f, nil
}

func (a *api) getHistory(w http.ResponseWriter, r *http.Request) {
	f, err := a.filter(r)
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}

	l, err := a.view.read(r.Context())
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}

	jobs, err := a.store.History(r.Context(), f)
	out := historyAnswer{Jobs: []jobView{}}
	for i := range jobs {
		out.Jobs = append(out.Jobs, viewEnded(&l.Snapshot, &jobs[i]))
	}

	a.answer(w, r, out, err)
}

func (a *api) getEvents(w http.ResponseWriter, r *http.Request) {
	f, err := a.filter(r)
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}
	events, err := a.store.Events(r.Context(), f)
	out := eventsAnswer{Events: []eventView{}}
	for _, e := range events {
		out.Events = append(out.Events, viewEvent(e))
	}
	a.answer(w, r, out, err)
}

// getSessions shows who is behind the connections of the servers, to those who may act.
func (a *api) getSessions(w http.ResponseWriter, r *http.Request) {
	out := sessionsAnswer{Sessions: []report.Session{}}
	if a.cfg.Sessions != nil {
		out.Sessions = a.cfg.Sessions()
	}
	a.answer(w, r, out, nil)
}

func (a *api) getErrors(w http.ResponseWriter, r *http.Request) {
	f, err := a.filter(r)
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}
	rows, err := a.store.RowErrors(r.Context(), f)
	out, who := errorsAnswer{Errors: []errorView{}}, a.readerOf(r)
	for _, e := range rows {
		out.Errors = append(out.Errors, viewError(e, who))
	}
	a.answer(w, r, out, err)
}

func (a *api) getTasks(w http.ResponseWriter, r *http.Request) {
	job, err := strconv.ParseUint(r.PathValue("job"), 10, 64)
	if err != nil {
		refuse(w, http.StatusBadRequest, "job: want its number")
		return
	}

	l, err := a.view.read(r.Context())
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}

	tasks, err := a.store.TasksOf(r.Context(), job)
	out := tasksAnswer{Tasks: []taskView{}}
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, viewTask(&l.Snapshot, t))
	}

	a.answer(w, r, out, err)
}

func (a *api) getSettings(w http.ResponseWriter, r *http.Request) {
	all, err := a.store.Settings(r.Context())
	values := all.Shown()
	out := settingsAnswer{Settings: []settingView{}}
	for _, d := range setting.All() {
		out.Settings = append(out.Settings, settingView{d.Name, d.Alias, values[d.Name], d.Default, d.Text})
	}
	a.answer(w, r, out, err)
}

func (a *api) getTable(w http.ResponseWriter, r *http.Request) {
	l, p, err := a.find(r.Context(), pathTable(r))
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}

	out, who := tableAnswer{Now: l.Now, Jobs: []jobView{}}, a.readerOf(r)
	for _, work := range l.Work() {
		if work.Policy.ID != p.ID {
			continue
		}
		out.Tables = append(out.Tables, viewTable(work, who))
		if work.Job != nil {
			out.Jobs = append(out.Jobs, viewOpen(&l.Snapshot, work))
		}
	}

	a.answer(w, r, out, nil)
}

// pathTable is the table that the path names.
func pathTable(r *http.Request) catalog.Table {
	return catalog.Table{Schema: r.PathValue("schema"), Name: r.PathValue("table")}
}

// find looks up a policy and what is known about it. If there is none, that is a 404.
func (a *api) find(ctx context.Context, t catalog.Table) (*snapshot, catalog.Policy, error) {
	p, err := a.store.Policy(ctx, t)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return nil, p, &answerError{http.StatusNotFound, "table " + t.String() + " has no TTL policy"}
	}
	if err != nil {
		return nil, p, err
	}
	l, err := a.view.read(ctx)
	return l, p, err
}
