package status

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openAPIDocument []byte

func (*api) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPIDocument) // the client has gone: nobody to tell
}

// getToken confirms a token to its bearer: the guard has let the request through.
func (a *api) getToken(w http.ResponseWriter, r *http.Request) {
	a.answer(w, r, struct {
		Valid bool `json:"valid"`
	}{true}, nil)
}
