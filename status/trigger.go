package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TiDB's endpoint waits for the job it has triggered, for this long.
const (
	triggerTimeout = 30 * time.Second
	triggerPoll    = 200 * time.Millisecond
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

// trigger is TiDB's POST /test/ttl/trigger/{db}/{table}, for scripts that were written for it. It needs the token, or ttl_http_trigger.
func (a *api) trigger(w http.ResponseWriter, r *http.Request) {
	if !a.bearer(r) {
		values, err := a.store.Values(r.Context())
		if err != nil {
			a.answer(w, r, nil, err)
			return
		}
		if !values.Bool(catalog.HTTPTrigger) {
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
	l, err := takeLook(ctx, a.store)
	if err != nil {
		return triggered{}, err
	}
	if !l.Enabled {
		return triggered{}, errors.New("tidb_ttl_job_enable is disabled")
	}
	if why := whyNot(l, p); why != "" {
		return triggered{}, errors.New(why)
	}
	if err := a.store.RequestRun(ctx, actor, p.ID); err != nil {
		return triggered{}, err
	}
	return a.awaitJobs(ctx, p, lastJobs(l.Schedules, p.ID))
}

// awaitJobs waits until the request has led to a job for each table or partition that has one at all.
func (a *api) awaitJobs(ctx context.Context, p catalog.Policy, before map[string]uint64) (triggered, error) {
	ctx, cancel := context.WithTimeout(ctx, triggerTimeout)
	defer cancel()
	ticker := time.NewTicker(triggerPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return triggered{}, errors.New("timeout")
		case <-ticker.C:
		}
		schedules, err := a.store.Schedules(ctx)
		if err != nil {
			return triggered{}, err
		}
		if out := started(p, before, lastJobs(schedules, p.ID)); len(out.TableResult) > 0 {
			return out, nil
		}
	}
}

// lastJobs are the latest jobs of a policy, by partition.
func lastJobs(schedules []catalog.Schedule, policy uint64) map[string]uint64 {
	jobs := map[string]uint64{}
	for _, c := range schedules {
		if c.PolicyID == policy && c.LastJob != 0 {
			jobs[c.Partition] = c.LastJob
		}
	}
	return jobs
}

// started are the jobs that were not there before.
func started(p catalog.Policy, before, now map[string]uint64) triggered {
	var out triggered
	for _, partition := range slices.Sorted(maps.Keys(now)) {
		if now[partition] != before[partition] {
			out.TableResult = append(out.TableResult, triggeredTable{
				TableID: p.ID, DBName: p.Table.Schema, TableName: p.Table.Name, Partition: partition,
				JobID: strconv.FormatUint(now[partition], 10),
			})
		}
	}
	return out
}
