package status

import "net/http"

func (a *api) getPreview(w http.ResponseWriter, _ *http.Request) {
	refuse(w, http.StatusNotImplemented, "no preview")
}
