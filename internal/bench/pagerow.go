package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	slashes "path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley.internal/client/hubapi"
	"parley.internal/internal/bench/browser"
	"parley.internal/protocol/rest"
)

// pageRow: what a browser fetches before the page can be used.
func pageRow() Row {
	return Row{Name: "page", What: "the page's first load: everything index.html and its modules name, compressed, from a whole hub", Run: runPage}
}

// What the first load may be, compressed, and take on loopback.
const (
	pageMost     = 300_000
	pageTimeMost = time.Second
)

func runPage(ctx context.Context, env *Env) ([]Result, error) {
	c, err := env.start(ctx, "hub", filepath.Join(env.Dir, "page"))
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	var last *pageLoad
	times := make([]time.Duration, 0, 20)
	for range pick(env, 20, 3) {
		p := &pageLoad{base: c.Hello.Addr, seen: map[string]bool{}}
		began := time.Now()
		if err := p.load(ctx); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
		last = p // all are the same
	}
	if last.files < 2 {
		return nil, missing("this program was built without the page")
	}
	slices.Sort(times)
	size := atMost("first load", Figure{float64(last.packed), Bytes}, pageMost)
	size.Note = fmt.Sprintf("%s, %s before compression; headers are not counted", count(last.files, "file"), Figure{float64(last.plain), Bytes})
	whole := &pageLoad{base: c.Hello.Addr, seen: map[string]bool{}, all: true}
	if err := whole.load(ctx); err != nil {
		return nil, err
	}
	every := atMost("all there is, every view opened", Figure{float64(whole.packed), Bytes}, 0)
	every.Note = fmt.Sprintf("%s, %s before compression; the first load is what comes before the first view", count(whole.files, "file"), Figure{float64(whole.plain), Bytes})
	spent := atMost("fetched one after the other, median", took(times[len(times)/2]), float64(pageTimeMost))
	spent.Note = "without a browser's own work: no script is run"
	results := []Result{size, every, spent}
	seen, err := browse(ctx, env, c.Hello.Addr)
	if errors.Is(err, browser.ErrNone) {
		results[2].Note += "; " + err.Error()
		return results, nil
	}
	return append(results, seen...), err
}

// browseMost bounds the whole measurement in a browser: it is far above what any needs.
const browseMost = 5 * time.Minute

// browse measures what a person sees: a real browser with an empty profile follows
// a login link to the home page.
func browse(ctx context.Context, env *Env, base string) ([]Result, error) {
	ctx, cancel := context.WithTimeout(ctx, browseMost)
	defer cancel()
	token, err := os.ReadFile(filepath.Join(env.Dir, "page", "owner.token"))
	if err != nil {
		return nil, err
	}
	b, err := browser.Open(ctx, filepath.Join(env.Dir, "profile"))
	if err != nil {
		return nil, err
	}
	defer b.Close()
	owner := hubapi.New(base, strings.TrimSpace(string(token)))
	var most int64
	times := make([]time.Duration, 0, 20)
	for range pick(env, 15, 2) {
		link, err := hubapi.Call(ctx, owner, rest.CreateLoginLink, rest.LoginLinkRequest{})
		if err != nil {
			return nil, err
		}
		received, ready, err := b.Load(base + link.Path)
		if err != nil {
			return nil, err
		}
		most, times = max(most, received), append(times, ready)
	}
	slices.Sort(times)
	size := atMost("in Chromium: transferred until ready, most", Figure{float64(most), Bytes}, pageMost)
	size.Note = "home, by a login link, empty profile; headers are counted"
	ready := atMost("in Chromium: ready, median", took(times[len(times)/2]), float64(pageTimeMost))
	ready.Note = fmt.Sprintf("from the navigation until the home page shows everything and hears the hub; slowest of %d %s", len(times), took(times[len(times)-1]))
	return []Result{size, ready}, nil
}

// pageLoad is one load with an empty cache.
type pageLoad struct {
	base          string
	seen          map[string]bool
	all           bool // also what is only loaded on demand
	files         int
	packed, plain int64
}

var (
	// named finds what a page loads by itself: scripts, styles, modules, icons.
	named = regexp.MustCompile(`<(?:script|link)[^>]*?\s(?:src|href)="(/[^"]+)"`)
	// imported finds the modules that a module needs before it runs. What it
	// imports later, on demand, is written import(…).
	imported = regexp.MustCompile(`(?:^|[;}\s])(?:import|export)\s*(?:[\w$*{},\s]+from\s*)?"(\.[^"]+)"`)
	// mentioned finds those too: views and the styles that come with them.
	mentioned = regexp.MustCompile(`"((?:\./|assets/)[\w.-]+\.(?:js|css))"`)
)

// load fetches the page and all it names.
func (p *pageLoad) load(ctx context.Context) error {
	page, err := p.get(ctx, "/")
	if err != nil {
		return err
	}
	for _, m := range named.FindAllSubmatch(page, -1) {
		if err := p.follow(ctx, string(m[1])); err != nil {
			return err
		}
	}
	return nil
}

// follow fetches a file and, of a module, those it imports.
func (p *pageLoad) follow(ctx context.Context, path string) error {
	if p.seen[path] {
		return nil
	}
	p.seen[path] = true
	body, err := p.get(ctx, path)
	if err != nil || !strings.HasSuffix(path, ".js") {
		return err
	}
	more := imported.FindAllSubmatch(body, -1)
	if p.all {
		more = append(more, mentioned.FindAllSubmatch(body, -1)...)
	}
	for _, m := range more {
		next := slashes.Join(slashes.Dir(path), string(m[1]))
		if rest, ok := strings.CutPrefix(string(m[1]), "assets/"); ok {
			next = "/assets/" + rest
		}
		if err := p.follow(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// get fetches a file as a browser does and counts it; the body is unpacked.
func (p *pageLoad) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := benchClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, res.Status)
	}
	packed, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	body, err := unpack(packed, res.Header.Get("Content-Encoding"))
	p.files++
	p.packed += int64(len(packed))
	p.plain += int64(len(body))
	return body, err
}

// unpack undoes the encodings the hub has.
func unpack(data []byte, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return data, nil
	case "gzip":
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	}
	return nil, fmt.Errorf("the hub packs with %q, which this row cannot unpack", encoding)
}
