package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/encoding/htmlindex"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/publicnet"
)

// Limits of a fetch.
const (
	webHeader    = 30 * time.Second
	webRedirects = 5
	webMaxBody   = 10 << 20
)

var (
	errRedirects = fmt.Errorf("more than %d redirects", webRedirects)
	errScheme    = errors.New("redirected to something that is neither http nor https")
)

type webArgs struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

type webOutput struct {
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Text        string `json:"text"`
	Truncated   bool   `json:"truncated"`
	Location    string `json:"location,omitempty"`
}

// looks reports a method that changes nothing.
func (a webArgs) looks() bool { return a.method() == http.MethodGet || a.method() == http.MethodHead }

func (a webArgs) method() string {
	if a.Method == "" {
		return http.MethodGet
	}
	return strings.ToUpper(a.Method)
}

func webTool(c Config) *tool.Tool {
	w := newWeb(c)
	return &tool.Tool{
		Name:        "web_fetch",
		Description: "Fetch a public http or https address and return its text. Private and local addresses are refused.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"url":{"type":"string","minLength":1,"maxLength":8192},
			"method":{"type":"string","enum":["GET","HEAD","POST","PUT","PATCH","DELETE","OPTIONS"],"description":"default GET; others need a person's approval"},
			"headers":{"type":"object","additionalProperties":{"type":"string"}},
			"body":{"type":"string"}},
			"required":["url"],"additionalProperties":false}`),
		Class: tool.ReadOnly,
		ClassOf: func(args json.RawMessage) tool.Class {
			var a webArgs
			if json.Unmarshal(args, &a) == nil && a.looks() {
				return tool.ReadOnly
			}
			return tool.Sensitive
		},
		Reach: hostOf,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			a, err := tool.Arguments[webArgs](call)
			if err != nil {
				return tool.Result{}, err
			}
			out, err := w.fetch(ctx, a)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Result{Text: success(out), Untrusted: true, Source: a.URL}, nil
		},
	}
}

// hostOf is the host of a call's address, in one spelling; the whole address if it
// has none that can be told.
func hostOf(args json.RawMessage) string {
	var a webArgs
	if json.Unmarshal(args, &a) != nil {
		return string(args)
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" {
		return a.URL
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host = net.JoinHostPort(host, port)
	}
	return host
}

// web is the client; its connections are never kept, so nothing outlives a call.
type web struct {
	guard  publicnet.Guard
	client *http.Client
}

func newWeb(c Config) *web {
	w := &web{guard: c.Guard}
	transport := w.guard.Transport()
	transport.ResponseHeaderTimeout, transport.DisableKeepAlives = webHeader, true
	w.client = &http.Client{Transport: transport, CheckRedirect: w.redirect}
	return w
}

// redirect follows GET and HEAD only: what a person approved was one request to
// one address.
func (w *web) redirect(next *http.Request, via []*http.Request) error {
	switch first := via[0].Method; {
	case first != http.MethodGet && first != http.MethodHead:
		return http.ErrUseLastResponse
	case len(via) > webRedirects:
		return errRedirects
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return errScheme
	}
	return w.guard.CheckHost(next.URL.Hostname())
}

func (w *web) fetch(ctx context.Context, a webArgs) (webOutput, error) {
	req, err := w.request(ctx, a)
	if err != nil {
		return webOutput{}, err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return webOutput{}, w.explain(ctx, a.URL, err)
	}
	defer resp.Body.Close()
	out := webOutput{Status: resp.StatusCode, ContentType: head(strings.ToValidUTF8(resp.Header.Get("Content-Type"), ""), 200)}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		out.Location = head(strings.ToValidUTF8(resp.Header.Get("Location"), ""), 2000)
	}
	if err := out.read(resp); err != nil {
		if ctx.Err() != nil {
			return webOutput{}, ctx.Err()
		}
		return webOutput{}, err
	}
	return out, nil
}

func (w *web) request(ctx context.Context, a webArgs) (*http.Request, error) {
	u, err := url.Parse(a.URL)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, tool.Errorf(tool.Validation, "url must be a full http or https address")
	case u.User != nil:
		return nil, tool.Errorf(tool.Validation, "url must not hold a user name or password; use headers")
	case a.Body != "" && a.looks():
		return nil, tool.Errorf(tool.Validation, "%s takes no body", a.method())
	case !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, a.method()):
		return nil, tool.Errorf(tool.Validation, "method %q is not known here", a.Method)
	}
	if err := w.guard.CheckHost(u.Hostname()); err != nil {
		return nil, refused()
	}
	req, err := http.NewRequestWithContext(ctx, a.method(), u.String(), strings.NewReader(a.Body))
	if err != nil {
		return nil, tool.Errorf(tool.Validation, "this request cannot be made: %v", err)
	}
	req.Header.Set("User-Agent", "parley")
	for name, value := range a.Headers {
		if reserved(name) {
			return nil, tool.Errorf(tool.Validation, "the header %q cannot be set", name)
		}
		req.Header.Set(name, value)
	}
	return req, nil
}

// reserved are headers that belong to the connection, not to the caller.
func reserved(name string) bool {
	name = http.CanonicalHeaderKey(strings.TrimSpace(name))
	switch name {
	case "Host", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Keep-Alive", "Accept-Encoding", "Expect":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}

func refused() error {
	return tool.Errorf(tool.Permission, "this address is not on the public internet and may not be fetched")
}

func (w *web) explain(ctx context.Context, address string, err error) error {
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, publicnet.ErrNotPublic):
		return refused()
	case errors.As(err, &timeout) && timeout.Timeout():
		return tool.Errorf(tool.TimedOut, "the server did not answer in time")
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return tool.Errorf(tool.Unknown, "the fetch failed: %v", err).From(address) // it may repeat what the server said
}

// read takes the body in if it is text, and as much of it as fits.
func (o *webOutput) read(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, webMaxBody+1))
	if err != nil && len(raw) == 0 {
		return tool.Errorf(tool.Unknown, "the answer was cut off")
	}
	if len(raw) == 0 {
		return nil
	}
	o.Truncated = err != nil || len(raw) > webMaxBody
	kind, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !textual(kind) || (kind == "" && !isText(raw)) {
		return tool.Errorf(tool.Validation, "the answer (status %d) is %s, not text", o.Status, kind).From("web_fetch")
	}
	text := toUTF8(raw, params["charset"])
	o.Text = head(text, room)
	o.Truncated = o.Truncated || len(o.Text) < len(text)
	return nil
}

// textual tells the content types a model can read.
func textual(kind string) bool {
	if kind == "" || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript",
		"application/x-ndjson", "application/ndjson", "application/jsonl", "application/yaml", "application/x-yaml",
		"application/toml", "application/x-www-form-urlencoded", "application/graphql", "application/sql", "application/x-sh":
		return true
	}
	return false
}

// toUTF8 reads other encodings where the server names one.
func toUTF8(raw []byte, charset string) string {
	if enc, err := htmlindex.Get(charset); err == nil {
		if out, err := enc.NewDecoder().Bytes(raw); err == nil {
			raw = out
		}
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}
