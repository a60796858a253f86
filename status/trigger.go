package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// triggered is TiDB's answer: one result for each physical table.
type triggered struct {
	TableResult []triggeredTable `json:"table_result"`
}

type triggeredTable struct {
	TableID   uint64 `json:"table_id"`
	DBName    string `json:"db_name"`
	TableName string `json:"table_name"`
	Partition string `json:"partition_name,omitempty"`
	JobID     string `json:"job_id,omitempty"`
}

// triggerMethod is TiDB's answer to another method.
func (*api) triggerMethod(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		plain(w, http.StatusNotFound, "want /test/ttl/trigger/{db}/{table}\n")
		return
	}
	plain(w, http.StatusBadRequest, "This api only supports POST method\n")
}

// trigger is TiDB's POST /test/ttl/trigger/{db}/{table}, for scripts that were written for it. It
// needs the token, or ttl_http_trigger.
func (a *api) trigger(w http.ResponseWriter, r *http.Request) {
	if !a.bearer(r) {
		values, err := a.store.Values(r.Context())
		if err != nil {
			a.answer(w, r, nil, err)
			return
		}
		if !values.Bool(setting.HTTPTrigger) {
			refuse(w, http.StatusForbidden, "this needs the status token, or SET GLOBAL ttl_http_trigger = ON")
			return
		}
	}

	out, err := a.triggerJob(r.Context(), actor(r), pathTable(r))
	a.view.forget()
	if err != nil {
		plain(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}

	writeJSON(w, http.StatusOK, out)
}

// triggerJob asks for a run and waits for its jobs. Refusals are TiDB's words where it has some.
func (a *api) triggerJob(ctx context.Context, actor string, t catalog.Table) (triggered, error) {
	p, err := a.store.Policy(ctx, t)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return triggered{}, fmt.Errorf("table %s.%s not exists", t.Schema, t.Name)
	}
	if err != nil {
		return triggered{}, err
	}

	s, err := report.ReadOf(ctx, a.store, p.ID)
	if err != nil {
		return triggered{}, err
	}
	if !s.Enabled {
		return triggered{}, errors.New("tidb_ttl_job_enable is disabled")
	}
	if err := mayStart(s, &p); err != nil {
		return triggered{}, err
	}

	asked, err := a.store.RequestRun(ctx, actor, p.ID)
	if err != nil {
		return triggered{}, err
	}

	jobs, _, err := report.Await(ctx, a.store, &p, s, asked, poll(time.Now()))
	if err != nil {
		return triggered{}, err
	}

	return started(jobs), nil
}

// poll is the pause between two looks at the jobs that were started.
func poll(began time.Time) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		timer := time.NewTimer(report.Pause(time.Since(began)))
		defer timer.Stop()

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		}
	}
}

// started are jobs as TiDB names them.
func started(jobs []catalog.EndedJob) (out triggered) {
	for i := range jobs {
		j := &jobs[i]
		out.TableResult = append(out.TableResult, triggeredTable{
			TableID: j.PolicyID, DBName: j.Table.Schema, TableName: j.Table.Name, Partition: j.Partition,
			JobID: strconv.FormatUint(j.ID, 10),
		})
	}
	return out
}
