package status

import (
	"log/slog"
	"net/http"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// api is the part of the listener that needs the catalog.
type api struct {
	gate
	cfg   Config
	store Store
	db    tables.Querier // of user tables, for previews
	view  *viewer
	log   *slog.Logger

	archive  *archive
	previews previews
}

func newAPI(g gate, cfg Config, store Store, db tables.Querier, log *slog.Logger) *api {
	return &api{
		gate: g, cfg: cfg, store: store, db: db, view: newViewer(store), log: log,
		archive: newArchive(store), previews: previews{last: map[catalog.Table]madePreview{}},
	}
}

// handler answers the API. A known path with another method, like every other path, is not there.
func (a *api) handler() http.Handler {
	mux := a.gate.handler(a.routes())
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, r.Method+" "+r.URL.Path+" is not there; see /api/v1/openapi.json")
	})
	return mux
}
