package mcp

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"parley.internal/internal/face/front"
)

// discoveryPath is where clients look for what a resource needs (RFC 9728); the
// resource's own path follows.
const discoveryPath = "/.well-known/oauth-protected-resource"

// discover tells which credentials the path takes. It is public: a client reads
// it before it has any.
func (p *path) discover(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		p.face.d.Front.Fail(w, r, front.NewProblem(http.StatusMethodNotAllowed, "method_not_allowed", "use GET", nil))
		return
	}
	base := p.face.base(r)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_ = json.NewEncoder(w).Encode(&oauthex.ProtectedResourceMetadata{
		Resource: base + p.pattern(), ResourceName: "Parley", ScopesSupported: p.scopes, BearerMethodsSupported: []string{"header"},
	})
}

// base is the hub's address as the caller knows it.
func (f *Face) base(r *http.Request) string {
	if f.d.URL != nil {
		if url := f.d.URL(); url != "" {
			return url
		}
	}
	scheme := "http"
	if front.Secure(r) {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}
