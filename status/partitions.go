package status

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

type partitionsAnswer struct {
	Partitions []partitionView `json:"partitions"`
}

// partitionView is a partition, and what becomes of it.
type partitionView struct {
	Name  string    `json:"name"`
	Bound string    `json:"bound"`
	Rows  int64     `json:"rows"`
	Bytes uint64    `json:"bytes"`
	Due   time.Time `json:"due,omitzero"`
	Fate  string    `json:"fate"`
}

// getPartitions answers without a look at any row.
func (a *api) getPartitions(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), previewTimeout)
	defer cancel()

	p, err := a.declared(ctx, pathTable(r))
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}

	fates, err := plan.Fates(ctx, a.db, a.store, p)
	if err != nil && !errors.Is(err, plan.ErrNoPartitions) {
		a.answer(w, r, nil, &answerError{http.StatusConflict, err.Error()})
		return
	}

	out := partitionsAnswer{Partitions: []partitionView{}}
	for _, f := range fates {
		out.Partitions = append(out.Partitions, partitionView{f.Name, f.Below, f.Rows, f.Bytes, f.DueAt, f.Text})
	}

	a.answer(w, r, out, nil)
}
