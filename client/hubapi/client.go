package hubapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	jsonx "github.com/go-json-experiment/json"

	"parley.internal/protocol/rest"
)

// Client talks to one hub.
type Client struct {
	base  string
	token string
	http  *http.Client
	// Waits, if there is one, is told when the hub asks to come again and the client does.
	Waits func(time.Duration)
}

// New makes a client of the hub at base, such as http://127.0.0.1:7788.
func New(base, token string) *Client {
	// Answers may be long; only their beginning has a time limit.
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: time.Minute}
	return WithTransport(base, token, transport)
}

// WithTransport makes a client that reaches its hub by other means than a
// socket, such as a handler in this process.
func WithTransport(base, token string, transport http.RoundTripper) *Client {
	return &Client{base: strings.TrimRight(base, "/"), token: token, http: &http.Client{Transport: transport}}
}

// Base is the hub's address.
func (c *Client) Base() string { return c.base }

// Token is what the client authenticates with.
func (c *Client) Token() string { return c.token }

// Error is a refusal by the hub.
type Error struct {
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	RequestID string `json:"request_id"`
	// RetryAfter is how long the hub asks us to wait; 0 if it does not.
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("the hub answered %d", e.Status)
	}
	return fmt.Sprintf("%s (%s)", e.Detail, e.Code)
}

// IsCode reports whether err is the hub's refusal with that code.
func IsCode(err error, code string) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Code == code
}

// maxError bounds how much of an error answer is read.
const maxError = 64 << 10

// Do sends a request that is no operation of package rest, and decodes the answer into out, if
// out is not nil.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, in, out any) error {
	answer, err := c.send(ctx, rest.Request{Method: method, Path: path, Query: query, Body: in})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	if out == nil {
		return nil
	}
	return decode(answer, out)
}

func decode(answer io.Reader, out any) error {
	if err := jsonx.UnmarshalRead(answer, out); err != nil {
		return fmt.Errorf("reading the hub's answer: %w", err)
	}
	return nil
}

// patience is how long a client waits in all when the hub asks it to come again.
const patience = 30 * time.Second

// send sends a request and gives the answer's body. A hub that is asked too often says when to
// come again, and is asked then; what was sent once as it is cannot be sent again.
func (c *Client) send(ctx context.Context, r rest.Request) (io.ReadCloser, error) {
	for waited := time.Duration(0); ; {
		answer, err := c.sendOnce(ctx, r)
		var refusal *Error
		if r.Stream != nil || !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests || refusal.RetryAfter <= 0 || waited+refusal.RetryAfter > patience {
			return answer, err
		}
		waited += refusal.RetryAfter
		if c.Waits != nil {
			c.Waits(refusal.RetryAfter)
		}
		select {
		case <-time.After(refusal.RetryAfter):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (c *Client) sendOnce(ctx context.Context, r rest.Request) (io.ReadCloser, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the hub at %s: %w", c.base, errors.Unwrap(err))
	}
	if res.StatusCode < 300 {
		return res.Body, nil
	}
	defer func() { _ = res.Body.Close() }()
	refusal := &Error{Status: res.StatusCode}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxError)).Decode(refusal); err != nil {
		refusal.Code = "http"
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		refusal.RetryAfter = time.Duration(seconds) * time.Second
	}
	return nil, refusal
}

func (c *Client) request(ctx context.Context, r rest.Request) (*http.Request, error) {
	body := r.Stream
	if r.Body != nil && body == nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	address := c.base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address, body)
	if err != nil {
		return nil, err
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}
