package modelhttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// The waits of a model call.
const (
	Connect       = 10 * time.Second
	FirstToken    = 120 * time.Second
	BetweenTokens = 60 * time.Second
)

// maxErrorBody bounds what a failing server can make us read.
const maxErrorBody = 64 << 10

// ErrBaseURL says a provider's address cannot be used.
var ErrBaseURL = errors.New("base URL must be absolute http or https")

// NewClient makes an HTTP client that gives up connecting after the given time
// (0 = Connect), and refuses redirects, so that a key only ever goes to the
// host it was meant for.
func NewClient(connect time.Duration) *http.Client {
	if connect == 0 {
		connect = Connect
	}
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: guard{&http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			TLSHandshakeTimeout:   connect,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ParseBase checks a base URL.
func ParseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// the parse error would repeat the address, which may hold a password
		return nil, ErrBaseURL
	}
	return u, nil
}

// guard bounds error bodies and marks read failures, so that a cut connection
// can be told from bad data further up.
type guard struct{ next *http.Transport }

func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	b := &body{Reader: resp.Body, Closer: resp.Body}
	if resp.StatusCode >= 300 {
		b.Reader = io.LimitReader(resp.Body, maxErrorBody)
	}
	resp.Body = b
	return resp, nil
}

// CloseIdleConnections lets http.Client pass the wish on.
func (g guard) CloseIdleConnections() { g.next.CloseIdleConnections() }

type body struct {
	io.Reader
	io.Closer
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}

// readError is a connection that broke while an answer was being read.
type readError struct{ err error }

func (e *readError) Error() string { return fmt.Sprintf("connection cut: %v", e.err) }
func (e *readError) Unwrap() error { return e.err }
