package sdk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/face/front"
)

// Packages are the SDKs. Each is packed when somebody first asks for it.
type Packages struct {
	modules, wheels func() (map[string][]byte, error)
	carried         fs.FS
}

// NewPackages makes the SDKs from their sources, under the version of this hub. Carried is the
// folder beside the program that may hold what others wrote: go/ as Go's own download
// cache has it, python/ with wheels; nil is none.
func NewPackages(sources fs.FS, hub string, carried fs.FS) *Packages {
	return &Packages{
		modules: sync.OnceValues(func() (map[string][]byte, error) { return goModule(sources, hub) }),
		wheels:  sync.OnceValues(func() (map[string][]byte, error) { return wheel(sources, hub) }),
		carried: carried,
	}
}

// Register puts them on their paths. They are for strangers: what they hold is no secret,
// and neither Go nor pip has a way to sign in that people would use.
func (p *Packages) Register(routes *front.Routes) {
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /sdk/go/{path...}": p.module, "GET /sdk/python/simple/{$}": p.index,
		"GET /sdk/python/simple/{name}/{$}": p.project, "GET /sdk/python/{file}": p.wheel,
	} {
		routes.HandleFunc(front.Route{Pattern: pattern, Who: front.Stranger}, handler)
	}
}

// proxied are the files of Go's download cache that its proxy protocol names.
var proxied = regexp.MustCompile(`^[a-z0-9][A-Za-z0-9._~!/-]*/@v/[A-Za-z0-9._+!-]+\.(info|mod|zip)$`)

func (p *Packages) module(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("path")
	own, err := p.modules()
	if err != nil {
		unpacked(w, "Go", err)
		return
	}
	data, ok := own[name]
	if !ok && proxied.MatchString(name) {
		data, ok = p.others("go/" + name)
	}
	if !ok {
		http.Error(w, "not found: this hub hands out the module "+goPath+", at "+goPath+"/@latest", http.StatusNotFound)
		return
	}
	serve(w, r, name, data)
}

// unpacked answers when the program was built from sources that make no package.
func unpacked(w http.ResponseWriter, what string, err error) {
	http.Error(w, "this hub was built without the "+what+" SDK: "+err.Error(), http.StatusInternalServerError)
}

// others reads a file that came with the release.
func (p *Packages) others(name string) ([]byte, bool) {
	if p.carried == nil || !fs.ValidPath(name) {
		return nil, false
	}
	data, err := fs.ReadFile(p.carried, name)
	return data, err == nil
}

func serve(w http.ResponseWriter, r *http.Request, name string, data []byte) {
	types := map[string]string{".zip": "application/zip", ".whl": "application/zip", ".info": "application/json", ".html": "text/html; charset=utf-8"}
	kind, ok := types[path.Ext(name)]
	if !ok {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// wheelName reads the project off a wheel's file name.
var wheelName = regexp.MustCompile(`^([A-Za-z0-9_.]+)-[A-Za-z0-9_.+!]+-[a-z0-9_.-]+\.whl$`)

// project is how PEP 503 writes the name of a wheel's project.
func project(wheel string) string {
	m := wheelName.FindStringSubmatch(wheel)
	if m == nil {
		return ""
	}
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(m[1]))
}

// all are the wheels there are, by project.
func (p *Packages) all() map[string][]string {
	list := map[string][]string{}
	own, _ := p.wheels() // project says why there is none
	for name := range own {
		list[project(name)] = append(list[project(name)], name)
	}
	if p.carried != nil {
		files, _ := fs.Glob(p.carried, "python/*.whl") // the pattern is good
		for _, name := range files {
			name = path.Base(name)
			if of := project(name); of != "" && of != pythonName {
				list[of] = append(list[of], name)
			}
		}
	}
	return list
}

func (p *Packages) index(w http.ResponseWriter, r *http.Request) {
	var names []string
	for name := range p.all() {
		names = append(names, name+"/")
	}
	links(w, r, names, func(name string) string { return name })
}

func (p *Packages) project(w http.ResponseWriter, r *http.Request) {
	if _, err := p.wheels(); err != nil {
		unpacked(w, "Python", err)
		return
	}
	wheels := p.all()[r.PathValue("name")]
	if len(wheels) == 0 {
		http.Error(w, "not found: this hub hands out "+pythonName, http.StatusNotFound)
		return
	}
	links(w, r, wheels, func(name string) string {
		data, _ := p.wheelData(name)
		sum := sha256.Sum256(data)
		return "../../" + name + "#sha256=" + hex.EncodeToString(sum[:])
	})
}

// links is a page of links, which is all that pip wants.
func links(w http.ResponseWriter, r *http.Request, names []string, target func(string) string) {
	slices.Sort(names)
	var b bytes.Buffer
	b.WriteString("<!doctype html><title>Parley's Python packages</title>\n")
	for _, name := range names {
		fmt.Fprintf(&b, "<a href=\"%s\">%s</a><br>\n", html.EscapeString(target(name)), html.EscapeString(strings.TrimSuffix(name, "/")))
	}
	serve(w, r, ".html", b.Bytes())
}

func (p *Packages) wheelData(name string) ([]byte, bool) {
	own, _ := p.wheels()
	if data, ok := own[name]; ok {
		return data, true
	}
	if wheelName.MatchString(name) {
		return p.others("python/" + name)
	}
	return nil, false
}

func (p *Packages) wheel(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	data, ok := p.wheelData(name)
	if !ok {
		http.Error(w, "not found: the packages are listed at /sdk/python/simple/", http.StatusNotFound)
		return
	}
	serve(w, r, name, data)
}
