package docs

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"parley.internal/internal/face/front"
)

// Face serves the pages.
type Face struct {
	library func() (*library, error)
	api     func() (string, error)
}

// New makes a face of a tree with the folder docs, and of the API's description.
func New(files fs.FS, document func() ([]byte, error)) *Face {
	return &Face{
		library: sync.OnceValues(func() (*library, error) { return readLibrary(files) }),
		api: sync.OnceValues(func() (string, error) {
			text, err := document()
			if err != nil {
				return "", err
			}
			return describe(text)
		}),
	}
}

// Register puts it on its paths.
func (f *Face) Register(routes *front.Routes) {
	public := func(path string) front.Route { return front.Route{Pattern: "GET " + path, Who: front.Stranger} }
	routes.HandleFunc(public("/docs/{page...}"), f.page)
	routes.HandleFunc(public("/docs/search"), f.search)
	routes.HandleFunc(public("/docs/api"), f.operations)
}

func (f *Face) page(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("page")
	if name == "" {
		name = "index"
	}
	lib, err := f.library()
	if err != nil {
		http.Error(w, "the documentation cannot be read", http.StatusInternalServerError)
		return
	}
	p, ok := lib.pages[strings.TrimSuffix(name, ".md")]
	if !ok {
		show(w, http.StatusNotFound, "Not found", "", "<h1>Not found</h1><p>There is no such page. <a href=\"/docs/\">All pages</a></p>")
		return
	}
	show(w, http.StatusOK, p.title, "", p.html)
}

// maxQuery bounds what is searched for.
const maxQuery = 200

func (f *Face) search(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	query = strings.ToValidUTF8(query, "")
	lib, err := f.library()
	if err != nil {
		http.Error(w, "the documentation cannot be read", http.StatusInternalServerError)
		return
	}
	show(w, http.StatusOK, "Search", query, lib.search(query))
}

func (f *Face) operations(w http.ResponseWriter, _ *http.Request) {
	body, err := f.api()
	if err != nil {
		http.Error(w, "the API's description cannot be read", http.StatusInternalServerError)
		return
	}
	show(w, http.StatusOK, "API", "", body)
}

const style = `:root{color-scheme:light dark}body{font:16px/1.55 system-ui,sans-serif;margin:0 auto;max-width:58rem;padding:1rem}
nav{display:flex;gap:1rem;flex-wrap:wrap;align-items:center;border-bottom:1px solid #8884;padding-bottom:.6rem}nav form{margin-left:auto}
pre{overflow:auto;padding:.7rem;background:#8881;border-radius:.4rem}code{font-size:.92em}table{border-collapse:collapse;display:block;overflow:auto}
td,th{border:1px solid #8884;padding:.3rem .5rem;text-align:left;vertical-align:top}h1,h2,h3{line-height:1.2}dt{font-weight:600;margin-top:.6rem}input{font:inherit}`

// policy lets the pages have their one style and nothing else.
var policy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
})

// show writes a page. Templates would have the linker keep every method of the program.
func show(w http.ResponseWriter, status int, title, query, body string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	page := `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>` + html.EscapeString(title) +
		` · Parley</title><style>` + style + `</style></head><body><nav><a href="/">Hub</a><a href="/docs/">Documentation</a><a href="/docs/api">API</a>` +
		`<form action="/docs/search" role="search"><input type="search" name="q" aria-label="Search the documentation" placeholder="Search" value="` + html.EscapeString(query) + `"></form></nav><main>` + body + `</main></body></html>`
	_, _ = w.Write([]byte(page)) // the client went away: nobody to tell
}
