package mmpagent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"parley.internal/protocol/mmp"
)

// request is one call to the place.
type request struct {
	method, path string
	query        url.Values
	body         any
	header       http.Header
	// bare calls need no session and do not try to get one.
	bare bool
	// once calls are not repeated after a renewal.
	once bool
}

// Answers are bounded by what a place may say: a hundred full messages.
const maxAnswer = 256 << 20

// Waits that a place asks for are honoured up to this long, this often.
const (
	maxRetryWait = 30 * time.Second
	maxRetries   = 3
)

// call makes a request. A session that ended is renewed once, and a place that
// asks to wait is waited for.
func (a *Agent) call(ctx context.Context, r request, into any) error {
	renewed := false
	for tries := 0; ; tries++ {
		err := a.try(ctx, r, into)
		e, refused := errors.AsType[*Error](err)
		switch {
		case err == nil || !refused || ctx.Err() != nil:
			return err
		case errNoSession(err) && !r.bare && !r.once && !renewed && a.ring().RSA != nil:
			renewed = true
			if _, err := a.Register(ctx); err != nil {
				return err
			}
		case errors.Is(err, ErrRateLimited) && e.RetryAfter > 0 && tries < maxRetries && time.Duration(e.RetryAfter)*time.Second <= maxRetryWait:
			if !sleep(ctx, time.Duration(e.RetryAfter)*time.Second) {
				return err
			}
		default:
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *Agent) try(ctx context.Context, r request, into any) error {
	return a.fetch(ctx, a.base+"/place/v1", r, into)
}

func (a *Agent) fetch(ctx context.Context, base string, r request, into any) error {
	address := base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader = http.NoBody
	if r.body != nil {
		encoded, err := mmp.Encode(r.body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return err
	}
	maps.Copy(req.Header, r.header)
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := a.Token(); token != "" && !r.bare {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return readError(res, answer)
	}
	if into == nil {
		return nil
	}
	return mmp.DecodeTolerant(answer, into)
}

// readError reads the error of a place of any generation.
func readError(res *http.Response, body []byte) error {
	e := &Error{Status: res.StatusCode, Text: http.StatusText(res.StatusCode)}
	var said mmp.ErrorBody
	if mmp.Decode(body, &said) == nil && (said.Error != "" || said.Message != "") {
		e.Code, e.Text, e.RetryAfter = said.Code, orElse(said.Message, said.Error), said.RetryAfter
	}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > e.RetryAfter {
		e.RetryAfter = n
	}
	return e
}
