package web

import (
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// Options are the choices of whoever serves the page.
type Options struct {
	// HSTS tells browsers to come back only over TLS. Set it when the hub
	// itself, or the proxy before it, speaks TLS.
	HSTS bool
}

// Handler serves the page from files, which has index.html at its root, or a
// short explanation when it has not. The files are read once, here.
func Handler(files fs.FS, opt Options) http.Handler {
	h := &handler{assets: load(files), opt: opt}
	h.index = h.assets["index.html"]
	if h.index == nil {
		h.index = newAsset("index.html", []byte(notBuilt))
	}
	return h
}

type handler struct {
	assets map[string]*asset
	index  *asset
	opt    Options
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header(), h.opt)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
		return
	}
	a := h.find(r.URL.Path)
	if a == nil {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	a.serve(w, r)
}

// find returns the file for a path, the page itself for a client-side route,
// or nil.
func (h *handler) find(urlPath string) *asset {
	name := strings.TrimPrefix(path.Clean("/"+urlPath), "/")
	if name == "" || name == "index.html" {
		return h.index
	}
	if a := h.assets[name]; a != nil {
		return a
	}
	if isRoute(name) {
		return h.index
	}
	return nil
}

// isRoute tells a client-side route from a file that does not exist. Only
// files have a dot in their last part, except below r/, where a room's name
// may have one.
func isRoute(name string) bool {
	if strings.HasPrefix(name, "assets/") {
		return false
	}
	return strings.HasPrefix(name, "r/") || !strings.Contains(path.Base(name), ".")
}
