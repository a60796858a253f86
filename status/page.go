package status

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed page
var pageFiles embed.FS

// pageRoutes serve the files of page/ as they are.
func pageRoutes() []route {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil { // the name is a constant
		panic(err)
	}

	serve := http.FileServerFS(files)
	return []route{{"", "/", open, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			plain(w, http.StatusMethodNotAllowed, "there is only a page to read here\n")
			return
		}

		if strings.HasSuffix(r.URL.Path, "/") && r.URL.Path != "/" { // no directory listings
			http.NotFound(w, r)
			return
		}

		// The files belong to this build: a browser asks again, and gets a short answer when it has
		// them.
		w.Header().Set("Cache-Control", "no-cache")
		serve.ServeHTTP(w, r)
	}}}
}
