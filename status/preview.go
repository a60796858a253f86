package status

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// A preview reads the table. Whoever reaches the listener may ask for one, so only one is made at a
// time; it serves everybody for a while, and is abandoned if it takes too long.
const (
	previewAge     = 10 * time.Second
	previewTimeout = 15 * time.Second
)

// previews remembers the latest preview of each table.
type previews struct {
	mu   sync.Mutex // held while making one
	last map[catalog.Table]madePreview
}

type madePreview struct {
	version uint64
	at      time.Time
	preview *plan.Preview
}

func (a *api) getPreview(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), previewTimeout)
	defer cancel()

	p, err := a.declared(ctx, pathTable(r))
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}

	v, err := a.preview(ctx, p)
	if err != nil {
		err = &answerError{http.StatusConflict, err.Error()}
	} else {
		shown := *v
		shown.Seen, v = secret(a.readerOf(r), v.Seen), &shown
	}

	a.answer(w, r, v, err)
}

// declared is the policy of a table.
func (a *api) declared(ctx context.Context, t catalog.Table) (catalog.Policy, error) {
	p, err := a.store.Policy(ctx, t)
	if errors.Is(err, catalog.ErrNoPolicy) {
		err = &answerError{http.StatusNotFound, "table " + t.String() + " has no TTL policy"}
	}
	return p, err
}

func (a *api) preview(ctx context.Context, p catalog.Policy) (*plan.Preview, error) {
	a.previews.mu.Lock()
	defer a.previews.mu.Unlock()

	if last := a.previews.last[p.Table]; last.version == p.Version && time.Since(last.at) < previewAge {
		return last.preview, nil
	}

	v, err := plan.AskOf(ctx, a.db, a.store, p)
	if err != nil {
		return nil, err
	}

	for table, old := range a.previews.last {
		if time.Since(old.at) >= previewAge {
			delete(a.previews.last, table)
		}
	}

	a.previews.last[p.Table] = madePreview{p.Version, time.Now(), v}
	return v, nil
}
