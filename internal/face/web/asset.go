package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// types are the media types of what the page consists of. The table of the
// operating system is not asked, so that the answer is the same everywhere.
var types = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".json":        "application/json",
	".webmanifest": "application/manifest+json",
	".woff2":       "font/woff2",
	".txt":         "text/plain; charset=utf-8",
}

// asset is one file of the page, ready to be sent.
type asset struct {
	body      []byte
	mediaType string
	etag      string // without quotes
	immutable bool
	packed    func() []byte // gzip of body, or nil if that is not smaller
}

// load reads every file but hidden ones. A file that cannot be read is as
// good as absent: the embedded files cannot fail.
func load(files fs.FS) map[string]*asset {
	assets := make(map[string]*asset)
	_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return nil
		}
		if body, err := fs.ReadFile(files, name); err == nil {
			assets[name] = newAsset(name, body)
		}
		return nil
	})
	return assets
}

func newAsset(name string, body []byte) *asset {
	sum := sha256.Sum256(body)
	a := &asset{
		body:      body,
		mediaType: mediaType(name),
		etag:      base64.RawURLEncoding.EncodeToString(sum[:12]),
		immutable: strings.HasPrefix(name, "assets/"),
	}
	a.packed = sync.OnceValue(func() []byte { return pack(a.mediaType, body) })
	return a
}

func mediaType(name string) string {
	if t := types[path.Ext(name)]; t != "" {
		return t
	}
	return "application/octet-stream"
}

// pack compresses what is worth compressing.
func pack(mediaType string, body []byte) []byte {
	base, _, _ := mime.ParseMediaType(mediaType)
	if base == "image/png" || base == "font/woff2" || base == "application/octet-stream" {
		return nil
	}
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil
	}
	// Writing to a buffer cannot fail.
	_, _ = zip.Write(body)
	_ = zip.Close()
	if out.Len() >= len(body) {
		return nil
	}
	return out.Bytes()
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	body, etag := a.body, `"`+a.etag+`"`
	if packed := a.packed(); packed != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body, etag = packed, `"`+a.etag+`-gz"`
		}
	}
	h.Set("ETag", etag)
	h.Set("Cache-Control", "no-cache")
	if a.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if matches(r.Header.Get("If-None-Match"), etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client went away: nobody to tell
	}
}

// acceptsGzip reads an Accept-Encoding header; "gzip;q=0" is a refusal.
func acceptsGzip(header string) bool {
	for offer := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(offer), ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		weight, found := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		return !found || err != nil || q > 0
	}
	return false
}

// matches reads an If-None-Match header, by weak comparison.
func matches(header, etag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == etag {
			return true
		}
	}
	return false
}
