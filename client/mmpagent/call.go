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

// fetch goes by the socket while there is one, and else by HTTP: the same request, and
// the same answer.
func (a *Agent) fetch(ctx context.Context, base string, r request, into any) error {
	address := base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body []byte
	if r.body != nil {
		encoded, err := mmp.Encode(r.body)
		if err != nil {
			return err
		}
		body = encoded
	}
	answer, err := a.exchange(ctx, address, r, body)
	if err != nil || into == nil {
		return err
	}
	return mmp.DecodeTolerant(answer, into)
}

func (a *Agent) exchange(ctx context.Context, address string, r request, body []byte) ([]byte, error) {
	if s := a.connected(); s != nil {
		answer, err := s.ask(ctx, a.ask(address, r, body))
		if !errors.Is(err, errSocketGone) {
			return answer, err
		}
		// It may have arrived all the same, as a request over HTTP whose connection broke.
		if r.method != http.MethodGet && r.header.Get("Idempotency-Key") == "" {
			return nil, err
		}
	}
	return a.overHTTP(ctx, address, r, body)
}

func (a *Agent) overHTTP(ctx context.Context, address string, r request, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := a.Token(); token != "" && !r.bare {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		asked, _ := strconv.Atoi(res.Header.Get("Retry-After")) // none is none
		return nil, readError(res.StatusCode, answer, asked)
	}
	return answer, nil
}

// readError reads the error of a place of any generation.
func readError(status int, body []byte, retryAfter int) error {
	e := &Error{Status: status, Text: http.StatusText(status)}
	var said mmp.ErrorBody
	if mmp.Decode(body, &said) == nil && (said.Error != "" || said.Message != "") {
		e.Code, e.Text, e.RetryAfter = said.Code, orElse(said.Message, said.Error), said.RetryAfter
	}
	e.RetryAfter = max(e.RetryAfter, retryAfter)
	return e
}
