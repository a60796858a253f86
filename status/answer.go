package status

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
)

// problem answers an API request that was not served.
type problem struct {
	Error string `json:"error"`
}

// refuse answers with an error that a person can act on.
func refuse(w http.ResponseWriter, code int, text string) {
	writeJSON(w, code, problem{text})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(v); err != nil { // only values of ours come here: a programmer's mistake
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body.Bytes()) // the client has gone: nobody to tell
}

// answerError is an error with the HTTP status that fits it.
type answerError struct {
	code int
	text string
}

func (e *answerError) Error() string { return e.text }

// answer writes what a handler has found. An error of the catalog is reported without its details:
// they are in the log.
func (a *api) answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	if known, ok := errors.AsType[*answerError](err); ok {
		refuse(w, known.code, known.text)
		return
	}
	if err != nil {
		if r.Context().Err() == nil {
			a.log.WarnContext(r.Context(), "status request", slog.String("path", r.URL.Path), slog.Any("err", err))
		}
		refuse(w, http.StatusBadGateway, "the catalog does not answer")
		return
	}
	writeJSON(w, http.StatusOK, v)
}
