package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const script = "console.log('a page needs a script that is long enough to be worth compressing');"

func page() fstest.MapFS {
	return fstest.MapFS{
		".keep":                {},
		"index.html":           {Data: []byte("<!doctype html><title>the page</title>" + strings.Repeat(" ", 200))},
		"sw.js":                {Data: []byte(script)},
		"icon.svg":             {Data: []byte("<svg/>")},
		"icon-192.png":         {Data: bytes.Repeat([]byte{0}, 500)},
		"manifest.webmanifest": {Data: []byte("{}")},
		"assets/main-abc.js":   {Data: bytes.Repeat([]byte(script), 10)},
	}
}

func get(t *testing.T, h http.Handler, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPathsAnswerWithThePageAFileOrNotFound(t *testing.T) {
	h := Handler(page(), Options{})
	for _, tc := range []struct {
		path   string
		status int
		media  string
	}{
		{"/", 200, "text/html; charset=utf-8"},
		{"/index.html", 200, "text/html; charset=utf-8"},
		{"/inbox", 200, "text/html; charset=utf-8"},
		{"/agents/parley", 200, "text/html; charset=utf-8"},
		{"/r/kitchen", 200, "text/html; charset=utf-8"},
		{"/r/room.with.dots", 200, "text/html; charset=utf-8"},
		{"/sw.js", 200, "text/javascript; charset=utf-8"},
		{"/icon.svg", 200, "image/svg+xml"},
		{"/icon-192.png", 200, "image/png"},
		{"/manifest.webmanifest", 200, "application/manifest+json"},
		{"/assets/main-abc.js", 200, "text/javascript; charset=utf-8"},
		{"/assets/main-gone.js", 404, "text/plain; charset=utf-8"},
		{"/assets/gone", 404, "text/plain; charset=utf-8"},
		{"/assets", 200, "text/html; charset=utf-8"},
		{"/favicon.ico", 404, "text/plain; charset=utf-8"},
		{"/.keep", 404, "text/plain; charset=utf-8"},
		{"/../../etc/passwd.txt", 404, "text/plain; charset=utf-8"},
	} {
		t.Run(tc.path, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.URL.Path = tc.path
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.status || w.Header().Get("Content-Type") != tc.media {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Header().Get("Content-Type"), tc.status, tc.media)
			}
		})
	}
}

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	h := Handler(page(), Options{})
	for _, path := range []string{"/", "/assets/main-abc.js", "/assets/gone.js", "/sw.js"} {
		got := get(t, h, path).Header
		want := map[string]string{
			"Content-Security-Policy":      policy,
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Permissions-Policy":           permissions,
			"Strict-Transport-Security":    "",
		}
		for name, value := range want {
			if diff := cmp.Diff(value, got.Get(name)); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", path, name, diff)
			}
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Error("the policy has an unsafe exception")
	}
	secure := get(t, Handler(page(), Options{HSTS: true}), "/").Header
	if secure.Get("Strict-Transport-Security") == "" {
		t.Error("no HSTS although it was asked for")
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	h := Handler(page(), Options{})
	for method, status := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 405} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if w.Code != status {
			t.Errorf("%s: got %d, want %d", method, w.Code, status)
		}
		if method == "HEAD" && w.Body.Len() > 0 {
			t.Error("HEAD answered with a body")
		}
	}
}

func TestHashedFilesAreKeptForEverOthersAskedAgain(t *testing.T) {
	h := Handler(page(), Options{})
	if got := get(t, h, "/assets/main-abc.js").Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("asset: %q", got)
	}
	for _, path := range []string{"/", "/inbox", "/sw.js", "/icon.svg"} {
		if got := get(t, h, path).Header.Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s: %q; want \"no-cache\"", path, got)
		}
	}
}

func TestTextIsCompressedForThoseWhoAcceptIt(t *testing.T) {
	h := Handler(page(), Options{})
	for _, tc := range []struct {
		path, accept string
		packed       bool
	}{
		{"/assets/main-abc.js", "gzip, deflate, br", true},
		{"/assets/main-abc.js", "br, GZIP ; q=0.5", true},
		{"/assets/main-abc.js", "", false},
		{"/assets/main-abc.js", "br", false},
		{"/assets/main-abc.js", "gzip;q=0", false},
		{"/icon-192.png", "gzip", false},
		{"/icon.svg", "gzip", false}, // smaller as it is
		{"/", "gzip", true},
	} {
		res := get(t, h, tc.path, "Accept-Encoding", tc.accept)
		packed := res.Header.Get("Content-Encoding") == "gzip"
		if packed != tc.packed {
			t.Errorf("%s with %q: compressed %v", tc.path, tc.accept, packed)
			continue
		}
		if !packed {
			continue
		}
		zip, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		if want := body(t, get(t, h, tc.path)); string(plain) != want {
			t.Errorf("%s: compressed and plain differ", tc.path)
		}
		if res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: no Vary", tc.path)
		}
	}
}

func TestAnUnchangedFileIsNotSentAgain(t *testing.T) {
	h := Handler(page(), Options{})
	for _, accept := range []string{"", "gzip"} {
		etag := get(t, h, "/", "Accept-Encoding", accept).Header.Get("ETag")
		for _, condition := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
			res := get(t, h, "/", "Accept-Encoding", accept, "If-None-Match", condition)
			if res.StatusCode != http.StatusNotModified || body(t, res) != "" {
				t.Errorf("If-None-Match %s: got %d", condition, res.StatusCode)
			}
		}
		if res := get(t, h, "/", "Accept-Encoding", accept, "If-None-Match", `"other"`); res.StatusCode != 200 {
			t.Errorf("another tag: got %d", res.StatusCode)
		}
	}
	if plain, packed := get(t, h, "/").Header.Get("ETag"), get(t, h, "/", "Accept-Encoding", "gzip").Header.Get("ETag"); plain == packed {
		t.Error("the two encodings share a tag")
	}
}

func TestAHubWithoutThePageSaysSo(t *testing.T) {
	h := Handler(fstest.MapFS{".keep": {}}, Options{})
	for _, path := range []string{"/", "/inbox", "/r/kitchen"} {
		res := get(t, h, path)
		if text := body(t, res); res.StatusCode != 200 || !strings.Contains(text, "built without the page") {
			t.Errorf("%s: %d %q; want res.StatusCode to be 200, \"built without the page\" in it", path, res.StatusCode, text)
		}
	}
	if res := get(t, h, "/assets/x.js"); res.StatusCode != 404 {
		t.Errorf("asset: %d", res.StatusCode)
	}
}

func FuzzAnyPathIsAnswered(f *testing.F) {
	for _, path := range []string{"/", "//", "/..", "/assets/../index.html", "/r/", "/%00", "/a.b/c", "/assets/main-abc.js/"} {
		f.Add(path, "gzip", "*")
	}
	h := Handler(page(), Options{})
	f.Fuzz(func(t *testing.T, path, accept, match string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		r.Header["Accept-Encoding"] = []string{accept}
		r.Header["If-None-Match"] = []string{match}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 304 && w.Code != 404 {
			t.Errorf("%q: %d", path, w.Code)
		}
		if w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%q: no policy", path)
		}
	})
}
