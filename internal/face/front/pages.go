package front

import (
	"errors"
	"net/http"
	"strings"

	"parley.internal/internal/wsconn"
)

// Pages are the websites whose pages may call a route.
type Pages string

const (
	// OwnPages are the hub's own.
	OwnPages Pages = ""
	// ListedPages are also those of websites that the hub's list names. They come with
	// a credential of their own: what a person's browser adds by itself is not looked at.
	ListedPages Pages = "listed"
	// AnyPages are everybody's: for public files.
	AnyPages Pages = "any"
)

// page is a page of another website that sent a request.
type page struct {
	origin string
	why    error // the guard's
}

type pageKey struct{}

// pageOf is the other website's page that sent a request; nil if none did.
func pageOf(r *http.Request) *page {
	p, _ := r.Context().Value(pageKey{}).(*page)
	return p
}

// visitingPage is the page of another website that the guard found. A request with
// several origins is nobody's.
func visitingPage(r *http.Request, why error) *page {
	origins := r.Header.Values("Origin")
	if !errors.Is(why, wsconn.ErrForeignOrigin) || len(origins) != 1 {
		return nil
	}
	return &page{origin: origins[0], why: why}
}

// letPage lets a page of another website in where the route allows it, and tells the
// browser so. There is never a word about credentials in it: a browser then neither
// sends its cookies along nor shows an answer to a request that had some.
func (f *Front) letPage(w http.ResponseWriter, r *http.Request, pages Pages) error {
	h, p := w.Header(), pageOf(r)
	if pages == AnyPages {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		return nil
	}
	if p == nil {
		return nil
	}
	if pages != ListedPages || f.sites == nil {
		return p.why
	}
	listed, err := f.sites.Listed(r.Context(), p.origin)
	if err != nil {
		return err
	}
	if !listed {
		return p.why
	}
	h.Set("Access-Control-Allow-Origin", p.origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, X-Request-Id")
	return nil
}

// pageCookie is the session of the hub's own page. A browser adds it to requests of
// other websites' pages, too, if they are of the same site (another port of the same
// host is): such a page acts with what a person gave it, and not with this.
func pageCookie(r *http.Request) (*http.Cookie, error) {
	if pageOf(r) != nil {
		return nil, http.ErrNoCookie
	}
	return r.Cookie(CookieName)
}

// askedMethod is what a browser asks about before it sends a request.
const askedMethod = "Access-Control-Request-Method"

// preflight answers a browser that asks whether a page may send a request.
func (s *Routes) preflight(w http.ResponseWriter, r *http.Request) {
	asked := r.Clone(r.Context())
	asked.Method = r.Header.Get(askedMethod)
	found, _ := s.mux.Handler(asked)
	e, ok := found.(*entrance)
	if !ok {
		s.front.refusePage(w, r, pageOf(r).why)
		return
	}
	if err := s.front.letPage(w, r, e.rt.Pages); err != nil {
		s.front.refusePage(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", strings.ToUpper(asked.Method))
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
