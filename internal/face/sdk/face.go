package sdk

import (
	"encoding/json"
	"html"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"parley.internal/internal/face/front"
)

// Options is what the face is made from.
type Options struct {
	// Files are those of the page, as they were built; Page serves them.
	Files    fs.FS
	Page     http.Handler
	Version  string
	Websites front.Websites
}

// Face hands the SDKs out.
type Face struct {
	o       Options
	archive func() ([]byte, error)
}

// New makes a face.
func New(o Options) *Face {
	f := &Face{o: o}
	f.archive = sync.OnceValues(func() ([]byte, error) { return npmArchive(o.Files, o.Version) })
	return f
}

// Register puts it on its paths.
func (f *Face) Register(routes *front.Routes) {
	public := func(path string) front.Route {
		return front.Route{Pattern: "GET " + path, Who: front.Stranger, Pages: front.AnyPages}
	}
	routes.Handle(public("/widget.js"), f.o.Page)
	routes.Handle(public("/sdk/roomagent.js"), f.o.Page)
	routes.HandleFunc(public("/sdk/js/{file}"), f.pack)
	routes.HandleFunc(public("/sdk/origin"), f.origin)
	routes.HandleFunc(public("/sdk/{$}"), f.index)
}

// pack is the package for npm.
func (f *Face) pack(w http.ResponseWriter, r *http.Request) {
	name := archiveName(f.o.Version)
	data, err := f.archive()
	if file := r.PathValue("file"); err != nil || file != name && file != "latest.tgz" {
		http.Error(w, "there is no such file; /sdk/ lists what there is", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/gzip")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodGet {
		_, _ = w.Write(data) // the client went away: nobody to tell
	}
}

// origin tells a page whether its website is listed: a browser says nothing about why
// a WebSocket was refused. It tells everybody only about the origin they name.
func (f *Face) origin(w http.ResponseWriter, r *http.Request) {
	named := r.Header.Get("Origin")
	listed := false
	if named != "" && f.o.Websites != nil {
		listed, _ = f.o.Websites.Listed(r.Context(), named)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(struct {
		Origin  string `json:"origin"`
		Listed  bool   `json:"listed"`
		Version string `json:"version"`
	}{named, listed, f.o.Version})
}

// indexPage is filled by a replacer: templates would have the linker keep every method of
// the program, for 15 MB.
const indexPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Parley: for developers</title></head>
<body>
<h1>Rooms of this hub in your own programs</h1>
<p>Version {{.Version}}. Everything here comes from this hub and fits it.</p>
<h2>In a page</h2>
<pre>&lt;script src="{{.Base}}/widget.js" data-room="ROOM"&gt;&lt;/script&gt;</pre>
<p>The website must be listed: Settings, Websites.</p>
<h2>JavaScript and TypeScript</h2>
<pre>npm i {{.Base}}/sdk/js/latest.tgz</pre>
<p><a href="js/{{.Archive}}">{{.Archive}}</a>, or without installing: <a href="roomagent.js">roomagent.js</a></p>
<h2>Go</h2>
<pre>GOPROXY={{.Base}}/sdk/go,https://proxy.golang.org GONOSUMDB=parley.internal go get parley.internal/client/roomagent@latest</pre>
<h2>Python</h2>
<pre>pip install --extra-index-url {{.Base}}/sdk/python/simple/ 'parley-rooms[keys]'</pre>
</body>
</html>
`

// index lists what there is.
func (f *Face) index(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if front.Secure(r) {
		scheme = "https"
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	filled := strings.NewReplacer("{{.Version}}", html.EscapeString(f.o.Version), "{{.Base}}", html.EscapeString(scheme+"://"+r.Host), "{{.Archive}}", archiveName(f.o.Version))
	_, _ = filled.WriteString(w, indexPage) // the client went away: nobody to tell
}
